/* tests/helpers/make_run.c - records a run with known contents, for the scripts in tests/e2e.
 * make_run FILE WHAT...: each WHAT adds what the table below says; "kill" never closes it. */
#include <assay/session.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static _Thread_local volatile unsigned sink;

/* Work that takes time but gives nothing. */
static void spin(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        sink += i;
}

static void leaf(const char *name, unsigned n)
{
    uint32_t layer = assay_layer(name);

    assay_begin(layer);
    spin(n);
    assay_end(layer);
}

static void make_nested(void)
{
    for (unsigned i = 0; i < 250; i++) {
        ASSAY_SCOPE("block");

        leaf("conv1", 4000);
        leaf("relu1", 300);
        {
            ASSAY_SCOPE("attention");

            leaf("qkv", 2500 + (i % 10) * 150);
            leaf("softmax", 900);
        }
        leaf("tiny", 1);
    }
}

static void describe(const char *name, const char *op, double flops)
{
    struct assay_layer_info info = {
        .size = sizeof info, .op = op, .shape = "1x64x56x56", .flops = flops, .bytes = flops / 4};

    assay_layer_describe(assay_layer(name), &info, NULL);
    assay_layer_set(assay_layer(name), "author", "a test", NULL);
}

static void make_described(void)
{
    describe("conv1", "conv2d", 24000);
    describe("qkv", "matmul", 18000);
    leaf("conv1", 4000);
    leaf("qkv", 2500);
}

static void *thread_main(void *name)
{
    for (unsigned i = 0; i < 20; i++) {
        ASSAY_SCOPE("worker");

        leaf(name, 500);
    }
    return NULL;
}

static void make_threads(void)
{
    static char name[3][16] = {"shard0", "shard1", "shard2"};
    pthread_t thread[3];

    for (int i = 0; i < 3; i++)
        pthread_create(&thread[i], NULL, thread_main, name[i]);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
}

static void make_failed(void)
{
    for (int i = 0; i < 5; i++) {
        ASSAY_SCOPE_NAMED(scope, "fragile");

        spin(1000);
        if (i % 2)
            assay_scope_fail(&scope);
    }
}

static void make_phases(void)
{
    for (int i = 0; i < 10; i++) {
        {
            ASSAY_PHASE_SCOPE(ASSAY_PHASE_DATA);
            spin(500);
        }
        {
            ASSAY_PHASE_SCOPE(ASSAY_PHASE_FORWARD);
            leaf("linear", 2000);
        }
        {
            ASSAY_PHASE_SCOPE(ASSAY_PHASE_BACKWARD);
            leaf("linear_grad", 4000);
        }
        {
            ASSAY_PHASE_SCOPE(ASSAY_PHASE_OPTIMIZER);
            spin(800);
        }
    }
}

static void make_iterations(void)
{
    for (unsigned i = 0; i < 240; i++) {
        assay_iteration(i);
        assay_iteration_length(i % 2 ? 128 : 512);
        leaf("decode", i == 0 ? 400000 : i % 2 ? 3000 : 9000);
    }
    assay_iteration_end();
}

/* The same steps; in the slow ones matmul does thirty times the work. */
static void make_steps_of(unsigned matmul)
{
    for (unsigned i = 0; i < 300; i++) {
        assay_iteration(i);
        leaf("matmul", matmul);
        leaf("norm", 2000);
    }
    assay_iteration_end();
}

static void make_steps(void)
{
    make_steps_of(3000);
}

static void make_slow_steps(void)
{
    make_steps_of(90000);
}

static void make_calls(void)
{
    for (unsigned i = 0; i < 300; i++)
        leaf("matmul", 3000);
}

/* So long in all that no pause of the quick ones comes near it. */
static void make_slow_calls(void)
{
    for (unsigned i = 0; i < 300; i++)
        leaf("matmul", 900000);
}

