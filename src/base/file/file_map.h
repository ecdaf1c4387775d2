/* base/file/file_map.h - the bytes of a file in memory, read-only.
 * What was read stays as it was, whatever happens to the file. Only large ranges that a caller
 * names, weights for the most part, are mapped: a page of those that has gone from the file when it
 * is touched raises SIGBUS. So they are mapped only in a program that has said it handles that
 * (as_file_map_guarded()); elsewhere they are read too, up to AS_FILE_READ_MAX. */
#ifndef AS_BASE_FILE_FILE_MAP_H
#define AS_BASE_FILE_FILE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Shorter ranges are read whatever the caller says. */
#define AS_FILE_RANGE_LEAST ((uint64_t)64 << 10)

/* What is read of the rest, in a guarded program; beyond it the rest is mapped as well. */
#define AS_FILE_REST_MAX ((uint64_t)16 << 20)

/* Larger files have their ranges mapped in every program. */
#define AS_FILE_READ_MAX ((uint64_t)2 << 30)

struct as_file_span {
    uint64_t at, size;
};

/* Ranges of a file; {0} is none. */
struct as_file_spans {
    struct as_file_span *item;
    size_t n, capacity;
};

/* False: no memory. Ranges may come in any order and overlap; empty and short ones are left out. */
bool as_file_spans_add(struct as_file_spans *spans, uint64_t at, uint64_t size);
void as_file_spans_fini(struct as_file_spans *spans);

struct as_file_map {
    uint8_t *bytes; /* NULL when the file is empty */
    uint64_t size, read_bytes;
    struct as_file_spans mapped; /* whole pages, sorted */
    struct as_file_place *place; /* private */
};

/* Puts the first `size` bytes of `fd` in memory; `fd` may be closed afterwards. `large` is taken
 * and emptied: the ranges that need not be read now. */
AS_MUST_USE int as_file_map_open(struct as_file_map *map, int fd, uint64_t size,
                                 struct as_file_spans *large, const char *path,
                                 struct assay_error *err);
void as_file_map_close(struct as_file_map *map);

/* Gives pages of [from, from + size) back that come again from the file when they are touched. */
void as_file_map_let_go(const struct as_file_map *map, uint64_t from, uint64_t size);

/* Whether large ranges are worth finding in a file of that size: they would be mapped. */
bool as_file_map_wants_ranges(uint64_t size);

/* This program handles SIGBUS: called once, at its start. */
void as_file_map_guarded(void);

/* The path of the file that is mapped at an address, or NULL. For a signal handler. */
const char *as_file_map_find(const void *address);

#endif
