/* analyze/watch/allocator_wrappers.h - functions that allocate for whoever calls them: who wants to
 * know where memory goes looks for their callers. */
#ifndef AS_ANALYZE_WATCH_ALLOCATOR_WRAPPERS_H
#define AS_ANALYZE_WATCH_ALLOCATOR_WRAPPERS_H

#include <stdbool.h>

/* `function` as it is shown, with arguments and all. NULL where something is not known: without a
 * name the module alone may tell; the file, when it is one of a standard library. */
bool as_is_allocator_wrapper(const char *function, const char *module, const char *file);

#define AS_PLAIN_NAME 512

/* "int& std::vector<int>::emplace_back<int>(int&&)" as "std::vector::emplace_back", cut where it is
 * too long. */
void as_plain_function_name(const char *function, char out[AS_PLAIN_NAME]);

#endif
