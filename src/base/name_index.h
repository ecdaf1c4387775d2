/* base/name_index.h - finds things by name, and names given twice, in n log n whatever the names.
 * Sorted, not hashed, so that nobody can choose names that make it slow. */
#ifndef AS_BASE_NAME_INDEX_H
#define AS_BASE_NAME_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct as_name_entry {
    const char *at; /* borrowed */
    size_t size;
    uint32_t id;
};

/* {0} is empty. */
struct as_name_index {
    struct as_name_entry *entries;
    size_t n, capacity;
};

/* False: no memory. */
bool as_name_index_add(struct as_name_index *index, const char *at, size_t size, uint32_t id);

/* To be called once after the last add and before the calls below. */
void as_name_index_sort(struct as_name_index *index);

/* The later of the first two entries of one name, in the order of their ids; NULL: none. */
const struct as_name_entry *as_name_index_twice(const struct as_name_index *index);

/* NULL: there is none. */
const struct as_name_entry *as_name_index_find(const struct as_name_index *index, const char *at,
                                               size_t size);

void as_name_index_fini(struct as_name_index *index);

#endif
