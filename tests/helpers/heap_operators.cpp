// tests/helpers/heap_operators.cpp - C++ allocations in all forms, for
// tests/e2e/test_heap_counts.sh. Ends with 1 when an operator does not keep its promise: alignment,
// handler, exception.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <new>
#include <vector>

namespace
{
int handled;

void give_up()
{
    handled++;
    std::set_new_handler(nullptr);
}

struct alignas(128) wide {
    char byte[163];
};

template <std::size_t N> struct sized {
    char byte[N];
};

bool throws()
{
    volatile std::size_t huge = SIZE_MAX / 4;

    std::set_new_handler(give_up);
    try {
        ::operator delete(::operator new(huge));
    } catch (const std::bad_alloc &) {
        return handled == 1 && ::operator new(huge, std::nothrow) == nullptr;
    }
    return false;
}
} // namespace

int main()
{
    std::vector<sized<151> *> kept;
    bool good = true;

    kept.reserve(100);
    for (int i = 0; i < 100; i++)
        kept.push_back(new sized<151>);
    for (int i = 0; i < 90; i++)
        delete kept[static_cast<std::size_t>(i)];
    for (int i = 0; i < 20; i++) {
        char *volatile array = new char[157];
        void *volatile aligned = ::operator new(163, std::align_val_t(128));
        char *volatile nothrow = new (std::nothrow) char[167];
        wide *volatile object = new wide[3];

        good = good && reinterpret_cast<std::uintptr_t>(aligned) % 128 == 0 &&
               reinterpret_cast<std::uintptr_t>(object) % 128 == 0 && nothrow;
        delete[] array;
        ::operator delete(aligned, std::align_val_t(128));
        delete[] nothrow;
        delete[] object;
    }
    if (!good || !throws()) {
        std::fputs("heap_operators: an operator broke its promise\n", stderr);
        return 1;
    }
    return 0;
}
