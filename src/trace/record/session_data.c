/* trace/record/session_data.c - puts a list or facts that belong to no event into the run being
 * recorded. Each call appends one data block of its kind; the reader gives them back in order. */
#include "trace/record/recorder.h"

#include <assay/session.h>
#include <errno.h>
#include <string.h>

#include "base/alloc.h"

#define MAX_KIND 64

int as_session_data(const char *kind, const char *json, size_t size, struct assay_error *err)
{
    size_t kind_size = strlen(kind);
    uint8_t *payload, *to;
    int rc = ASSAY_OK;

    if (!assay_session_is_open())
        return as_fail(err, ASSAY_ERR_STATE, "no session is open");
    if (kind_size == 0 || kind_size > MAX_KIND || size > AS_BLOCK_MAX_BYTES - 4096)
        return as_fail(err, ASSAY_ERR_LIMIT, "%zu bytes of %s are too many for one block", size,
                       kind);
    payload = as_alloc(AS_VARINT_MAX + kind_size + size);
    if (!payload)
        return as_fail_nomem(err);
    to = as_put_text(payload, kind, kind_size);
    memcpy(to, json, size);
    to += size;
    if (!as_recorder_write(AS_BLOCK_DATA, payload, (size_t)(to - payload), 0)) {
        errno = as_recorder.file.sys;
        rc = as_fail_sys(err, ASSAY_ERR_IO, "cannot write %s", as_recorder.path);
    }
    as_free(payload);
    return rc;
}
