/* tests/fuzz/fuzz_dwarf_answers.c - any bytes as the answers about lines. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "probe/symbols/dwarf_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(const char *text)
{
    if (text && (strlen(text) == 0 || strlen(text) > AS_DWARF_MAX_TEXT))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint64_t address[8] = {0};
    const struct as_dwarf_module module[] = {
        {"/a", address, 5}, {"/b", address, 0}, {"/c", address, 3}};
    struct as_dwarf_place place[8];
    struct as_arena arena = {0};
    struct as_dwarf_answers a = {
        .module = module, .n_modules = 3, .place = place, .arena = &arena, .at = 3};
    struct as_cursor c = as_cursor_over(data, size);

    memset(place, 0, sizeof place);
    (void)as_dwarf_answers_take(&a, &c);
    for (size_t i = 0; i < 8; i++) {
        if (place[i].n > AS_DWARF_MAX_DEPTH)
            abort();
        for (uint32_t k = 0; k < place[i].n; k++) {
            look(place[i].frame[k].function);
            look(place[i].frame[k].file);
        }
    }
    as_hash_map_fini(&a.texts);
    as_arena_fini(&arena);
    return 0;
}
