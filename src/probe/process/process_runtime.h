/* probe/process/process_runtime.h - which language's runtime a process is run by, where that
 * decides what its memory says. */
#ifndef AS_PROBE_PROCESS_PROCESS_RUNTIME_H
#define AS_PROBE_PROCESS_PROCESS_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

/* CPython frees what a program still holds as it ends, before exit(). The others collect: their
 * heap grows until a collection, and stays as large as they see fit. */
#define AS_RUNTIME_CPYTHON "CPython"
#define AS_RUNTIME_JVM     "JVM"
#define AS_RUNTIME_GO      "Go"
#define AS_RUNTIME_V8      "V8"

/* By the program and the libraries it has mapped; NULL: none of those, or it cannot be seen. `root`
 * stands before "/proc" ("" usually). */
const char *as_process_runtime(const char *root, int64_t pid);

#endif
