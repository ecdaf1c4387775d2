/* tests/consumer/disabled.c - a program that uses only marks, macros and sessions: with
 * ASSAY_DISABLE it links without the library, in C and in C++, and runs the same. */
#include <assay/assay.h>
#include <assay/lock.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct assay_manager *manager;

static int work(int x)
{
    volatile int sum = x;

    ASSAY_FUNCTION_SCOPE();
    ASSAY_MANAGER_FUNCTION(manager);
    for (int i = 0; i < 100000; i++)
        sum = sum ^ i;
    return sum;
}

ASSAY_WRAP(int, wrapped, work, (int x), (x))
ASSAY_MANAGER_WRAP(int, managed, manager, work, (int x), (x))

static double returned(void)
{
    static double ms = -1;

    ASSAY_TIMED("returned", &ms)
    {
        work(1);
        return ms; /* still -1: it is stored as the block is left */
    }
    return ms;
}

int main(int argc, char **argv)
{
    struct assay_error err;
    double ms = -1, inner = -1, broken = -1;
    int sum = 0, n = 0;

    if (assay_session_open(argc > 1 ? argv[1] : "run.assay", NULL, &err) < 0)
        return 1;
    for (int i = 0; i < 3; i++) {
        ASSAY_SCOPE("outer");
        ASSAY_MANAGER_LAYER(manager, "outer");
        ASSAY_MANAGER_LAYER_NAMED(layer, manager, "named");
        ASSAY_LOCK(&mutex, "lock");
        ASSAY_LOCK_HELD_SCOPE("held");
        ASSAY_INSTANT("instant");
        assay_message("message");
        assay_async_begin("span", 1);
        assay_async_end("span", 1);
        assay_manager_scope_fail(&layer, "because");
        /* All of them nest on one line. */
        /* clang-format off */
        ASSAY_TIMED("o", &ms) ASSAY_TIMED("i", &inner) sum += ASSAY_CALL("a", ASSAY_CALL("b", work(ASSAY_MANAGER_CALL(manager, "c", ASSAY_MANAGER_CALL(manager, "d", wrapped(i))))));
        /* clang-format on */
        ASSAY_TIMED("broken", &broken)
        {
            sum += managed(i);
            if (i >= 0)
                break; /* ends the block, not the loop */
            n = 1000;
        }
        ASSAY_TIMED("continued", NULL)
        {
            if (i >= 0)
                continue; /* the same */
            n = 1000;
        }
        n++;
    }
    if (!(ms > 0) || !(inner > 0) || !(ms >= inner) || !(broken > 0) || n != 3)
        return printf("%g %g %g %d\n", ms, inner, broken, n), 2;
    if (returned() >= 0 || !(returned() > 0)) /* the second call sees what the first stored */
        return 3;
    if (pthread_mutex_trylock(&mutex) != 0)
        return 4;
    pthread_mutex_unlock(&mutex);
    (void)assay_version();
    (void)sum;
    return assay_session_close(&err) < 0 ? 5 : 0;
}
