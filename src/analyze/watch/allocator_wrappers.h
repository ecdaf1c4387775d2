/* analyze/watch/allocator_wrappers.h - functions that allocate for whoever calls them: who wants to
 * know where memory goes looks for their callers. */
#ifndef AS_ANALYZE_WATCH_ALLOCATOR_WRAPPERS_H
#define AS_ANALYZE_WATCH_ALLOCATOR_WRAPPERS_H

#include <stdbool.h>

/* `function` as it is shown, with arguments and all. */
bool as_is_allocator_wrapper(const char *function);

#endif
