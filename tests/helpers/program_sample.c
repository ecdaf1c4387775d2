/* tests/helpers/program_sample.c - writes the run of a program that never was.
 * usage: program_sample FILE [leaks|hostile|noheap|nonames|waits|marks|short|many]... */
#include "../unit/watch_kit.h"

static bool has(char **words, const char *word)
{
    for (; *words; words++)
        if (strcmp(*words, word) == 0)
            return true;
    return false;
}

static bool copy(const char *from, const char *to)
{
    FILE *in = fopen(from, "re"), *out = fopen(to, "we");
    char bytes[65536];
    bool fine = in && out;
    size_t n;

    while (fine && (n = fread(bytes, 1, sizeof bytes, in)) > 0)
        fine = fwrite(bytes, 1, n, out) == n;
    if (in)
        fclose(in);
    return (out ? fclose(out) == 0 : false) && fine;
}

int main(int argc, char **argv)
{
    struct program_kit how;
    struct kit kit;

    if (argc < 2)
        return 2;
    how = (struct program_kit){
        .leaks = has(argv + 2, "leaks"),
        .hostile = has(argv + 2, "hostile"),
        .no_heap = has(argv + 2, "noheap"),
        .no_names = has(argv + 2, "nonames"),
        .waits = has(argv + 2, "waits"),
        .marks = has(argv + 2, "marks"),
        .n_sites = has(argv + 2, "many") ? 5000 : 0,
        .seconds = has(argv + 2, "short") ? 0.3 : 0,
    };
    program_kit_make(&kit, &how);
    if (!copy(kit.path, argv[1]))
        return 1;
    kit_close(&kit);
    return 0;
}
