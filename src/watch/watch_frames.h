/* watch/watch_frames.h - the frames of a heap's sites and stacks, each address once: functions,
 * lines, and what is inlined there. Sites and stacks name them by number. */
#ifndef AS_WATCH_WATCH_FRAMES_H
#define AS_WATCH_WATCH_FRAMES_H

#include "base/arena.h"
#include "probe/heap/heap_watch.h"
#include "probe/symbols/elf_symbols.h"

/* Function, inlined or not. Texts are borrowed from the symbols. */
struct as_watch_frame {
    const char *function, *module, *file;
    uint64_t offset;
    uint32_t line;
    bool inlined; /* into the next one, at the same address */
};

/* The frames of an address begin at its number and go on up to the first that is not inlined. */
struct as_watch_frames {
    const uint64_t *address; /* sorted */
    const uint32_t *number;  /* of each: where its frames begin */
    size_t n_addresses;
    const struct as_watch_frame *frame;
    size_t n;
    uint64_t left_out; /* addresses beyond the limit */
};

/* Looks all of them up, lines too. `symbols` may be NULL: then there is nothing to tell of them but
 * their addresses. NOMEM alone. */
AS_MUST_USE int as_watch_frames_find(struct as_watch_frames *out, struct as_symbols *symbols,
                                     const struct as_heap_site *site, size_t n_sites,
                                     const struct as_heap_stack *stack, size_t n_stacks,
                                     struct as_arena *arena, struct assay_error *err);

#define AS_WATCH_NO_FRAME UINT32_MAX

/* The number of an address; AS_WATCH_NO_FRAME: it was left out. */
uint32_t as_watch_frames_number(const struct as_watch_frames *frames, uint64_t address);

#endif
