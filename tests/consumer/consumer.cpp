// tests/consumer/consumer.cpp - the same from C++17, with scopes closed by an exception too.
#include <assay/assay.h>
#include <assay/latency.h>

#include <cstdio>
#include <stdexcept>

static int work(int x)
{
    ASSAY_FUNCTION_SCOPE();
    ASSAY_SCOPE("throwing");
    if (x == 3)
        throw std::runtime_error("three");
    return x;
}

int main(int argc, char **argv)
{
    assay_error err;
    int sum = 0;

    if (argc != 2 || assay_session_open(argv[1], nullptr, &err) < 0)
        return 1;
    for (int i = 0; i < 10; i++) {
        ASSAY_SCOPE("outer");
        try {
            sum += ASSAY_CALL("call", work(i));
        } catch (const std::exception &) {
            ASSAY_BEGIN("handler");
            ASSAY_END("handler");
        }
    }
    if (assay_session_close(&err) < 0)
        return 1;
    std::printf("%d %s\n", sum, assay_version());
    return 0;
}
