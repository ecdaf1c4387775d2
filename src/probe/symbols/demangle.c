/* probe/symbols/demangle.c - C++ names as people write them, by the C++ library of the machine, and
 * Rust's. Without a library, and for what is no such name, there is no answer. */
#include "probe/symbols/elf_file.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "probe/symbols/demangle_rust.h"

/* A reference in a name repeats a part of it, which may itself hold references: three to a level
 * make a name three times longer. Thirty are at most 3^10 times a part; beyond that many, and after
 * a few names that did grow, the library is not asked. */
#define MAX_REFERENCES 30u
#define MAX_OVERSIZED  8u
#define OVERSIZED      65536u

void as_demangler_open(struct as_demangler *d)
{
    *d = (struct as_demangler){.library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL)};
    if (!d->library)
        return;
    /* A pointer to a function comes as one to an object: POSIX allows it, ISO C has no cast. */
    *(void **)&d->demangle = dlsym(d->library, "__cxa_demangle");
}

void as_demangler_close(struct as_demangler *d)
{
    if (d->library)
        dlclose(d->library);
    *d = (struct as_demangler){0};
}

static unsigned count_references(const char *name)
{
    unsigned n = 0;

    for (; *name; name++)
        n += (*name == 'S' || *name == 'T') &&
             (name[1] == '_' || (name[1] >= '0' && name[1] <= '9') ||
              (name[1] >= 'A' && name[1] <= 'Z'));
    return n;
}

/* The parts of "_ZN2at6native3addIfEE..." up to the first that is not a plain name, then "<...>".
 */
static bool show_outline(const char *name, char out[AS_DEMANGLE_MAX + 1])
{
    size_t used = 0;

    if (strncmp(name, "_ZN", 3) != 0)
        return false;
    name += 3;
    name += strspn(name, "rVKRO");
    if (strncmp(name, "St", 2) == 0) {
        used = (size_t)snprintf(out, AS_DEMANGLE_MAX + 1, "std");
        name += 2;
    }
    while (*name >= '1' && *name <= '9') {
        size_t size = 0;

        for (; *name >= '0' && *name <= '9' && size < AS_DEMANGLE_MAX; name++)
            size = 10 * size + (size_t)(*name - '0');
        if (strnlen(name, size) < size || size + used + sizeof "::<...>" > AS_DEMANGLE_MAX)
            return false;
        used += (size_t)snprintf(out + used, AS_DEMANGLE_MAX + 1 - used, "%s%.*s", used ? "::" : "",
                                 (int)size, name);
        name += size;
    }
    if (used == 0)
        return false;
    if (*name != 'E')
        (void)snprintf(out + used, AS_DEMANGLE_MAX + 1 - used, "<...>");
    return true;
}

bool as_demangle(struct as_demangler *d, const char *name, char out[AS_DEMANGLE_MAX + 1])
{
    char *shown;
    size_t size;
    int status = -1;

    if (as_demangle_rust(name, out, AS_DEMANGLE_MAX + 1))
        return true;
    if (!d->demangle || strncmp(name, "_Z", 2) != 0)
        return false;
    if (strlen(name) > AS_DEMANGLE_MAX - 2 || count_references(name) > MAX_REFERENCES ||
        d->oversized > MAX_OVERSIZED)
        return show_outline(name, out);
    shown = d->demangle(name, NULL, NULL, &status);
    if (!shown)
        return false;
    size = strlen(shown);
    d->oversized += size > OVERSIZED;
    if (size > AS_DEMANGLE_MAX)
        size = AS_DEMANGLE_MAX;
    memcpy(out, shown, size);
    out[size] = '\0';
    as_free(shown);
    return size > 0;
}
