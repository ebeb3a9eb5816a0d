/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The other one: as large, with slots of others at the same addresses. */
extern int toupper(int c);
extern int tolower(int c);

int use(void);

int
use(void)
{
	return toupper('a') == 'A' && tolower('A') == 'a';
}
