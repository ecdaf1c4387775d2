/* tests/helpers/heap_own_malloc.c - a program with a malloc of its own, which nobody may bypass.
 * Ends with 1 when a block of the C library's comes from elsewhere. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER 16u
#define EXPORT __attribute__((visibility("default")))

static _Alignas(16) char arena[1 << 22];
static size_t used;

EXPORT void *malloc(size_t size)
{
    size_t capacity = (size + 2 * HEADER - 1) & ~(size_t)(HEADER - 1);
    char *p = arena + used;

    if (capacity < size || capacity > sizeof arena - used)
        return NULL;
    used += capacity;
    memcpy(p, &size, sizeof size);
    return p + HEADER;
}

EXPORT void free(void *block)
{
    (void)block;
}

EXPORT void *calloc(size_t count, size_t size)
{
    return malloc(count * size); /* fresh: nothing is used twice */
}

EXPORT void *realloc(void *block, size_t size)
{
    char *p = malloc(size);
    size_t before = 0;

    if (p && block) {
        memcpy(&before, (char *)block - HEADER, sizeof before);
        memcpy(p, block, before < size ? before : size);
    }
    return p;
}

int main(void)
{
    char *volatile text = strdup("own");
    char *volatile more = reallocarray(text, 10, 10);

    return !(more >= arena && more < arena + sizeof arena && strcmp(more, "own") == 0);
}
