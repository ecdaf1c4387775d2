/* assay/error.h - how every call of the library says what went wrong.
 * Holds no heap memory, so reporting an error can never itself fail. */
#ifndef ASSAY_ERROR_H
#define ASSAY_ERROR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ASSAY_API __attribute__((visibility("default")))

/* Every error the library knows: name, number, meaning. A number is never reused. */
#define ASSAY_ERRORS(X)                                                                            \
    X(NOMEM, 1, "out of memory")                                                                   \
    X(IO, 2, "input or output failed")                                                             \
    X(FORMAT, 3, "malformed input")                                                                \
    X(LIMIT, 4, "a limit was exceeded")                                                            \
    X(USAGE, 5, "wrong use")                                                                       \
    X(STATE, 6, "not possible in this state")                                                      \
    X(NOTFOUND, 7, "no such thing")                                                                \
    X(UNSUPPORTED, 8, "not supported here")

enum assay_code {
    ASSAY_OK = 0,
#define X(name, number, text) ASSAY_ERR_##name = -(number),
    ASSAY_ERRORS(X)
#undef X
};

/* Filled by a call that returned a negative code. A caller that does not care passes NULL. */
struct assay_error {
    int code;        /* enum assay_code */
    int sys;         /* errno of the failing call, or 0 */
    uint64_t offset; /* byte of the input to blame, or 0 */
    char msg[240];   /* one sentence, no trailing newline */
};

/* The meaning of a code in a few words; "unknown error" for a number that is none. */
ASSAY_API const char *assay_code_text(int code);

#ifdef __cplusplus
}
#endif
#endif
