/* tests/helpers/make_odd_run.c - records a run of an odd kind: make_odd_run KIND PATH [N].
 * Prints nothing; ends with status 1 and a sentence when the run could not be made. */
#include <assay/session.h>

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void pass_time(unsigned turns)
{
    for (volatile unsigned i = 0; i < turns; i++)
        ;
}

static void work(uint64_t n)
{
    struct assay_layer_info info = {sizeof info, "conv2d", "1x64x112x112", 2e9, 3e6};
    uint32_t conv = assay_layer("conv1"), channel = assay_channel("rss", "bytes");

    assay_layer_describe(conv, &info, NULL);
    assay_layer_set(conv, "kernel", "3x3 \"same\"", NULL);
    for (uint64_t i = 0; i < n; i++) {
        assay_iteration(i);
        assay_iteration_length(128 + i % 3);
        {
            ASSAY_PHASE_SCOPE(ASSAY_PHASE_FORWARD);
            ASSAY_SCOPE("block");
            assay_begin(conv);
            assay_note("loss", 1.0 / (double)(i + 1));
            pass_time(50);
            assay_end(conv);
            ASSAY_SCOPE("relu");
        }
        assay_sample(channel, (double)(4096 * i));
    }
    assay_iteration_end();
}

static void plain(uint64_t n)
{
    work(n);
}

static void hostile(uint64_t n)
{
    static const char *const name[] = {
        "\033[31mred\033[0m",
        "say \"hi\" \\ there",
        "two\nlines\r\tand tab",
        "bad \xff\xfe utf\x80",
        "a;b;c",
        "=1+1",
        "<script>alert(1)</script>",
        "größe 日本語",
        " lead and trail ",
        "",
        "comma, here",
        "\xe2\x80\xa8line\xe2\x80\xae",
    };
    char longest[3000];

    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    for (uint64_t i = 0; i < n; i++) {
        for (size_t k = 0; k < sizeof name / sizeof *name; k++) {
            uint32_t layer = assay_layer(name[k]);

            assay_begin(layer);
            assay_note(name[k], k ? (double)k : (double)NAN);
            assay_sample(assay_channel(name[k], name[k]), k == 1 ? (double)INFINITY : 0.5);
            assay_end(layer);
        }
        assay_begin(assay_layer(longest));
        assay_end(assay_layer(longest));
    }
}

static void unbalanced(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        ASSAY_BEGIN("outer");
        ASSAY_BEGIN("never closed");
        ASSAY_BEGIN("failing");
        ASSAY_END_FAILED("failing");
        ASSAY_END("outer");
        ASSAY_END("never begun");
        ASSAY_SWITCH("one");
        ASSAY_SWITCH("two");
        ASSAY_SWITCH_END();
    }
    assay_iteration(7);
    ASSAY_BEGIN("open at the end");
    ASSAY_BEGIN("and inside");
}

static void empty(uint64_t n)
{
    (void)n;
}

static void *work_on_thread(void *n)
{
    work(*(uint64_t *)n);
    return NULL;
}

static void threads(uint64_t n)
{
    pthread_t thread[20];
    size_t n_threads = sizeof thread / sizeof *thread;

    for (size_t i = 0; i < n_threads; i++)
        if (pthread_create(&thread[i], NULL, work_on_thread, &n) != 0)
            abort();
    for (size_t i = 0; i < n_threads; i++)
        pthread_join(thread[i], NULL);
}

static void deep(uint64_t n)
{
    uint32_t layer[2] = {assay_layer("even"), assay_layer("odd")};

    for (uint64_t i = 0; i < n; i++)
        assay_begin(layer[i & 1]);
    for (uint64_t i = n; i-- > 0;)
        assay_end(layer[i & 1]);
}

static void killed(uint64_t n)
{
    work(n);
    ASSAY_BEGIN("when it died");
    raise(SIGKILL);
}

static char ready[4096]; /* a file beside the run, made when `live` has recorded */

static void live(uint64_t n)
{
    FILE *f;

    work(n);
    f = fopen(ready, "w");
    if (f)
        fclose(f);
    pause();
}

/* Many spans a little apart, so that times have the usual number of digits. */
static void many(uint64_t n)
{
    static const char *const name[] = {"conv1/Conv", "bn1/BatchNormalization", "relu1/Relu",
                                       "layer1.0/conv1/Conv"};
    uint32_t layer[4], block = assay_layer("layer1.0");

    for (size_t i = 0; i < 4; i++)
        layer[i] = assay_layer(name[i]);
    for (uint64_t i = 0; i < n / 5; i++) {
        assay_begin(block);
        for (size_t k = 0; k < 4; k++) {
            assay_begin(layer[k]);
            assay_end(layer[k]);
        }
        assay_end(block);
    }
}

static const struct {
    const char *name;
    void (*record)(uint64_t n);
    enum assay_overflow overflow;
    uint32_t ring_kib;
} kinds[] = {
    {"plain", plain, ASSAY_OVERFLOW_WAIT, 0},
    {"hostile", hostile, ASSAY_OVERFLOW_WAIT, 0},
    {"unbalanced", unbalanced, ASSAY_OVERFLOW_WAIT, 0},
    {"empty", empty, ASSAY_OVERFLOW_WAIT, 0},
    {"threads", threads, ASSAY_OVERFLOW_WAIT, 0},
    {"deep", deep, ASSAY_OVERFLOW_WAIT, 0},
    {"killed", killed, ASSAY_OVERFLOW_WAIT, 0},
    {"live", live, ASSAY_OVERFLOW_WAIT, 0},
    {"many", many, ASSAY_OVERFLOW_WAIT, 4096},
    {"lossy", many, ASSAY_OVERFLOW_DROP, 128},
};

static int record(size_t kind, const char *path, uint64_t n)
{
    struct assay_session_options options = {.size = sizeof(struct assay_session_options)};
    struct assay_error err;

    snprintf(ready, sizeof ready, "%s.ready", path);
    options.label = kinds[kind].name;
    options.overflow = kinds[kind].overflow;
    options.ring_kib = kinds[kind].ring_kib;
    if (assay_session_open(path, &options, &err) < 0) {
        fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    kinds[kind].record(n);
    if (assay_session_close(&err) < 0) {
        fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t n = argc > 3 ? strtoull(argv[3], NULL, 10) : 10;

    for (size_t i = 0; argc > 2 && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(argv[1], kinds[i].name) == 0)
            return record(i, argv[2], n);
    fprintf(stderr, "usage: make_odd_run KIND PATH [N]\n");
    return 2;
}
