/* probe/process/process_descriptors.h - how many files a process has open.
 * Newer kernels report it as the size of /proc/PID/fd; elsewhere its entries are counted. */
#ifndef AS_PROBE_PROCESS_PROCESS_DESCRIPTORS_H
#define AS_PROBE_PROCESS_PROCESS_DESCRIPTORS_H

#include <stdbool.h>
#include <stdint.h>

#define AS_DESCRIPTORS_MAX_COUNTED 65536u /* entries; from there on it is at least that many */

/* Opens the folder of a process whose file is `folder`; -1: not there, or not permitted. */
int as_process_descriptors_open(const char *folder);

/* Whether the kernel reports sizes of such folders. */
bool as_process_descriptors_sized(void);

/* `sized`: by that size, which costs one call, else entry by entry. False: not known. */
bool as_process_descriptors_count(uint64_t *out, int fd, bool sized);

#endif
