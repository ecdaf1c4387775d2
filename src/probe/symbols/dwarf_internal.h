/* probe/symbols/dwarf_internal.h - what passes between assay and the process that reads debug
 * information for it.
 *
 *   answers, one after the other, little-endian:
 *     AS_DWARF_BEGINS  u32 number of the module
 *     AS_DWARF_PLACE   u32 number of the address in the module, u8 frames, for each of them
 *                      u32 line, u16 bytes of the function, u16 bytes of the file, these bytes
 *     AS_DWARF_ENDS    u8 whether libdw was there */
#ifndef AS_PROBE_SYMBOLS_DWARF_INTERNAL_H
#define AS_PROBE_SYMBOLS_DWARF_INTERNAL_H

#include "base/cursor.h"
#include "base/hash_map.h"
#include "probe/symbols/dwarf_lines.h"

enum { AS_DWARF_BEGINS = 1, AS_DWARF_PLACE = 2, AS_DWARF_ENDS = 3 };

#define AS_DWARF_FRAME_BYTES (4 + 2 + 2 + 2 * AS_DWARF_MAX_TEXT)
#define AS_DWARF_ANSWER_MAX  (1 + 4 + 1 + AS_DWARF_MAX_DEPTH * AS_DWARF_FRAME_BYTES)

/* ---- dwarf_answers.c ---- */

/* Texts come up again and again: each is kept once. */
struct as_dwarf_answers {
    const struct as_dwarf_module *module;
    size_t n_modules;
    struct as_dwarf_place *place;
    struct as_arena *arena;
    struct as_hash_map texts;
    size_t at;      /* the module being answered; n_modules: none yet */
    size_t next;    /* may begin now */
    uint64_t bytes; /* kept so far */
    bool ended, missing;
};

/* Takes as many complete answers as there are from the cursor. 1: more is needed; 0: all was said;
 * FORMAT: no such answer can come, from here on nothing is believed; NOMEM. */
AS_MUST_USE int as_dwarf_answers_take(struct as_dwarf_answers *a, struct as_cursor *c);

/* ---- dwarf_find.c ---- */

struct as_dwarf_library; /* libdw */
struct as_dwarf_file;

/* One frame on its way; texts are borrowed from the file until the next question. */
struct as_dwarf_found {
    const char *function, *file;
    uint64_t line;
};

/* NULL: it is not there. */
const struct as_dwarf_library *as_dwarf_library_open(void);

struct as_dwarf_file *as_dwarf_file_open(const struct as_dwarf_library *library, const char *path);
void as_dwarf_file_close(struct as_dwarf_file *file);

/* How many frames are at the address, innermost first. */
size_t as_dwarf_file_find(struct as_dwarf_file *file, uint64_t address,
                          struct as_dwarf_found out[AS_DWARF_MAX_DEPTH]);

#endif
