// tests/consumer/exceptions.cpp - scopes that an exception leaves end as failed, and only those.
#include <assay/session.h>

#include <cstdio>
#include <stdexcept>

static void work(bool fails)
{
    ASSAY_TRY_SCOPE("work");
    ASSAY_SCOPE("plain");
    if (fails)
        throw std::runtime_error("fails");
}

struct cleaner {
    // Runs while an exception is on its way: what ends in here did not fail.
    ~cleaner()
    {
        ASSAY_TRY_SCOPE("cleanup");
    }
};

int main(int argc, char **argv)
{
    if (argc != 2 || assay_session_open(argv[1], nullptr, nullptr) < 0)
        return 1;
    for (int i = 0; i < 10; i++) {
        assay::scope outer("outer"); // the exception does not leave it
        try {
            cleaner c;

            work(i % 5 == 0);
        } catch (const std::exception &) {
            assay::scope handler(assay_layer("handler"));

            handler.fail();
        }
    }
    return assay_session_close(nullptr) < 0;
}
