/* tests/consumer/consumer.c - a program of somebody else: marks every way there is, from C11. */
#include <assay/assay.h>

#include <stdio.h>

static int triple(int x)
{
    ASSAY_FUNCTION_SCOPE();
    return 3 * x;
}

ASSAY_WRAP(int, timed_triple, triple, (int x), (x))

int main(int argc, char **argv)
{
    struct assay_session_options options = {.size = sizeof(struct assay_session_options)};
    struct assay_error err;
    uint32_t channel;
    double ms = -1;
    int sum = 0;

    options.label = "consumer";
    if (argc != 2 || assay_session_open(argv[1], &options, &err) < 0) {
        fprintf(stderr, "consumer: %s\n", argc == 2 ? err.msg : "give a path");
        return 1;
    }
    channel = assay_channel("temperature", "celsius");
    for (int i = 0; i < 10; i++) {
        assay_iteration((uint64_t)i);
        ASSAY_PHASE_SCOPE(ASSAY_PHASE_FORWARD);
        ASSAY_SCOPE_NAMED(outer, "outer");
        ASSAY_BEGIN("inner");
        sum += timed_triple(i);
        ASSAY_END("inner");
        sum += ASSAY_CALL("call", triple(i));
        ASSAY_SWITCH("first");
        ASSAY_SWITCH("second");
        ASSAY_SWITCH_END();
        assay_note("i", i);
        assay_sample(channel, 20.0 + i);
        if (i == 9)
            assay_scope_fail(&outer);
    }
    assay_iteration_end();
    ASSAY_TIMED("timed", &ms)
    {
        sum++;
    }
    if (assay_session_close(&err) < 0 || ms < 0)
        return 1;
    printf("%d %s\n", sum, assay_version());
    return 0;
}
