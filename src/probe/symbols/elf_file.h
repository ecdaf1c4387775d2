/* probe/symbols/elf_file.h - what of an ELF file is needed to name its functions: 64 bits,
 * little-endian. Mapped, not read: only headers and symbols are touched, however large it is. */
#ifndef AS_PROBE_SYMBOLS_ELF_FILE_H
#define AS_PROBE_SYMBOLS_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/error.h"
#include "base/file/file_map.h"

#define AS_ELF_MAX_SEGMENTS 64 /* loaded ones; real files have 2 to 12 */
#define AS_ELF_MAX_BUILD_ID 64

/* What the loader maps: file bytes at `offset` appear at `address`. */
struct as_elf_segment {
    uint64_t offset, size, address;
};

/* A table of symbols with its names. Empty: there is none. */
struct as_elf_table {
    struct as_cursor symbols; /* 24 bytes each */
    struct as_cursor names;
};

struct as_elf_file {
    const uint8_t *bytes;
    size_t size;
    struct as_file_map map;
    struct as_elf_segment segment[AS_ELF_MAX_SEGMENTS];
    size_t n_segments;
    struct as_elf_table symtab, dynsym;
    uint8_t build_id[AS_ELF_MAX_BUILD_ID];
    size_t build_id_size;
    const char *debug_link; /* file name that .gnu_debuglink tells, NUL-terminated; NULL: none */
    bool has_lines;         /* debug information is in it */
};

struct as_elf_symbol {
    uint32_t name;
    uint8_t info, other;
    uint16_t section;
    uint64_t value, size;
};

/* Looks through `size` bytes, which must outlive `file`. FORMAT when they are no such file; parts
 * of it that make no sense are passed over. */
AS_MUST_USE int as_elf_file_parse(struct as_elf_file *file, const uint8_t *bytes, size_t size,
                                  struct assay_error *err);

/* Maps the regular file at `path` and parses it. */
AS_MUST_USE int as_elf_file_open(struct as_elf_file *file, const char *path,
                                 struct assay_error *err);

/* Accepts a file already closed. */
void as_elf_file_close(struct as_elf_file *file);

/* The next symbol of a cursor over as_elf_table.symbols; false at the end. */
bool as_elf_take_symbol(struct as_cursor *c, struct as_elf_symbol *out);

/* The address that the file itself gives to the byte at `offset`; false when none is loaded there.
 */
bool as_elf_file_address(const struct as_elf_file *file, uint64_t offset, uint64_t *address);

/* ---- demangle.c ---- */

#define AS_DEMANGLE_MAX 1024u /* bytes of a shown name; the rest of a longer one is left out */

struct as_demangler {
    void *library;
    char *(*demangle)(const char *name, char *out, size_t *capacity, int *status);
    unsigned oversized; /* names that came out far longer than they went in */
};

void as_demangler_open(struct as_demangler *d);
void as_demangler_close(struct as_demangler *d);

/* `name` shown in `out`, NUL-terminated; false when it stays as it is. A name with so many
 * references that it could grow without bound is shown up to its template arguments. */
bool as_demangle(struct as_demangler *d, const char *name, char out[AS_DEMANGLE_MAX + 1]);

/* ---- elf_functions.c ---- */

#define AS_ELF_MAX_TABLES    4
#define AS_ELF_MAX_FUNCTIONS 4000000u
#define AS_ELF_MAX_NAME      1024u /* bytes; the rest of a longer name is left out */

struct as_elf_function {
    uint64_t start, size; /* size 0: up to the next one */
    uint32_t name;        /* place in its table's names */
    uint32_t table;
};

/* {0} has no functions. The files whose tables were added must outlive it. */
struct as_elf_functions {
    struct as_elf_function *function;
    size_t n, capacity;
    struct as_cursor names[AS_ELF_MAX_TABLES];
    size_t n_tables;
};

/* NOMEM alone; functions beyond AS_ELF_MAX_FUNCTIONS are left out. */
AS_MUST_USE int as_elf_functions_add(struct as_elf_functions *list,
                                     const struct as_elf_table *table, struct assay_error *err);

/* After the last table was added, before the first question. */
void as_elf_functions_sort(struct as_elf_functions *list);

void as_elf_functions_fini(struct as_elf_functions *list);

/* The function that holds `address` as the file gives addresses, or SIZE_MAX. */
size_t as_elf_functions_find(const struct as_elf_functions *list, uint64_t address);

/* Its name, borrowed from the file, not NUL-terminated; at most AS_ELF_MAX_NAME bytes, maybe none.
 */
const char *as_elf_functions_name(const struct as_elf_functions *list, size_t i, size_t *size);

#endif
