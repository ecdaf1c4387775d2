/* examples/distributed/distributed.c - four ranks of a training job whose times the program knows
 * already, from its own log say: which rank is slowest, what the imbalance costs and what talking
 * and waiting cost. cc distributed.c $(pkg-config --cflags --libs assay) */
#include <assay/assay.h>

int main(void)
{
    static const char *const rank[] = {"rank0", "rank1", "rank2", "rank3"};
    static const double seconds[] = {1.0, 1.1, 0.95, 1.6};
    const struct assay_distributed_result *result;
    struct assay_distributed *job;
    struct assay_error err;

    if (assay_distributed_new(&job, NULL, &err) < 0)
        return fprintf(stderr, "%s\n", err.msg), 1;
    for (int i = 0; i < 4; i++) {
        assay_distributed_node(job, rank[i], seconds[i]);
        assay_distributed_transfer(job, rank[i], rank[(i + 1) % 4], "all_reduce", 64 << 20, 0.05);
        assay_distributed_metric(job, rank[i], "batch_size", i == 3 ? 96 : 64);
    }
    assay_distributed_synchronize(job, "barrier", rank, 4, 0.4, 0.35);
    if (assay_distributed_analyze(job, &result, &err) < 0)
        return fprintf(stderr, "%s\n", err.msg), 1;
    printf("slowest %s, fastest %s, imbalance %.0f %%\n", result->load.slowest_node,
           result->load.fastest_node, 100 * result->load.max_over_mean);
    printf("communication %.1f %%, synchronization %.1f %% of the time of the ranks\n",
           result->communication.node_percent, result->synchronization.node_percent);
    for (size_t i = 0; i < result->n_bottlenecks; i++)
        printf("%s: %s\n", result->bottlenecks[i].type, result->bottlenecks[i].recommendation);
    assay_distributed_free(job);
    return 0;
}
