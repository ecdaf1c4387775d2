/* preload/life.h - what the library knows of the process it is in, on a page that fork empties.
 * A child that nobody announced finds nothing here, and so never writes into its parent's share. */
#ifndef AS_PRELOAD_LIFE_H
#define AS_PRELOAD_LIFE_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/shm/heap_shm.h"
#include "trace/shm/target_shm.h"

#if defined(__x86_64__) || defined(__i386__)
#define AS_LIFE_BYTES 4096
#else
#define AS_LIFE_BYTES 65536 /* the largest page of the others */
#endif

struct as_life {
    _Alignas(AS_LIFE_BYTES) struct as_heap_shm *heap; /* NULL: allocations are only passed on */
    struct as_heap_shm *quick; /* the same; NULL also when the program marks layers */
    struct as_shm_header *shm;
    uint32_t watches; /* bit by enum as_shm_watch */
};

extern struct as_life as_life;

/* Large and seldom used: behind the rest, so that what each program writes to as it starts lies on
 * few pages. */
#define AS_FAR __attribute__((section(".bss.z_far")))

#endif
