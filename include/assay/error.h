/* assay/error.h - how every call of the library reports what went wrong.
 * Holds no heap memory, so reporting an error can never itself fail.
 *
 * One rule for NULL: a call without a pointer that it needs returns ASSAY_ERR_USAGE when it returns
 * int; NULL, 0, false or NaN when it returns something else; and does nothing when it returns
 * nothing. `err` may always be NULL. A header that differs documents it.
 *
 * One rule for structs that may get more fields in a later version: they begin with `size`.
 * - A struct that the program fills in: the program sets it, and leaves what it does not know 0.
 *
 *       struct assay_session_options options = {.size = sizeof options, .label = "first try"};
 *       assay_session_open("run.assay", &options, &err);
 *
 *   ASSAY_SIZED() is the same for C++17. Fields that the library knows and the program does not are
 *   0, which means unknown or the default. USAGE for a struct without its size, and for one with
 *   values in fields that the library does not know.
 * - A struct that the library fills in: the library sets it to the bytes that it knows; fields from
 *   there on are not filled. A program that was linked before a field was added gets the symbol
 *   version, and the struct, of its time.
 * Elements of arrays and values that cannot grow (a shape, an edge, a record of a file) have no
 * size: they stay as they are, and what is new gets a struct of its own.
 *
 * One rule for what is not known: a double is NaN, a count is ASSAY_UNKNOWN, a text or pointer is
 * NULL. */
#ifndef ASSAY_ERROR_H
#define ASSAY_ERROR_H

#include <float.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ASSAY_API __attribute__((visibility("default")))

/* The version of these headers, for #if. */
#define ASSAY_VERSION_MAJOR 0
#define ASSAY_VERSION_MINOR 1
#define ASSAY_VERSION_PATCH 0

/* Every error the library knows: name, number, meaning. A number is never reused. */
#define ASSAY_ERRORS(XX)                                                                           \
    XX(NOMEM, 1, "out of memory")                                                                  \
    XX(IO, 2, "input or output failed")                                                            \
    XX(FORMAT, 3, "malformed input")                                                               \
    XX(LIMIT, 4, "a limit was exceeded")                                                           \
    XX(USAGE, 5, "wrong use")                                                                      \
    XX(STATE, 6, "not possible in this state")                                                     \
    XX(NOTFOUND, 7, "no such thing")                                                               \
    XX(UNSUPPORTED, 8, "not supported here")

enum assay_code {
    ASSAY_OK = 0,
#define XX(name, number, text) ASSAY_ERR_##name = -(number),
    ASSAY_ERRORS(XX)
#undef XX
};

/* Filled by a call that returned a negative code. A caller that does not care passes NULL. */
struct assay_error {
    int code;        /* enum assay_code */
    int sys;         /* errno of the failing call, or 0 */
    uint64_t offset; /* byte of the input to blame, or 0 */
    char msg[240];   /* one sentence, no trailing newline */
};

/* In structs that a program fills in, 0 and NaN both mean unknown, or the default, unless the field
 * documents otherwise: a struct that is all zeros but for what is known is right. A metric that was
 * measured and found to be zero is ASSAY_MEASURED_ZERO; the library counts it as 0. */
#define ASSAY_MEASURED_ZERO DBL_MIN

/* A count that is not known, in what the library fills in and where a header documents it. */
#define ASSAY_UNKNOWN UINT64_MAX

/* A struct of this type with its size set and all else 0. In C++17, which has no designated
 * initializers:
 *
 *     auto options = ASSAY_SIZED(struct assay_session_options);
 *     options.label = "first try";
 *     assay_session_open("run.assay", &options, &err);
 */
#ifdef __cplusplus
extern "C++" {
template <typename T> inline T assay_sized_()
{
    T sized = {};
    sized.size = sizeof sized;
    return sized;
}
}
#define ASSAY_SIZED(type) (assay_sized_<type>())
#else
#define ASSAY_SIZED(type) ((type){.size = sizeof(type)})
#endif

/* The meaning of a code in a few words; "unknown error" for a number that is not a code. */
ASSAY_API const char *assay_code_text(int code);

#ifdef __cplusplus
}
#endif
#endif
