/* cmd/common/own_argv.c - the command line of this process as it was started.
 * Parsing reorders its own list of arguments; the system keeps them as they were. */
#include "cmd/common/console.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 16 };

static size_t read_all(char *out, size_t capacity)
{
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    size_t size = 0;
    ssize_t n;

    if (fd < 0)
        return 0;
    while (size < capacity && (n = read(fd, out + size, capacity - size)) > 0)
        size += (size_t)n;
    (void)close(fd);
    return size;
}

int as_own_argv(struct as_arena *arena, const char *const **words, size_t *n,
                struct assay_error *err)
{
    char *text = as_arena_zero(arena, MOST_BYTES + 1, 1);
    size_t size = text ? read_all(text, MOST_BYTES) : 0, count = 0;
    const char **list;

    *words = NULL;
    *n = 0;
    for (size_t i = 0; i < size; i++)
        count += i == 0 || text[i - 1] == '\0';
    list = as_arena_zero(arena, count + 1, sizeof *list);
    if (!text || !list)
        return as_fail_nomem(err);
    for (size_t i = 0; i < size; i++)
        if (i == 0 || text[i - 1] == '\0')
            list[(*n)++] = text + i;
    *words = list;
    return ASSAY_OK;
}
