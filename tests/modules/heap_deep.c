/* tests/modules/heap_deep.c - a module that is opened with deep binding: its malloc and free are
 * the C library's own, whoever stands before that. For tests/e2e/test_heap_untouched.sh. */
#include <stdlib.h>

__attribute__((visibility("default"))) void *heap_deep_make(size_t size);
__attribute__((visibility("default"))) void heap_deep_free(void *block);

void *heap_deep_make(size_t size)
{
    return malloc(size);
}

void heap_deep_free(void *block)
{
    free(block);
}
