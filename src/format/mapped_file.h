/* format/mapped_file.h - a file of somebody else's in memory, read-only.
 * Only regular files; nothing is read until it is touched. */
#ifndef AS_FORMAT_MAPPED_FILE_H
#define AS_FORMAT_MAPPED_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct as_mapped_file {
    const uint8_t *bytes; /* NULL when the file is empty */
    uint64_t size;
    const char *path; /* borrowed, for messages */
    bool mapped;      /* false: `bytes` are somebody else's memory */
};

/* Refuses directories, FIFOs, devices and sockets without waiting on them. */
AS_MUST_USE int as_mapped_file_open(struct as_mapped_file *file, const char *path,
                                    struct assay_error *err);

/* The same for a name that a model file gives: opened beneath the folder of `model_path`, through
 * no link, out of it by no way (openat2), and with one hard link only. `name` is `size` bytes and
 * not trusted. */
AS_MUST_USE int as_mapped_file_open_beside(struct as_mapped_file *file, const char *model_path,
                                           const char *name, size_t size, struct assay_error *err);

/* Gives the pages back that were looked at so far; they return when they are touched again. */
void as_mapped_file_let_go(const struct as_mapped_file *file);

/* The same for the pages of [at, at + size) alone; nothing when these are not in the file. */
void as_mapped_file_let_go_part(const struct as_mapped_file *file, const uint8_t *at,
                                uint64_t size);

void as_mapped_file_close(struct as_mapped_file *file);

#endif
