/* probe/symbols/elf_symbols.h - names for addresses of a process, from its memory map and the files
 * in it. Files and map are hostile; an address without a name is told as its module and offset. */
#ifndef AS_PROBE_SYMBOLS_ELF_SYMBOLS_H
#define AS_PROBE_SYMBOLS_ELF_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

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

#endif
