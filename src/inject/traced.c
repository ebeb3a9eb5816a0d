/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The functions that can be traced, by name.
 */
#include <string.h>

#include "slots.h"

/* By enum trace_function. The first one is looked up; what is bound to the
 * second one, if there is one, is the same function. */
static const char *const names[TRACE_FUNCTIONS][2] = {
	[TRACE_MALLOC] = { "malloc" },
	[TRACE_FREE] = { "free", "cfree" },
	[TRACE_CALLOC] = { "calloc" },
	[TRACE_REALLOC] = { "realloc" },
	[TRACE_REALLOCARRAY] = { "reallocarray" },
	[TRACE_MEMALIGN] = { "memalign" },
	[TRACE_ALIGNED_ALLOC] = { "aligned_alloc" },
	[TRACE_POSIX_MEMALIGN] = { "posix_memalign" },
	[TRACE_VALLOC] = { "valloc" },
	[TRACE_PVALLOC] = { "pvalloc" },
	[TRACE_MMAP] = { "mmap", "mmap64" },
	[TRACE_MUNMAP] = { "munmap" },
	[TRACE_NEW] = { "_Znwm" },
	[TRACE_NEW_ARRAY] = { "_Znam" },
	[TRACE_NEW_NOTHROW] = { "_ZnwmRKSt9nothrow_t" },
	[TRACE_NEW_ARRAY_NOTHROW] = { "_ZnamRKSt9nothrow_t" },
	[TRACE_NEW_ALIGNED] = { "_ZnwmSt11align_val_t" },
	[TRACE_NEW_ARRAY_ALIGNED] = { "_ZnamSt11align_val_t" },
	[TRACE_DELETE] = { "_ZdlPv" },
	[TRACE_DELETE_ARRAY] = { "_ZdaPv" },
	[TRACE_DELETE_SIZED] = { "_ZdlPvm" },
	[TRACE_DELETE_ARRAY_SIZED] = { "_ZdaPvm" },
	[TRACE_DELETE_NOTHROW] = { "_ZdlPvRKSt9nothrow_t" },
	[TRACE_DELETE_ARRAY_NOTHROW] = { "_ZdaPvRKSt9nothrow_t" },
	[TRACE_DELETE_ALIGNED] = { "_ZdlPvSt11align_val_t" },
	[TRACE_DELETE_ARRAY_ALIGNED] = { "_ZdaPvSt11align_val_t" },
	[TRACE_DELETE_SIZED_ALIGNED] = { "_ZdlPvmSt11align_val_t" },
	[TRACE_DELETE_ARRAY_SIZED_ALIGNED] = { "_ZdaPvmSt11align_val_t" },
};

const char *
traced_name(enum trace_function f)
{
	return names[f][0] ? names[f][0] : "";
}

int
traced_function(const char *name)
{
	for (int f = 0; f < TRACE_FUNCTIONS; f++)
		for (int i = 0; i < 2; i++)
			if (names[f][i] && strcmp(names[f][i], name) == 0)
				return f;
	return TRACE_FUNCTIONS;
}
