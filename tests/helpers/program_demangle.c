/* tests/helpers/program_demangle.c - prints each line read as the name of a Rust function, or as it
 * is. */
#include <stdio.h>
#include <string.h>

#include "probe/symbols/demangle_rust.h"

int main(void)
{
    static char line[65536], out[65536];

    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        puts(as_demangle_rust(line, out, sizeof out) ? out : line);
    }
    return 0;
}
