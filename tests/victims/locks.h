/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the files of victim `locks` share: a wait that is stamped by who
 * waits, right before the call and right after it.
 */
#ifndef LOCKS_H
#define LOCKS_H

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#ifdef __clang__	/* knows no noclone, and does not clone */
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

void wait_begins(void);
void wait_ends(int ok);

/* locks-c11.c */
int c11_init(void);
void hold_mtx(void);
void let_mtx(void);
void wait_mtx(void);
void wait_mtx_timed(void);
void ready_cnd(void);
void let_cnd(void);
void wait_cnd(void);
void wait_cnd_late(void);
void hold_thrd_join(void);
void let_thrd_join(void);
void wait_thrd_join(void);

/* locks-cxx.cc */
void hold_cxx_mutex(void);
void wait_cxx_mutex(void);
void let_cxx_mutex(void);
void ready_cxx_cond(void);
void wait_cxx_cond(void);
void let_cxx_cond(void);
void wait_cxx_cond_for(void);

#ifdef __cplusplus
}
#endif
#endif
