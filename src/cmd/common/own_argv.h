/* cmd/common/own_argv.h - the command line of this process as it was started.
 * Parsing reorders its own list of arguments; the system keeps them as they were. */
#ifndef AS_CMD_COMMON_OWN_ARGV_H
#define AS_CMD_COMMON_OWN_ARGV_H

#include "base/arena.h"
#include "base/error.h"

/* Words in `arena`; none where the system does not tell. */
AS_MUST_USE int as_own_argv(struct as_arena *arena, const char *const **words, size_t *n,
                            struct assay_error *err);

#endif
