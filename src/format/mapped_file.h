/* format/mapped_file.h - a file of somebody else's in memory, read-only.
 * Only regular files. What of them is read and what is mapped: base/file/file_map.h. */
#ifndef AS_FORMAT_MAPPED_FILE_H
#define AS_FORMAT_MAPPED_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/file/file_map.h"
#include "model/graph/graph.h"

struct as_mapped_file {
    const uint8_t *bytes; /* NULL when the file is empty */
    uint64_t size;
    const char *path;       /* borrowed, for messages */
    struct as_file_map map; /* {0}: `bytes` are somebody else's memory */
};

/* Refuses directories, FIFOs, devices and sockets without waiting on them. */
AS_MUST_USE int as_mapped_file_open(struct as_mapped_file *file, const char *path,
                                    struct assay_error *err);

/* The same for a model, whose weights are not read before they are looked at. */
AS_MUST_USE int as_mapped_file_open_model(struct as_mapped_file *file, const char *path,
                                          struct assay_error *err);

/* The same for a name that a model file gives: opened beneath the folder of `model_path`, through
 * no link, out of it by no way (openat2), and with one hard link only. `name` is `size` bytes and
 * not trusted. */
AS_MUST_USE int as_mapped_file_open_beside(struct as_mapped_file *file, const char *model_path,
                                           const char *name, size_t size, struct assay_error *err);

/* Gives the mapped pages of [at, at + size) back; they return when they are touched again. Nothing
 * when these are not in the file. */
void as_mapped_file_let_go_part(const struct as_mapped_file *file, const uint8_t *at,
                                uint64_t size);

void as_mapped_file_close(struct as_mapped_file *file);

/* ---- weight_ranges.c ---- */

/* Where the large tensors of a model file are, found by small reads, whatever the file is. False:
 * no memory. */
bool as_weight_ranges(struct as_file_spans *out, int fd, uint64_t size);

/* ---- file_ranges.c ---- */

struct as_file_range {
    uint64_t at, bytes; /* at + bytes was checked to be in the file */
    uint32_t id;
};

/* The constants among the values from `first` on, sorted by place; the caller frees the list with
 * as_free(). NULL: no memory. */
struct as_file_range *as_file_ranges_new(const struct as_model *model, uint32_t first, size_t *n);

/* The first pair that overlaps, as the two ids; false: none does. */
bool as_file_ranges_overlap(const struct as_file_range *spans, size_t n, uint32_t *id,
                            uint32_t *other);

#endif
