/* base/vec.h - arrays that grow: a pointer, a count and a capacity kept by their owner.
 * Arrays with a limit of their own, or several that grow together, do it themselves. */
#ifndef AS_BASE_VEC_H
#define AS_BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>

/* Makes sure that an array of `n` elements has capacity for one more, doubling it when it is full.
 * False without memory: the array stays as it was. `array` and `capacity` are lvalues; the second
 * condition shows an analyzer of one file that the array is there. */
#define AS_VEC_RESERVE(array, n, capacity)                                                         \
    (as_vec_reserve(&(array), (n), &(capacity), sizeof((array)[0])) && (array) != NULL)

/* `array` is the address of the pointer to the elements. Freed with as_free(). */
bool as_vec_reserve(void *array, size_t n, size_t *capacity, size_t element_bytes)
    __attribute__((warn_unused_result));

#endif
