/* engine/layout.h - how a kernel library keeps a tensor in memory, when not row by row.
 * Made and compared by the provider that asked for it; the engine only carries it. */
#ifndef AS_ENGINE_LAYOUT_H
#define AS_ENGINE_LAYOUT_H

#include <stdint.h>

struct as_layout {
    uint64_t bytes;   /* with padding */
    const char *text; /* "aBcd16b" */
    const void *desc; /* the provider's own */
};

#endif
