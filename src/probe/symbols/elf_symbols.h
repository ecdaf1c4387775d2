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

/* A function at an address, and the line it is at there. */
struct as_symbol_frame {
    const char *function; /* demangled where it is C++ or Rust; NULL: unknown */
    const char *file;     /* NULL: unknown */
    uint32_t line;        /* 0: unknown */
};

struct as_symbol {
    const char *function; /* demangled where it is C++ or Rust; NULL: unknown */
    const char *module;   /* file name without its folder; NULL: in no file */
    uint64_t offset;      /* from the function; without one from the start of the module's file
                             image, as addr2line takes it; without a module the address itself */
    /* Innermost first: each but the last is inlined into the one after it, the last is `function`
     * itself. None where the file has no debug information, or it was not asked for. */
    const struct as_symbol_frame *frame;
    size_t n_frames;
};

/* `maps` is the text of /proc/PID/maps; `root` stands before its paths ("" usually). */
AS_MUST_USE int as_symbols_new(struct as_symbols **out, const char *maps, const char *root,
                               struct assay_error *err);
void as_symbols_free(struct as_symbols *symbols);

/* The same for another process, files of both being read once: what was found before is gone, but
 * for the texts. NOMEM alone; `symbols` can then only be freed. */
AS_MUST_USE int as_symbols_move(struct as_symbols *symbols, const char *maps,
                                struct assay_error *err);

/* Whether it holds so many files and functions that it had better be made anew. */
bool as_symbols_is_full(const struct as_symbols *symbols);

#define AS_SYMBOLS_MAX_LINES 65536u /* addresses that lines are looked for; others have none */

/* Looks for the lines of these return addresses, all at once: as_symbols_find() has them from then
 * on. Once for each map. Debug information that cannot be read costs its lines alone; only NOMEM
 * fails. */
AS_MUST_USE int as_symbols_find_lines(struct as_symbols *symbols, const uint64_t *address, size_t n,
                                      struct assay_error *err);

/* Lines that are not there after so many seconds are left; 0: the usual. Before the above. */
void as_symbols_limit_lines(struct as_symbols *symbols, uint32_t seconds);

/* Why addresses that have debug information have no lines; NULL: they have, as far as it was asked
 * for. Borrowed. */
const char *as_symbols_lines_why(const struct as_symbols *symbols);

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
    uint64_t device, inode; /* as stat() has them; 0: of no file */
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
