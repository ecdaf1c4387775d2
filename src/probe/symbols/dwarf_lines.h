/* probe/symbols/dwarf_lines.h - source lines and inlined functions of addresses, from the debug
 * information of files that nobody vouches for. libdw reads it, in a process of its own with little
 * memory and time: what that process does not answer has no line, and nothing else happens. */
#ifndef AS_PROBE_SYMBOLS_DWARF_LINES_H
#define AS_PROBE_SYMBOLS_DWARF_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

#define AS_DWARF_MAX_DEPTH 32u   /* functions inlined into each other at one address */
#define AS_DWARF_MAX_TEXT  1024u /* bytes of a name or path that are kept */

/* A file and the addresses to look for in it, as the file itself gives addresses. */
struct as_dwarf_module {
    const char *path; /* of the debug information */
    const uint64_t *address;
    size_t n;
};

struct as_dwarf_frame {
    const char *function; /* as the linker knows it; NULL: it has no name */
    const char *file;     /* NULL: unknown */
    uint32_t line;        /* 0: unknown */
};

/* What is at one address, innermost first: all but the last are inlined into the one after them,
 * and the line of each is where it is left for the one before. */
struct as_dwarf_place {
    const struct as_dwarf_frame *frame;
    uint32_t n; /* 0: nothing is known */
};

struct as_dwarf_limits {
    uint32_t cpu_seconds;  /* of each process that reads */
    uint32_t wall_seconds; /* of all together */
    uint64_t data_bytes;   /* memory of its own that a process may have */
    uint32_t restarts;     /* after files that ended one */
};
#define AS_DWARF_LIMITS_INIT                                                                       \
    {                                                                                              \
        10, 20, UINT64_C(1) << 30, 8                                                               \
    }

struct as_dwarf_report {
    bool missing;      /* libdw is not on this machine, or was not when assay was built */
    size_t given_up;   /* files that were not answered to their end */
    size_t unanswered; /* addresses of those, and of files not begun */
};

/* Fills `place`, [module][address] one after the other, in `arena`. Only NOMEM fails. */
AS_MUST_USE int as_dwarf_look_up(const struct as_dwarf_module *module, size_t n_modules,
                                 const struct as_dwarf_limits *limits, struct as_dwarf_place *place,
                                 struct as_arena *arena, struct as_dwarf_report *report,
                                 struct assay_error *err);

#endif
