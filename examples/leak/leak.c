/* examples/leak - a slow leak among ordinary churn, found and named while the program runs.
 *
 * A server answers requests: it parses, computes, and remembers answers in a cache that nobody ever
 * empties. Each request takes and gives back far more memory than the few KiB the cache keeps.
 * Exit status 1: a leak was found. `--evict` empties the cache in time, and nothing is found. */
#include <assay/manager.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REQUESTS = 1500, BUCKETS = 512, WORDS = 900, KEPT_BYTES = 3000, MOST_KEPT = 40 };

struct answer {
    struct answer *next;
    unsigned key;
    char text[KEPT_BYTES];
};

struct server {
    struct answer *bucket[BUCKETS];
    struct answer *kept[MOST_KEPT]; /* a ring of the newest, when old ones are evicted */
    unsigned n;
    bool evict;
    struct assay_manager *manager;
};

static unsigned random_number(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Words of all lengths, each in memory of its own; all given back before the request is answered.
 */
static unsigned parse(struct server *s, uint32_t *seed)
{
    static char *word[WORDS];
    unsigned hash = 0;

    ASSAY_MANAGER_LAYER(s->manager, "parse");
    for (int i = 0; i < WORDS; i++) {
        size_t size = 8 + random_number(seed) % 400;

        word[i] = malloc(size);
        if (word[i])
            memset(word[i], (int)(size & 0x7f), size);
    }
    for (int i = 0; i < WORDS; i++) {
        hash = hash * 31 + (word[i] ? (unsigned char)word[i][0] : 0);
        free(word[i]);
    }
    return hash;
}

static double compute(struct server *s, unsigned hash)
{
    enum { SIDE = 96 };
    double sum = 0;
    double *scratch;

    ASSAY_MANAGER_LAYER(s->manager, "compute");
    scratch = malloc(sizeof *scratch * SIDE * SIDE);
    for (int i = 0; scratch && i < SIDE * SIDE; i++)
        scratch[i] = (double)((hash + (unsigned)i) % 17);
    for (int i = 0; scratch && i < SIDE; i++) {
        for (int k = 0; k < SIDE; k++)
            sum += scratch[i * SIDE + k] * scratch[k * SIDE + i];
    }
    free(scratch);
    return sum;
}

static void drop(struct server *s, struct answer *old)
{
    struct answer **at = &s->bucket[old->key % BUCKETS];

    while (*at != old)
        at = &(*at)->next;
    *at = old->next;
    free(old);
}

static void remember(struct server *s, unsigned key, double value)
{
    struct answer *a;

    ASSAY_MANAGER_LAYER(s->manager, "remember");
    a = malloc(sizeof *a);
    if (!a)
        return;
    a->key = key;
    memset(a->text, 0, sizeof a->text);
    snprintf(a->text, sizeof a->text, "%g", value);
    a->next = s->bucket[key % BUCKETS];
    s->bucket[key % BUCKETS] = a;
    if (s->evict && s->n >= MOST_KEPT)
        drop(s, s->kept[s->n % MOST_KEPT]);
    s->kept[s->n++ % MOST_KEPT] = a;
}

static void clear(struct server *s)
{
    for (int i = 0; i < BUCKETS; i++) {
        while (s->bucket[i]) {
            struct answer *next = s->bucket[i]->next;

            free(s->bucket[i]);
            s->bucket[i] = next;
        }
    }
}

/* How many layers leak, or a negative code. */
static int tell(struct assay_manager *m, struct assay_error *err)
{
    const struct assay_layer_leak *leak;
    int n = assay_manager_layer_leaks(m, &leak, err);

    for (int i = 0; i < n; i++)
        printf("%s leaks: %.2f KiB a request, %.2f MiB so far, p %s %.2g\n", leak[i].layer,
               leak[i].mb_per_step * 1024, leak[i].growth_mb, leak[i].p_value < 1e-6 ? "<" : "=",
               leak[i].p_value < 1e-6 ? 1e-6 : leak[i].p_value);
    if (n == 0)
        printf("no layer leaks\n");
    return n;
}

int main(int argc, char **argv)
{
    static const char *const profilers[] = {"layer", "leak"};
    struct assay_manager_options options = {.size = sizeof(struct assay_manager_options)};
    struct server *server = calloc(1, sizeof *server);
    struct assay_error err = {0};
    uint32_t seed = 3;
    int n = -1;

    if (!server || argc > 2 || (argc == 2 && strcmp(argv[1], "--evict") != 0)) {
        fprintf(stderr, "usage: leak [--evict]\n");
        free(server);
        return 2;
    }
    server->evict = argc == 2;
    options.profilers = profilers;
    options.n_profilers = 2;
    if (assay_manager_new(&server->manager, &options, &err) == 0 &&
        assay_manager_start(server->manager, &err) == 0) {
        for (unsigned i = 0; i < REQUESTS; i++) {
            unsigned hash;

            assay_manager_step(server->manager, i);
            hash = parse(server, &seed);
            remember(server, hash, compute(server, hash));
        }
        if (assay_manager_end(server->manager, &err) == 0)
            n = tell(server->manager, &err);
    }
    if (n < 0)
        fprintf(stderr, "leak: %s\n", err.msg);
    assay_manager_free(server->manager);
    clear(server);
    free(server);
    return n < 0 || fflush(stdout) != 0 ? 3 : n > 0;
}
