/* bench/make_run.c - a run of a given number of scopes, as a network of 50 layers would leave it;
 * nothing is lost. usage: bench-make-run RUN.assay SCOPES */
#include <assay/session.h>

#include <stdio.h>
#include <stdlib.h>

enum { LAYERS = 50 };

int main(int argc, char **argv)
{
    struct assay_session_options options = {.size = sizeof(struct assay_session_options)};
    uint32_t layer[LAYERS];
    struct assay_error err;
    long scopes = argc == 3 ? strtol(argv[2], NULL, 10) : 0;

    options.overflow = ASSAY_OVERFLOW_WAIT;
    if (scopes < 5 || assay_session_open(argv[1], &options, &err) < 0) {
        fprintf(stderr, "bench-make-run: %s\n",
                scopes < 5 ? "usage: bench-make-run RUN.assay SCOPES" : err.msg);
        return 3;
    }
    for (int i = 0; i < LAYERS; i++) {
        char name[32];

        snprintf(name, sizeof name, "block%d/conv", i);
        layer[i] = assay_layer(name);
    }
    for (long i = 0; i < scopes / 5; i++) {
        if (i % 1000 == 0)
            assay_iteration((uint64_t)(i / 1000));
        assay_begin(layer[i % LAYERS]);
        for (int k = 1; k < 5; k++) {
            assay_begin(layer[(i + k) % LAYERS]);
            assay_end(layer[(i + k) % LAYERS]);
        }
        assay_end(layer[i % LAYERS]);
    }
    if (assay_session_close(&err) < 0) {
        fprintf(stderr, "bench-make-run: %s\n", err.msg);
        return 3;
    }
    return 0;
}
