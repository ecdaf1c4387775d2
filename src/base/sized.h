/* base/sized.h - structs that programs hand in and that begin with their size (assay/error.h): they
 * may be of an older or a newer version than the library. */
#ifndef AS_BASE_SIZED_H
#define AS_BASE_SIZED_H

#include <stddef.h>

#include <assay/error.h>

/* Copies the struct `from` into `to`, the one of `size` bytes that the library knows: what `from`
 * does not have is 0, and its first field becomes `size`. NULL gives a struct of zeros. USAGE for a
 * struct without its size, or with values in fields beyond those known here; `what` names it. */
int as_sized_take(void *to, size_t size, const void *from, const char *what,
                  struct assay_error *err);

#endif
