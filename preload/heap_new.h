/* preload/heap_new.h - C++ operator new and delete in the place of the standard library's.
 * When memory is short the library's own is called, for its handlers and its exception. */
#ifndef AS_PRELOAD_HEAP_NEW_H
#define AS_PRELOAD_HEAP_NEW_H

#include <stdbool.h>

/* Looks whether the operators behind ours are the standard library's; others are left alone, as
 * all are when malloc is not counted. */
void as_heap_new_prepare(bool countable);

#endif
