/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Is this file the load object that was mapped?
 */
#ifndef SONDE_EXPERIMENT_ELF_ID_H
#define SONDE_EXPERIMENT_ELF_ID_H

#include <stdbool.h>

#include "base.h"

/* Is it ELF? id gets the hex digits of its build-id, "" when it has none. */
bool elf_id(int fd, struct str *id);

#endif
