/* probe/symbols/elf_functions.h - the functions of an ELF file by address, from its symbols and
 * from those of the debug file apart from it. Sorted once; each question is a bisection. */
#ifndef AS_PROBE_SYMBOLS_ELF_FUNCTIONS_H
#define AS_PROBE_SYMBOLS_ELF_FUNCTIONS_H

#include "probe/symbols/elf_file.h"

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
