/* preload/clean_environment.c - takes what brought us here out of the program's environment.
 * Works on the array that main() will see, in place, before anybody has read it. */
#include "clean_environment.h"

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "trace/shm/target_shm.h"

#define PRELOAD    "LD_PRELOAD"
#define SEPARATORS ": "

/* The value when `entry` is "name=value", else NULL. */
static char *value_of(char *entry, const char *name)
{
    size_t size = strlen(name);

    return strncmp(entry, name, size) == 0 && entry[size] == '=' ? entry + size + 1 : NULL;
}

const char *as_environment_value(char *const *env, const char *name)
{
    for (; *env; env++) {
        const char *value = value_of(*env, name);

        if (value)
            return value;
    }
    return NULL;
}

static const char *base_name(const char *path, size_t *size)
{
    for (size_t i = *size; i > 0; i--) {
        if (path[i - 1] != '/')
            continue;
        *size -= i;
        return path + i;
    }
    return path;
}

/* The loader may have spelled the path otherwise than the variable does: the file's name decides.
 */
static bool is_ours(const char *entry, size_t size, const char *own_path)
{
    size_t own_size = strlen(own_path);
    const char *own = base_name(own_path, &own_size);

    entry = base_name(entry, &size);
    return size == own_size && memcmp(entry, own, size) == 0;
}

/* Takes our entry and one separator beside it out of a list. False: nothing else was in it. */
static bool cut_ours(char *list, const char *own_path)
{
    char *at = list;

    while (*at) {
        size_t size = strcspn(at, SEPARATORS);

        if (size > 0 && is_ours(at, size, own_path)) {
            char *rest = at + size;

            if (*rest)
                rest++;
            else if (at > list)
                at--;
            memmove(at, rest, strlen(rest) + 1);
            break;
        }
        at += size;
        at += *at != '\0';
    }
    return *list != '\0';
}

/* The auxiliary vector stands behind the environment, and programs look for it behind the NULL
 * (those in Go do): what is left between becomes entries of it that say nothing, each two words. */
static void fill_gap(char **from, char **to)
{
    for (; to - from >= 2; from += 2) {
        from[0] = (char *)(uintptr_t)AT_IGNORE;
        from[1] = NULL;
    }
}

void as_environment_clean(char **env, const char *own_path)
{
    char **to = env, **end = env;

    for (char **from = env; *from; from++) {
        char *list = value_of(*from, PRELOAD);

        end = from + 1;
        if (value_of(*from, AS_SHM_ENV_FOLDER) || value_of(*from, AS_SHM_ENV_OPTIONS) ||
            value_of(*from, AS_SHM_ENV_PAD))
            continue;
        if (list && own_path && !cut_ours(list, own_path))
            continue;
        *to++ = *from;
    }
    *to = NULL;
    fill_gap(to + 1, end + 1);
}
