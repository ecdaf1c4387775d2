/* base/name_index.c - finds things by name, and names given twice, in n log n whatever the names.
 * Sorted, not hashed, so that nobody can choose names that make it slow. */
#include "base/name_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static int compare_names(const char *a, size_t a_size, const char *b, size_t b_size)
{
    size_t size = a_size < b_size ? a_size : b_size;
    int order = size ? memcmp(a, b, size) : 0;

    return order ? order : (a_size > b_size) - (a_size < b_size);
}

static int compare_entries(const void *left, const void *right)
{
    const struct as_name_entry *a = left, *b = right;
    int order = compare_names(a->at, a->size, b->at, b->size);

    return order ? order : (a->id > b->id) - (a->id < b->id);
}

bool as_name_index_add(struct as_name_index *index, const char *at, size_t size, uint32_t id)
{
    if (index->n == index->capacity) {
        size_t capacity = index->capacity ? index->capacity * 2 : 64;
        struct as_name_entry *entries = as_realloc(index->entries, capacity, sizeof *entries);

        if (!entries)
            return false;
        index->entries = entries;
        index->capacity = capacity;
    }
    index->entries[index->n++] = (struct as_name_entry){at, size, id};
    return true;
}

void as_name_index_sort(struct as_name_index *index)
{
    if (index->n)
        qsort(index->entries, index->n, sizeof *index->entries, compare_entries);
}

const struct as_name_entry *as_name_index_twice(const struct as_name_index *index)
{
    const struct as_name_entry *found = NULL;

    for (size_t i = 1; i < index->n; i++) {
        const struct as_name_entry *a = &index->entries[i - 1], *b = &index->entries[i];

        if (compare_names(a->at, a->size, b->at, b->size) == 0 && (!found || b->id < found->id))
            found = b;
    }
    return found;
}

const struct as_name_entry *as_name_index_find(const struct as_name_index *index, const char *at,
                                               size_t size)
{
    size_t low = 0, high = index->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct as_name_entry *entry = &index->entries[mid];
        int order = compare_names(entry->at, entry->size, at, size);

        if (order == 0)
            return entry;
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

void as_name_index_fini(struct as_name_index *index)
{
    as_free(index->entries);
    *index = (struct as_name_index){0};
}
