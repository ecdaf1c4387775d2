/* bench/marks_shared.c - what a mark costs through libassay-trace.so: as a call, and inline against
 * its variables. usage: bench-marks-shared RUN.assay */
#include <assay/session.h>

#include <stdio.h>

#include "floor.h"

static uint32_t layer;

static void loop_call(unsigned pairs)
{
    for (unsigned i = 0; i < pairs; i++) {
        assay_layer_begin(layer);
        assay_layer_end(layer);
    }
}

static void loop_inline(unsigned pairs)
{
    for (unsigned i = 0; i < pairs; i++) {
        ASSAY_SCOPE("bench");
    }
}

int main(int argc, char **argv)
{
    struct bench_variant variant[] = {{.name = "2 x rdtsc", .loop = bench_loop_rdtsc, .scale = 1},
                                      {.name = "called in the .so", .loop = loop_call},
                                      {.name = "inline against the .so", .loop = loop_inline}};
    struct assay_session_options options = {.size = sizeof(struct assay_session_options)};
    struct assay_error err;

    options.ring_kib = 1024;
    if (argc != 2 || assay_session_open(argv[1], &options, &err) < 0) {
        fprintf(stderr, "bench-marks-shared: %s\n", argc == 2 ? err.msg : "give the run to write");
        return 3;
    }
    layer = assay_layer("called");
    bench_pin(1);
    bench_run(variant, 3);
    bench_fact("scope_shared_call", variant[1].median_ns, "ns");
    bench_line("scope_shared_call_vs_two_rdtsc", bench_ratio(&variant[1], &variant[0]), "x", 1.5,
               1);
    bench_line("scope_shared_inline_vs_two_rdtsc", bench_ratio(&variant[2], &variant[0]), "x", 1.5,
               1);
    return assay_session_close(&err) < 0 ? 3 : 0;
}
