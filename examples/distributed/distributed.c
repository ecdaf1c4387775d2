/* examples/distributed/distributed.c - four ranks of a training job, here threads with unequal
 * work, whose times the program feeds itself: which rank is slowest and what the imbalance costs.
 * cc distributed.c $(pkg-config --cflags --libs assay) */
#include <assay/assay.h>
#include <pthread.h>
#include <time.h>

enum { RANKS = 4 };

struct rank {
    const char *id;
    double share; /* of the usual work */
    double seconds;
};

/* CPU time, so that ranks which share a core do not count each other's. */
static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *train(void *arg)
{
    struct rank *rank = arg;
    volatile double sum = 0;
    double from = now();

    for (long i = 0; i < (long)(2e7 * rank->share); i++)
        sum += (double)i;
    rank->seconds = now() - from;
    return NULL;
}

int main(void)
{
    struct rank rank[RANKS] = {
        {"rank0", 1, 0}, {"rank1", 1.1, 0}, {"rank2", 0.95, 0}, {"rank3", 1.6, 0}};
    const struct assay_distributed_result *result;
    struct assay_distributed *job;
    struct assay_error err;
    pthread_t thread[RANKS];

    if (assay_distributed_new(&job, NULL, &err) < 0)
        return fprintf(stderr, "%s\n", err.msg), 1;
    for (int i = 0; i < RANKS; i++) {
        if (pthread_create(&thread[i], NULL, train, &rank[i]) != 0)
            return fprintf(stderr, "no thread for %s\n", rank[i].id), 1;
    }
    for (int i = 0; i < RANKS; i++) {
        struct assay_node_profile profile = {.size = sizeof profile};

        pthread_join(thread[i], NULL);
        profile.total_seconds = rank[i].seconds;
        if (assay_distributed_add_node(job, rank[i].id, &profile, &err) < 0)
            return fprintf(stderr, "%s\n", err.msg), 1;
    }
    if (assay_distributed_analyze(job, &result, &err) < 0)
        return fprintf(stderr, "%s\n", err.msg), 1;
    printf("slowest %s, fastest %s, imbalance %.0f %%, %s\n", result->load.slowest_node,
           result->load.fastest_node, 100 * result->load.max_over_mean,
           result->load.is_balanced ? "balanced" : "not balanced");
    for (size_t i = 0; i < result->n_findings; i++)
        printf("%s: %s\n", result->findings[i].target ? result->findings[i].target : "job",
               result->findings[i].finding ? result->findings[i].finding
                                           : result->findings[i].action);
    assay_distributed_free(job);
    return 0;
}