static void make_channels(void)
{
    uint32_t rss = assay_channel("rss", "bytes"), power = assay_channel("power", "watts");

    for (int i = 0; i < 50; i++) {
        assay_sample(rss, 1e8 + i * 1e5);
        assay_sample(power, 12.5 + (i % 7) * 0.25);
    }
}

static void make_notes(void)
{
    for (int i = 0; i < 3; i++) {
        ASSAY_SCOPE("noted");

        assay_note("tokens", -1);
        assay_note("tokens", 16 * i); /* the last word wins */
        assay_note("memory_usage", 0.5 + i);
        spin(400);
    }
}

static void make_hostile(void)
{
    static const char *const name[] = {
        "\x1b[31mred\x1b[0m",
        "rtl\xe2\x80\xae"
        "cod.exe",
        "a|b|c",
        "with,comma \"quoted\"",
        "=cmd|' /C calc'!A0",
        "<script>alert(1)</script>",
        "new\nline",
        "bad\xff\xfe"
        "utf8",
        "\xc3\xa9t\xc3\xa9 \xe6\xbc\xa2",
        "[link](javascript:alert(1))",
        "*bold* _it_ `code`",
        "@SUM(A1)",
        "bell\x07\x9b"
        "31m",
    };

    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        leaf(name[i], 200);
    assay_sample(assay_channel("\x1b]0;owned\x07", "un|it\x1b[1m"), 1);
}

static void make_unbalanced(void)
{
    uint32_t a = assay_layer("never_ended"), b = assay_layer("never_begun");

    {
        ASSAY_SCOPE("outer");
        assay_begin(a);
        spin(100);
    }
    assay_end(b);
    spin(100);
}

static void make_many(void)
{
    char name[48];

    for (int i = 0; i < 60; i++) {
        snprintf(name, sizeof name, "layer_%02d/with/a/long/path", i);
        leaf(name, (unsigned)(100 + 50 * i));
    }
}

static void make_kill(void)
{
    ASSAY_SCOPE("train");
    ASSAY_SCOPE("step");

    for (int i = 0; i < 100; i++)
        leaf("inner", 500);
    kill(getpid(), SIGKILL);
}

/* Stays alive, recording, until somebody ends it. */
static void make_live(void)
{
    leaf("so_far", 1000);
    puts("live");
    fflush(stdout);
    for (;;)
        pause();
}

static void make_nothing(void)
{
}

static const struct {
    const char *name;
    void (*make)(void);
} part[] = {
    {"nested", make_nested},     {"described", make_described},
    {"threads", make_threads},   {"failed", make_failed},
    {"phases", make_phases},     {"iterations", make_iterations},
    {"channels", make_channels}, {"notes", make_notes},
    {"hostile", make_hostile},   {"unbalanced", make_unbalanced},
    {"many", make_many},         {"kill", make_kill},
    {"live", make_live},         {"nothing", make_nothing},
    {"steps", make_steps},       {"slow_steps", make_slow_steps},
    {"calls", make_calls},       {"slow_calls", make_slow_calls},
};

static int make(const char *what)
{
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        if (strcmp(part[i].name, what) == 0) {
            part[i].make();
            return 0;
        }
    }
    fprintf(stderr, "make_run: no '%s'\n", what);
    return 2;
}

int main(int argc, char **argv)
{
    struct assay_session_options options = {.size = sizeof(struct assay_session_options)};
    struct assay_error err;
    int rc = 0;

    if (argc < 3) {
        fprintf(stderr, "make_run FILE WHAT...\n");
        return 2;
    }
    options.label = getenv("MAKE_RUN_LABEL");
    if (assay_session_open(argv[1], &options, &err) < 0) {
        fprintf(stderr, "make_run: %s\n", err.msg);
        return 1;
    }
    for (int i = 2; i < argc && rc == 0; i++)
        rc = make(argv[i]);
    if (assay_session_close(&err) < 0) {
        fprintf(stderr, "make_run: %s\n", err.msg);
        return 1;
    }
    return rc;
}
