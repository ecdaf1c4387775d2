// tests/helpers/heap_containers.cpp - containers of the C++ library, for
// tests/e2e/test_heap_untouched.sh. Prints its peak RSS, or, with an argument, the blocks that
// operators of all forms were given.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <string>
#include <vector>

#include <malloc.h>

namespace
{
// Without a stream: its buffer would be one more block.
long peak_bytes()
{
    char line[256];
    long kib = 0;
    std::FILE *file = std::fopen("/proc/self/status", "r");

    while (file && std::fgets(line, sizeof line, file))
        if (std::strncmp(line, "VmHWM:", 6) == 0)
            kib = std::strtol(line + 6, nullptr, 10);
    if (file)
        std::fclose(file);
    return kib * 1024;
}

int blocks()
{
    for (std::size_t size = 0; size < 5000; size = size * 5 / 4 + 1) {
        std::printf("%zu", malloc_usable_size(::operator new(size)));
        std::printf(" %zu", malloc_usable_size(::operator new[](size, std::nothrow)));
        for (std::size_t align = 16; align <= 4096; align *= 4)
            std::printf(" %zu", malloc_usable_size(::operator new(size, std::align_val_t(align))));
        std::printf("\n");
    }
    return 0;
}
} // namespace

int main(int argc, char **)
{
    std::map<int, std::string> names;
    std::vector<std::vector<int>> lists;

    if (argc > 1)
        return blocks();
    for (int i = 0; i < 400000; i++) {
        names[i * 791 % 1000003] = std::string(static_cast<std::size_t>(i % 60), 'x');
        lists.emplace_back(static_cast<std::size_t>(i % 50), i);
    }
    for (int i = 0; i < 400000; i += 2)
        names.erase(i * 791 % 1000003);
    std::printf("%ld\n", peak_bytes());
    return names.size() + lists.size() > 0 ? 0 : 1;
}
