/* preload/heap_map.h - anonymous mappings the program makes for itself: arenas, counted apart.
 * Rare calls, so a table behind a lock does; who does not get it soon is not counted. */
#ifndef AS_PRELOAD_HEAP_MAP_H
#define AS_PRELOAD_HEAP_MAP_H

/* Finds the functions behind ours. */
void as_heap_map_prepare(void);

/* In a forked child: whoever held the lock is not here. */
void as_heap_map_forked(void);

#endif
