/* probe/symbols/elf_symbols.h - names for addresses of a process, from its memory map and the files
 * in it. Files and map are hostile; an address without a name is told as its module and offset. */
#ifndef AS_PROBE_SYMBOLS_ELF_SYMBOLS_H
#define AS_PROBE_SYMBOLS_ELF_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

struct as_symbols;

struct as_symbol {
    const char *function; /* demangled where it is C++; NULL: unknown */
    const char *module;   /* file name without its folder; NULL: in no file */
    uint64_t offset;      /* from the function; without one from the start of the module's file
                             image, as addr2line takes it; without a module the address itself */
};

/* `maps` is the text of /proc/PID/maps; `root` stands before its paths ("" usually). */
AS_MUST_USE int as_symbols_new(struct as_symbols **out, const char *maps, const char *root,
                               struct assay_error *err);
void as_symbols_free(struct as_symbols *symbols);

/* `address` is a return address: the call before it is meant. Texts are borrowed from `symbols`. */
void as_symbols_find(struct as_symbols *symbols, uint64_t address, struct as_symbol *out);

/* ---- memory_map.c ---- */

#define AS_MAP_MAX_REGIONS 65536u

struct as_map_region {
    uint64_t start, end;
    uint64_t offset;  /* of `start` in the file */
    const char *path; /* "" for memory of no file; "[heap]" and the like; without " (deleted)" */
    bool deleted;     /* the file is not there under this name any more */
    bool executable;
};

struct as_memory_map {
    struct as_map_region *region; /* sorted, none overlaps another */
    size_t n;
    uint64_t passed_over; /* lines */
};

/* Everything is in `arena`. NOMEM alone. */
AS_MUST_USE int as_memory_map_parse(struct as_memory_map *map, struct as_arena *arena,
                                    const char *text, struct assay_error *err);

/* The region that holds `address`, or NULL. */
const struct as_map_region *as_memory_map_find(const struct as_memory_map *map, uint64_t address);

#endif
