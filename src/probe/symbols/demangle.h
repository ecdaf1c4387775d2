/* probe/symbols/demangle.h - C++ names as people write them, by the C++ library of the machine.
 * Without one, and for what is no such name, there is no answer. */
#ifndef AS_PROBE_SYMBOLS_DEMANGLE_H
#define AS_PROBE_SYMBOLS_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
