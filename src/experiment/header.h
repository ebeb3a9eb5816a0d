/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What log.xml says before anything happens.
 */
#ifndef SONDE_EXPERIMENT_HEADER_H
#define SONDE_EXPERIMENT_HEADER_H

#include "base.h"
#include "experiment.h"

/* The whole text up to the start of the collection. */
void header_text(struct str *out, const struct experiment_info *info);

struct packet_field {		/* of a packet, as log.xml declares it */
	const char *name, *text, *type;
	size_t offset;
};
void header_fields(struct str *out, const struct packet_field *fields,
		   size_t n);

#endif
