/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where struct block has what stub.S needs: in bytes, for the assembler. */
#ifndef SONDE_INJECT_STUB_H
#define SONDE_INJECT_STUB_H

#define STATE		0
#define CREATE_ERROR	4
#define LIBRARY_FD	8
#define AREA_FD		12
#define CTYPE_INIT	16
#define ATTR_INIT	24
#define ATTR_SETSTACK	32
#define ATTR_SETDETACH	40
#define PTHREAD_CREATE	48
#define STACK		56
#define STACK_SIZE	64
#define DLOPEN		72
#define DLOPEN_FLAGS	80
#define DLERROR		88
#define HANDLE		96
#define BASE		104
#define ENTRY_OFFSET	112
#define FUNCTION	120
#define RESULT		128
#define SAVED_SP	136
#define PTHREAD		144
#define TID_OFFSET	152
#define LEAVE		160
#define AREA		168
#define AREA_SIZE	176
#define ARGS		184
#define ATTR		232
#define ERROR		296
#define PATH		552
#define SPECIFIC_OFFSET	680
#define THREAD_KEYS	688
#define CALL_TLS_DTORS	696
#define THEN		704
#define NAME_OFFSET	712
#define UNBLOCK		728
#define FILES		736
#define SAVED		768
#define GONE_AT		824

#ifndef __ASSEMBLER__
#include "private.h"

#define CHECK(field, offset) \
	_Static_assert(offsetof(struct block, field) == offset, "stub.h")
CHECK(state, STATE);
CHECK(create_error, CREATE_ERROR);
CHECK(library_fd, LIBRARY_FD);
CHECK(area_fd, AREA_FD);
CHECK(ctype_init, CTYPE_INIT);
CHECK(attr_init, ATTR_INIT);
CHECK(attr_setstack, ATTR_SETSTACK);
CHECK(attr_setdetach, ATTR_SETDETACH);
CHECK(pthread_create, PTHREAD_CREATE);
CHECK(stack, STACK);
CHECK(stack_size, STACK_SIZE);
CHECK(dlopen, DLOPEN);
CHECK(dlopen_flags, DLOPEN_FLAGS);
CHECK(dlerror, DLERROR);
CHECK(handle, HANDLE);
CHECK(base, BASE);
CHECK(entry_offset, ENTRY_OFFSET);
CHECK(function, FUNCTION);
CHECK(result, RESULT);
CHECK(saved_sp, SAVED_SP);
CHECK(pthread, PTHREAD);
CHECK(tid_offset, TID_OFFSET);
CHECK(leave, LEAVE);
CHECK(area, AREA);
CHECK(area_size, AREA_SIZE);
CHECK(args, ARGS);
CHECK(attr, ATTR);
CHECK(error, ERROR);
CHECK(path, PATH);
CHECK(specific_offset, SPECIFIC_OFFSET);
CHECK(thread_keys, THREAD_KEYS);
CHECK(call_tls_dtors, CALL_TLS_DTORS);
CHECK(then, THEN);
CHECK(name_offset, NAME_OFFSET);
CHECK(unblock, UNBLOCK);
CHECK(files, FILES);
CHECK(saved, SAVED);
CHECK(gone_at, GONE_AT);
_Static_assert(BLOCK_STARTED == 1 && BLOCK_LOADING == 2 &&
	       BLOCK_CALLING == 3 && BLOCK_DONE == 4 &&
	       BLOCK_NOT_LOADED == 5 && BLOCK_WRONG_LIBRARY == 6 &&
	       BLOCK_NO_THREAD == 8 && BLOCK_FAULTED == 9, "stub.h");
_Static_assert(STUB_BLOCK == 4096 && STUB_NOTIFY == 0x736e6465, "stub.h");
_Static_assert(COLLECTOR_MAGIC == 0x7473657567656473, "stub.h");
#endif

#endif
