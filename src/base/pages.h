/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inside base: the reads of another process's memory that may have to wait.
 */
#ifndef SONDE_BASE_PAGES_H
#define SONDE_BASE_PAGES_H

#include "base.h"

enum page_way { BY_ACCESS, BY_FORCE };	/* process_vm_readv, /proc/TID/mem */

/* As much as could be read before the deadline; errno says why not all. */
size_t pages_await(pid_t tid, uint64_t addr, void *to, size_t n,
		   enum page_way way);

#endif
