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

#endif
