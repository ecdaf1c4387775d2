/* tests/helpers/model_gemm_read.c - prints the products in a share, most time first, a line each:
 * function dtype m n k batch calls flops time_ns min_ns max_ns shape. usage: model_gemm_read SHARE
 */
#include <inttypes.h>
#include <stdio.h>

#include "probe/heap/gemm_watch.h"

int main(int argc, char **argv)
{
    struct as_arena arena = {0};
    struct as_gemm_calls *calls;
    uint64_t unplaced;
    struct assay_error err;
    size_t n;

    if (argc != 2)
        return 2;
    if (as_gemm_watch_read(argv[1], &arena, &calls, &n, &unplaced, &err) < 0) {
        fprintf(stderr, "%s\n", err.msg);
        return 3;
    }
    for (size_t i = 0; i < n; i++)
        printf("%s\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
               "\t%.17g\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%s\n",
               calls[i].function, calls[i].dtype, calls[i].m, calls[i].n, calls[i].k,
               calls[i].batch, calls[i].calls, calls[i].flops, calls[i].time_ns, calls[i].min_ns,
               calls[i].max_ns, calls[i].shape);
    printf("unplaced\t%" PRIu64 "\n", unplaced);
    as_arena_fini(&arena);
    return 0;
}
