/* tests/helpers/program_symbols.c - prints "function<TAB>module<TAB>offset" for each address read,
 * with --lines also "<TAB>function<TAB>file:line" for each function that is there, innermost first.
 * usage: program_symbols MAPS [--lines] <addresses, hexadecimal, one a line */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "probe/symbols/elf_symbols.h"

#define MAX_MAPS      (1u << 20)
#define MAX_ADDRESSES 65536u

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

static uint64_t address[MAX_ADDRESSES];

/* Names of damaged files may hold anything: a line stays a line. */
static void print_name(const char *name)
{
    for (; name && *name; name++)
        putchar((unsigned char)*name < ' ' ? '?' : *name);
}

static size_t read_addresses(void)
{
    char line[64];
    size_t n = 0;

    while (n < MAX_ADDRESSES && fgets(line, sizeof line, stdin))
        address[n++] = strtoull(line, NULL, 16);
    return n;
}

int main(int argc, char **argv)
{
    struct as_symbols *symbols = NULL;
    struct assay_error err;
    char *maps = argc > 1 ? read_all(argv[1]) : NULL;
    size_t n = read_addresses();

    if (!maps || as_symbols_new(&symbols, maps, "", &err) < 0 ||
        (argc > 2 && as_symbols_find_lines(symbols, address, n, &err) < 0))
        return 1;
    for (size_t i = 0; i < n; i++) {
        struct as_symbol s;

        as_symbols_find(symbols, address[i], &s);
        printf("%s\t%s\t%llx", s.function ? s.function : "?", s.module ? s.module : "?",
               (unsigned long long)s.offset);
        for (size_t k = 0; k < s.n_frames; k++) {
            putchar('\t');
            print_name(s.frame[k].function ? s.frame[k].function : "?");
            putchar('\t');
            print_name(s.frame[k].file ? s.frame[k].file : "?");
            printf(":%u", s.frame[k].line);
        }
        printf("\n");
    }
    as_symbols_free(symbols);
    as_free(maps);
    return 0;
}
