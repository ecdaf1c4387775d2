/* trace/record/session_data.h - puts a list or facts that belong to no event into the run being
 * recorded. Each call appends one data block of its kind; the reader gives them back in order. */
#ifndef AS_TRACE_RECORD_SESSION_DATA_H
#define AS_TRACE_RECORD_SESSION_DATA_H

#include <stddef.h>

#include "base/error.h"

/* `json` is one JSON value of at most AS_BLOCK_MAX_BYTES - 4096 bytes, `kind` a short name. STATE
 * when no session is open, IO when the run cannot be written. */
AS_MUST_USE int as_session_data(const char *kind, const char *json, size_t size,
                                struct assay_error *err);

#endif
