/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From the place of an event to addresses: functions (event_functions.c), lines
 * and addresses (event_place.c).
 */
#ifndef SONDE_SHELL_EVENT_PLACE_H
#define SONDE_SHELL_EVENT_PLACE_H

#include "private.h"

void event_add_spot(struct handler *h, uint64_t address);
/* Is that what was written, which is the end of a path? */
bool event_is_file(const char *path, const char *file);
/* One that is pending asks each object once. */
bool event_was_searched(const struct handler *h, const struct symfile *sf);
/* All functions of its name, or of its file. -1: there is none. */
int event_find_all(struct shell *sh, struct handler *h);
/* The function of its name; if there is none, all whose names end so. -1. */
int event_find_function(struct shell *sh, struct handler *h);

/* ---- event_modifiers.c --------------------------------------------------- */

struct event;
/* -1: no process here has that thread, or none does what the event is. */
int event_check_modifiers(struct shell *sh, const char *command,
			  enum event_kind kind, const struct event *e);
/* Tells when no function is there that -in could mean. */
void event_note_within(struct shell *sh, const struct handler *h);

#endif
