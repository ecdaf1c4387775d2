#include "base/sized.h"

#include <string.h>

#include "base/error.h"

/* A larger size was not set by sizeof: the memory behind the struct is not looked at. */
#define MOST_NEW_BYTES 4096

int as_sized_take(void *to, size_t size, const void *from, const char *what,
                  struct assay_error *err)
{
    const unsigned char *bytes = from;
    size_t given = size;

    memset(to, 0, size);
    if (from)
        memcpy(&given, from, sizeof given);
    if (given < sizeof given || given > size + MOST_NEW_BYTES)
        return as_fail(err, ASSAY_ERR_USAGE, "%s without a size: begin with {.size = sizeof ...}",
                       what);
    for (size_t i = size; i < given; i++)
        if (bytes[i])
            return as_fail(err, ASSAY_ERR_USAGE,
                           "%s with fields that this version of the library does not know", what);
    if (from)
        memcpy(to, from, given < size ? given : size);
    memcpy(to, &size, sizeof size);
    return ASSAY_OK;
}
