/* preload/stack_walk.h - the stack of the calling thread, by rules that are found once for each
 * address and kept. It allocates nothing, takes no lock, and reads of the stack nothing below the
 * frame that it starts from, nor above where the thread's stack ends. */
#ifndef AS_PRELOAD_STACK_WALK_H
#define AS_PRELOAD_STACK_WALK_H

#include <stdbool.h>
#include <stdint.h>

struct as_unwound {
    uint64_t *frame; /* return addresses, innermost first */
    uint32_t n, capacity;
    bool cut; /* there are more */
};

/* Where the stack of the first thread ends: nothing of it lies at or above that. */
void as_unwind_start(const void *stack_end);

/* From the frame at `frame` (as __builtin_frame_address(0)) outwards, without addresses in
 * [skip_from, skip_to). False: it ends at a frame that is not a simple one,
 * and `out` has what was found before. */
bool as_unwind(const void *frame, uintptr_t skip_from, uintptr_t skip_to, struct as_unwound *out);

/* Gives its memory back: stacks are not walked any more. */
void as_unwind_let_go(void);

/* Memory for the rules; NULL: none. Given by whoever accounts for it. */
#define AS_UNWIND_CACHE_BYTES (256u << 10)
void *as_unwind_memory(void);
/* So many bytes more of it were written to. */
void as_unwind_count(uint64_t bytes);

#endif
