/* tests/helpers/program_symbols.c - prints "function<TAB>module<TAB>offset" for each address read.
 * usage: program_symbols MAPS <addresses, hexadecimal, one a line */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "probe/symbols/elf_symbols.h"

#define MAX_MAPS (1u << 20)

static char *read_all(const char *path)
{
    char *text = as_alloc(MAX_MAPS);
    FILE *f = fopen(path, "re");
    size_t n = 0;

    if (f && text)
        n = fread(text, 1, MAX_MAPS - 1, f);
    if (f)
        fclose(f);
    if (text)
        text[n] = '\0';
    return text;
}

int main(int argc, char **argv)
{
    struct as_symbols *symbols = NULL;
    struct assay_error err;
    char line[64], *maps = argc > 1 ? read_all(argv[1]) : NULL;

    if (!maps || as_symbols_new(&symbols, maps, "", &err) < 0)
        return 1;
    while (fgets(line, sizeof line, stdin)) {
        struct as_symbol s;

        as_symbols_find(symbols, strtoull(line, NULL, 16), &s);
        printf("%s\t%s\t%llx\n", s.function ? s.function : "?", s.module ? s.module : "?",
               (unsigned long long)s.offset);
    }
    as_symbols_free(symbols);
    as_free(maps);
    return 0;
}
