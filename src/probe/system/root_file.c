/* probe/system/root_file.c - small text files of the kernel, beneath a root that tests can replace.
 * Their text is not trusted: it is cut at the room given, and numbers are parsed whole or not. */
#include "probe/system/root_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/file/file_open.h"
#include "base/text/text.h"

bool as_root_read(const char *root, const char *path, char *out, size_t capacity)
{
    char full[PATH_MAX];
    size_t size = 0;
    ssize_t n;
    int fd;

    out[0] = '\0';
    if (snprintf(full, sizeof full, "%s%s", root, path) >= (int)sizeof full)
        return false;
    fd = as_open(full, O_RDONLY | O_NONBLOCK);
    if (fd < 0)
        return false;
    while (size < capacity - 1 && (n = read(fd, out + size, capacity - 1 - size)) > 0)
        size += (size_t)n;
    close(fd);
    if (size > 0 && out[size - 1] == '\n')
        size--;
    out[size] = '\0';
    return size > 0;
}

struct as_fact as_root_u64(const char *root, const char *path, const char *why)
{
    char text[64];
    uint64_t value;

    if (!as_root_read(root, path, text, sizeof text) || !as_parse_u64(text, strlen(text), &value))
        return as_fact_none(why);
    return as_fact_of(value);
}

const char *as_text_field(const char *text, const char *key, size_t *size)
{
    size_t key_size = strlen(key);

    while (text) {
        const char *end = strchr(text, '\n');

        if (strncmp(text, key, key_size) == 0) {
            const char *at = text + key_size + strspn(text + key_size, " \t");

            if (*at == ':') {
                at++;
                at += strspn(at, " \t");
                *size = end ? (size_t)(end - at) : strlen(at);
                return at;
            }
        }
        text = end ? end + 1 : NULL;
    }
    return NULL;
}

bool as_text_field_u64(const char *text, const char *key, uint64_t *out)
{
    size_t size;
    const char *at = as_text_field(text, key, &size);

    return at && as_text_word_u64(&at, out);
}

bool as_text_field_kib(const char *text, const char *key, uint64_t *out_bytes)
{
    uint64_t kib;

    return as_text_field_u64(text, key, &kib) && as_mul_u64(kib, 1024, out_bytes);
}

bool as_text_field_copy(const char *text, const char *key, char *out, size_t capacity)
{
    size_t size;
    const char *at = as_text_field(text, key, &size);

    out[0] = '\0';
    if (!at || size == 0)
        return false;
    if (size > capacity - 1)
        size = capacity - 1;
    memcpy(out, at, size);
    out[size] = '\0';
    return true;
}

const char *as_text_word(const char **at, size_t *size)
{
    const char *word = *at + strspn(*at, " \t");

    *size = strcspn(word, " \t\n");
    *at = word + *size;
    return *size ? word : NULL;
}

bool as_text_word_u64(const char **at, uint64_t *out)
{
    size_t size;
    const char *word = as_text_word(at, &size);

    return word && as_parse_u64(word, size, out);
}
