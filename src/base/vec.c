/* base/vec.c - arrays that grow: a pointer, a count and a capacity kept by their owner. */
#include "base/vec.h"

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"

#define FIRST_CAPACITY 16

bool as_vec_reserve(void *array, size_t n, size_t *capacity, size_t element_bytes)
{
    size_t larger = *capacity ? *capacity * 2 : FIRST_CAPACITY;
    void *elements;

    if (n < *capacity)
        return true;
    if (larger <= *capacity) /* the doubled capacity wrapped around */
        return false;
    memcpy(&elements, array, sizeof elements);
    elements = as_realloc(elements, larger, element_bytes);
    if (!elements)
        return false;
    memcpy(array, &elements, sizeof elements);
    *capacity = larger;
    return true;
}
