/* probe/process/process_runtime.c - which language's runtime a process is run by. */
#include "probe/process/process_runtime.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file/file_open.h"
#include "base/units.h"

enum {
    HEAD_BYTES = 16384,  /* of a program: the note of Go stands in front */
    MAPS_BYTES = 16384,  /* read at once */
    MAPS_MOST = 4 << 20, /* of the list of mappings */
    NAME_MOST = 32       /* of the names looked for */
};

static const struct {
    const char *in_maps;
    const char *runtime;
} libraries[] = {
    {"/libpython3", AS_RUNTIME_CPYTHON},
    {"/libjvm.so", AS_RUNTIME_JVM},
    {"/libnode.so", AS_RUNTIME_V8},
    {"/libv8.so", AS_RUNTIME_V8},
};

static bool begins_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* The note that the linker of Go puts into every program: "Go", of type 4. */
static bool is_go(const char *exe)
{
    static const unsigned char name[] = {4, 0, 0, 0, 'G', 'o', 0, 0}; /* type, name */
    unsigned char head[HEAD_BYTES];
    int fd = as_open(exe, O_RDONLY | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : pread(fd, head, sizeof head, 0);

    if (fd >= 0)
        close(fd);
    return n > 0 && memcmp(head, "\177ELF", 4) == 0 &&
           memmem(head, (size_t)n, name, sizeof name) != NULL;
}

static const char *by_program(const char *exe)
{
    char path[PATH_MAX];
    ssize_t n = readlink(exe, path, sizeof path - 1);
    const char *name;

    if (n <= 0)
        return NULL;
    path[n] = '\0';
    name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    if (begins_with(name, "python3") || begins_with(name, "python2") || strcmp(name, "python") == 0)
        return AS_RUNTIME_CPYTHON;
    if (strcmp(name, "node") == 0 || strcmp(name, "nodejs") == 0)
        return AS_RUNTIME_V8;
    return is_go(exe) ? AS_RUNTIME_GO : NULL;
}

static const char *by_libraries(const char *maps)
{
    char text[NAME_MOST + MAPS_BYTES];
    size_t kept = 0, total = 0;
    const char *found = NULL;
    int fd = as_open(maps, O_RDONLY | O_NONBLOCK);
    ssize_t n;

    if (fd < 0)
        return NULL;
    while (!found && total < MAPS_MOST && (n = read(fd, text + kept, MAPS_BYTES)) > 0) {
        size_t size = kept + (size_t)n;

        for (size_t i = 0; i < AS_COUNT_OF(libraries) && !found; i++)
            if (memmem(text, size, libraries[i].in_maps, strlen(libraries[i].in_maps)))
                found = libraries[i].runtime;
        total += (size_t)n;
        kept = size < NAME_MOST ? size : NAME_MOST; /* a name may be cut between two samples */
        memmove(text, text + size - kept, kept);
    }
    close(fd);
    return found;
}

const char *as_process_runtime(const char *root, int64_t pid)
{
    char path[PATH_MAX];
    const char *found = NULL;

    if (snprintf(path, sizeof path, "%s/proc/%lld/exe", root, (long long)pid) < (int)sizeof path)
        found = by_program(path);
    if (!found &&
        snprintf(path, sizeof path, "%s/proc/%lld/maps", root, (long long)pid) < (int)sizeof path)
        found = by_libraries(path);
    return found;
}
