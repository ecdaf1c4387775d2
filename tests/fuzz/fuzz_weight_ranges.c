/* tests/fuzz/fuzz_weight_ranges.c - a model file of any bytes in memory: what is read and what is
 * mapped of it together are the file, whatever its headers say of where its weights are. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file/file_map.h"
#include "format/mapped_file.h"

enum { FILLER_BYTES = 300 << 10 }; /* what the input may call weights */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t filler[FILLER_BYTES];
    struct as_file_spans spans = {0};
    struct as_file_map map;
    int fd = memfd_create("model", MFD_CLOEXEC);

    as_file_map_guarded();
    if (fd < 0 || write(fd, data, size) != (ssize_t)size ||
        write(fd, filler, sizeof filler) != (ssize_t)sizeof filler)
        abort();
    if (!as_weight_ranges(&spans, fd, size + sizeof filler) ||
        as_file_map_open(&map, fd, size + sizeof filler, &spans, "model", NULL) < 0)
        abort();
    if (memcmp(map.bytes, data, size) != 0 || memcmp(map.bytes + size, filler, sizeof filler) != 0)
        abort();
    as_file_map_let_go(&map, 0, map.size);
    if (memcmp(map.bytes, data, size) != 0)
        abort();
    as_file_map_close(&map);
    close(fd);
    return 0;
}
