/* tests/fuzz/fuzz_executable.c - any bytes as a program's file. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file/executable.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    struct as_executable program;

    if (fd < 0)
        fd = memfd_create("program", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        return 0;
    as_executable_read(&program, fd);
    if (!memchr(program.interpreter, '\0', sizeof program.interpreter))
        abort();
    if (program.kind == AS_EXECUTABLE_SCRIPT && program.same_machine)
        abort();
    return 0;
}
