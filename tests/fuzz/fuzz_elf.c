/* tests/fuzz/fuzz_elf.c - any bytes as an ELF file, or as the text of a memory map.
 * What is named lies within the file, and the order of functions holds. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "probe/symbols/elf_file.h"
#include "probe/symbols/elf_symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_name(const struct as_elf_file *file, const struct as_elf_functions *list,
                       size_t i)
{
    size_t size;
    const char *name = as_elf_functions_name(list, i, &size);

    if (size > AS_ELF_MAX_NAME || (const uint8_t *)name < file->bytes ||
        (const uint8_t *)name + size > file->bytes + file->size)
        abort();
}

static void read_file(const uint8_t *data, size_t size)
{
    struct as_elf_functions list = {0};
    struct as_elf_file file;

    if (as_elf_file_parse(&file, data, size, NULL) < 0)
        return;
    if (as_elf_functions_add(&list, &file.symtab, NULL) < 0 ||
        as_elf_functions_add(&list, &file.dynsym, NULL) < 0)
        abort();
    as_elf_functions_sort(&list);
    for (size_t i = 0; i < list.n; i++) {
        uint64_t start = list.function[i].start;
        size_t found = as_elf_functions_find(&list, start);

        check_name(&file, &list, i);
        if (i && list.function[i - 1].start >= start)
            abort();
        if (found != SIZE_MAX && found > i)
            abort();
    }
    for (size_t i = 0; i < file.n_segments; i++) {
        uint64_t address;

        if (file.segment[i].size && !as_elf_file_address(&file, file.segment[i].offset, &address))
            abort();
    }
    as_elf_functions_fini(&list);
}

static void read_maps(const uint8_t *data, size_t size)
{
    struct as_arena arena = {0};
    struct as_memory_map map;
    char *text = as_arena_text(&arena, (const char *)data, size);

    if (!text || as_memory_map_parse(&map, &arena, text, NULL) < 0)
        abort();
    for (size_t i = 0; i < map.n; i++) {
        const struct as_map_region *r = &map.region[i];

        if (as_memory_map_find(&map, r->start) != r || as_memory_map_find(&map, r->end - 1) != r)
            abort();
    }
    as_arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] == 0x7f)
        read_file(data, size);
    else
        read_maps(data, size);
    return 0;
}
