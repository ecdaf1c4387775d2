/* tests/helpers/model_heap_read.c - prints what a share says of a heap, one thing a line.
 * usage: model_heap_read SHARE [maps]; "kind SITE LAYER counts..." for each site */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "probe/heap/heap_watch.h"

static const char *const kind_name[] = {
    [AS_HEAP_MALLOC] = "malloc",
    [AS_HEAP_NEW] = "new",
    [AS_HEAP_MAPPING] = "mapping",
};

static void print_totals(const struct as_heap_totals *t, const struct as_shm_header *h)
{
    static const char *const state[] = {"empty", "attached", "ended", "execed", "quiet"};

    printf("program %s\nstate %s\n", h->program, h->state < 5 ? state[h->state] : "?");
    printf("allocations %lu\nfrees %lu\nallocated_bytes %lu\nfreed_bytes %lu\n", t->allocations,
           t->frees, t->allocated_bytes, t->freed_bytes);
    printf("live_bytes %lu\nlive_blocks %lu\nmapped_live_bytes %lu\npeak_bytes %lu\n",
           t->live_bytes, t->live_blocks, t->mapped_live_bytes, t->peak_bytes);
    printf("peak_slack_bytes %lu\nown_bytes %lu\nforeign_frees %lu\nunplaced %lu\niterations %lu\n",
           t->peak_slack_bytes, t->own_bytes, t->foreign_frees, t->unplaced, t->iterations);
    printf("inherited_frees %lu\nunseen_frees %lu\n", t->inherited_frees, t->unseen_frees);
    printf("peak_rss_bytes %lu\npeak_table_bytes %lu\n", h->peak_rss_bytes, h->peak_table_bytes);
    printf("sites %u\nthreads %u\nstacks %u\nlayers %u\nshare_bytes %lu\n", t->n_sites,
           t->n_threads, t->n_stacks, t->n_layers, t->share_bytes);
}

static int print_lists(struct as_heap_watch *watch, struct as_arena *arena, struct assay_error *err)
{
    struct as_heap_site *site;
    struct as_heap_stack *stack;
    struct as_heap_layer *layer;
    uint64_t *live;
    size_t n;

    if (as_heap_watch_sites(watch, arena, &site, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        printf("site %s %#lx layer=%s allocations=%lu frees=%lu bytes=%lu freed=%lu live=%lu "
               "blocks=%lu peak=%lu temporary=%lu same_layer=%lu\n",
               kind_name[site[i].kind], site[i].address, site[i].layer ? site[i].layer : "-",
               site[i].allocations, site[i].frees, site[i].allocated_bytes, site[i].freed_bytes,
               site[i].live_bytes, site[i].live_blocks, site[i].peak_live_bytes, site[i].temporary,
               site[i].same_layer);
    if (as_heap_watch_stacks(watch, arena, &stack, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        printf("stack samples=%lu allocations=%.0f bytes=%.0f live=%.0f blocks=%.0f layer=%s",
               stack[i].samples, stack[i].allocations, stack[i].allocated_bytes,
               stack[i].live_bytes, stack[i].live_blocks, stack[i].layer ? stack[i].layer : "-");
        for (uint32_t k = 0; k < stack[i].n_frames; k++)
            printf(" %#lx", stack[i].frame[k]);
        printf("\n");
    }
    if (as_heap_watch_layers(watch, arena, &layer, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        printf("layer %s calls=%lu peak=%lu net=%ld\n", layer[i].name, layer[i].calls,
               layer[i].peak_within_bytes, layer[i].net_bytes);
    if (as_heap_watch_iterations(watch, arena, &live, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        printf("mark %lu\n", live[i]);
    return 0;
}

int main(int argc, char **argv)
{
    struct as_arena arena = {0};
    struct as_heap_watch *watch = NULL;
    struct as_heap_totals totals;
    struct as_shm_header header;
    struct assay_error err = {0};
    int status = 1;

    if (argc < 2 || as_heap_watch_open(&watch, argv[1], &err) < 0 ||
        as_heap_watch_totals(watch, &totals, &err) < 0)
        goto out;
    as_heap_watch_header(watch, &header);
    print_totals(&totals, &header);
    if (print_lists(watch, &arena, &err) < 0)
        goto out;
    if (argc > 2 && as_heap_watch_maps(watch))
        fputs(as_heap_watch_maps(watch), stdout);
    status = 0;
out:
    if (status)
        fprintf(stderr, "model_heap_read: %s\n", err.msg);
    as_arena_fini(&arena);
    as_heap_watch_close(watch);
    return status;
}
