/* preload/shm_file.h - makes the file of a process and puts it into its memory.
 * No descriptor stays open, nothing is allocated, and errno is the caller's to keep. */
#ifndef AS_PRELOAD_SHM_FILE_H
#define AS_PRELOAD_SHM_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "trace/shm/target_shm.h"

/* A file that nobody has yet, in `folder`, named after this process, of which AS_SHM_FIRST_BYTES
 * are mapped; NULL: there cannot be one. */
struct as_shm_header *as_shm_file_make(const char *folder);

/* In a forked child: an empty file of its own, at the address of its parent's. False: there is only
 * private memory now. */
bool as_shm_file_fork(const char *folder, struct as_shm_header *shm);

/* Private memory takes the place of the share. */
void as_shm_file_forget(struct as_shm_header *shm);

/* Pages that will be written to are there from now on; false: the disk or the memory is full. */
bool as_shm_file_touch(const void *at, size_t bytes);

#endif
