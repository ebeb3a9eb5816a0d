/* SPDX-License-Identifier: GPL-3.0-or-later */
/* To be looked at by tests/debug-*.test: one of each kind of thing. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <pthread.h>
static volatile int sink; __thread int mine = 5; __thread char pad[100];
__attribute__((noinline)) static void in_handler(int deep) { int twice = deep * 2; puts("x"); sink = twice + mine; }
static void handler(int s, siginfo_t *si, void *u) { int local = s + 1; in_handler(local); sink = local; }
__attribute__((noinline)) static int crash(int *p, int n) { int before = n * 3; sink = before; sink = *p; return before; }
static void *work(void *arg) { mine = 17; int r = crash(arg, 4); return (void *)(long)r; }
int main(void) { char stack[65536]; stack_t ss = { .ss_sp = stack, .ss_size = sizeof stack }; struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK }; pthread_t t;
 sigaction(SIGSEGV, &sa, NULL); pthread_create(&t, NULL, work, NULL); pthread_join(t, NULL); return 0; }
