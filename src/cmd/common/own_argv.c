/* cmd/common/own_argv.c - the command line of this process as it was started.
 * Parsing reorders its own list of arguments; the system keeps them as they were. */
#include "cmd/common/console.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/file/file_open.h"

enum { MOST_BYTES = 1 << 16 };

static size_t read_all(char *out, size_t capacity)
{
    int fd = as_open("/proc/self/cmdline", O_RDONLY);
    size_t size = 0;
    ssize_t n;

    if (fd < 0)
        return 0;
    while (size < capacity && (n = read(fd, out + size, capacity - size)) > 0)
        size += (size_t)n;
    (void)close(fd);
    return size;
}

/* How many words beginning with `word` name the output: `-o X`, `-oX`, `--output X`, `--output=X`.
 */
static size_t output_words(const char *word, const char *next, const char *output)
{
    size_t size = output ? strlen(output) : 0, end = strlen(word);

    if (!output || word[0] != '-')
        return 0;
    if ((strcmp(word, "-o") == 0 || strcmp(word, "--output") == 0) && next &&
        strcmp(next, output) == 0)
        return 2;
    return (strncmp(word, "-o", 2) == 0 || strncmp(word, "--output=", 9) == 0) && end > size &&
           strcmp(word + end - size, output) == 0;
}

int as_own_argv(struct as_arena *arena, const char *output, const char ***words, size_t *n,
                struct assay_error *err)
{
    char *text = as_arena_zero(arena, MOST_BYTES + 1, 1);
    size_t size = text ? read_all(text, MOST_BYTES) : 0, count = 0, kept = 0;
    const char **list;

    *words = NULL;
    *n = 0;
    for (size_t i = 0; i < size; i++)
        count += i == 0 || text[i - 1] == '\0';
    list = as_arena_zero(arena, count + 1, sizeof *list);
    if (!text || !list)
        return as_fail_nomem(err);
    count = 0;
    for (size_t i = 0; i < size; i++)
        if (i == 0 || text[i - 1] == '\0')
            list[count++] = text + i;
    for (size_t i = 0; i < count;) {
        size_t passed = output_words(list[i], i + 1 < count ? list[i + 1] : NULL, output);

        if (passed == 0)
            list[kept++] = list[i];
        i += passed ? passed : 1;
    }
    *words = list;
    *n = kept;
    return ASSAY_OK;
}
