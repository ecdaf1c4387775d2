/* analyze/watch/target_diff.c - what changed between two runs of `assay run`. Rows of both runs are
 * put into one list, and those of one name become one. */
#include "analyze/watch/target_diff.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"

#define NAME_BYTES 400

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct as_target_diff_row *)a)->name,
                  ((const struct as_target_diff_row *)b)->name);
}

/* What one run does not have counts as nothing there. */
static double apart(const struct as_target_diff_row *r)
{
    double a = isnan(r->value[0]) ? 0 : r->value[0], b = isnan(r->value[1]) ? 0 : r->value[1];

    return fabs(b - a);
}

static int by_change(const void *a, const void *b)
{
    double x = apart(a), y = apart(b);

    if (x > y || x < y)
        return x < y ? 1 : -1;
    return by_name(a, b);
}

static double sum_of(double a, double b)
{
    return isnan(a) ? b : isnan(b) ? a : a + b;
}

static void join(struct as_target_diff_row *to, const struct as_target_diff_row *from)
{
    for (int k = 0; k < 2; k++) {
        to->value[k] = sum_of(to->value[k], from->value[k]);
        to->count[k] = sum_of(to->count[k], from->count[k]);
        to->largest[k] = fmax(to->largest[k], from->largest[k]); /* the one that is a number */
    }
}

static void join_all(struct as_target_diff_list *list)
{
    size_t kept = 0;

    if (list->n == 0)
        return;
    qsort(list->row, list->n, sizeof *list->row, by_name);
    for (size_t i = 1; i < list->n; i++) {
        if (strcmp(list->row[kept].name, list->row[i].name) == 0)
            join(&list->row[kept], &list->row[i]);
        else
            list->row[++kept] = list->row[i];
    }
    list->n = kept + 1;
    qsort(list->row, list->n, sizeof *list->row, by_change);
}

/* A row of run `k`; its name is copied. */
static bool add(struct as_target_diff *d, struct as_target_diff_list *list, int k, const char *name,
                const double figures[3])
{
    const double nan = AS_UNKNOWN;
    struct as_target_diff_row *row = &list->row[list->n];

    *row = (struct as_target_diff_row){
        .value = {nan, nan}, .count = {nan, nan}, .largest = {nan, nan}};
    row->name = as_arena_text(&d->arena, name, strlen(name));
    row->value[k] = figures[0];
    row->count[k] = figures[1];
    row->largest[k] = figures[2];
    list->n++;
    return row->name != NULL;
}

/* Without the offset: another build has another one. */
static bool add_sites(struct as_target_diff *d, const struct as_target *t, int k)
{
    char name[NAME_BYTES];
    bool ok = true;

    for (size_t i = 0; i < t->n_places && ok; i++) {
        const struct as_target_site *p = &t->place[i];
        const struct as_heap_site *s = &p->site;
        double held = p->peak_known ? (double)s->peak_live_bytes : (double)s->live_bytes;

        if (p->function)
            (void)snprintf(name, sizeof name, "%.240s (%.120s)%s", p->function,
                           p->module ? p->module : "?",
                           s->kind == AS_HEAP_MAPPING ? ", mapped" : "");
        else
            (void)snprintf(name, sizeof name, "0x%llx (%.120s)%s", (unsigned long long)p->offset,
                           p->module ? p->module : "?",
                           s->kind == AS_HEAP_MAPPING ? ", mapped" : "");
        ok = add(d, &d->sites, k, name,
                 (double[]){held, (double)s->allocations, (double)s->allocated_bytes});
    }
    return ok;
}

static bool add_products(struct as_target_diff *d, const struct as_target *t, int k)
{
    char name[NAME_BYTES];
    bool ok = true;

    for (size_t i = 0; i < t->n_gemm && ok; i++) {
        const struct as_gemm_calls *c = &t->gemm[i];

        (void)snprintf(name, sizeof name, "%s %s %s", c->function ? c->function : "?",
                       c->dtype ? c->dtype : "?", c->shape);
        ok = add(d, &d->products, k, name,
                 (double[]){(double)c->time_ns, (double)c->calls, (double)c->max_ns});
    }
    return ok;
}

static double known(struct as_fact fact)
{
    return fact.why ? AS_UNKNOWN : (double)fact.value;
}

static bool add_processes(struct as_target_diff *d, const struct as_target *t, int k)
{
    bool ok = true;

    for (size_t i = 0; i < t->n_processes && ok; i++) {
        const struct as_process_row *r = &t->process[i];

        ok = add(d, &d->processes, k, r->name ? r->name : "?",
                 (double[]){known(r->cpu_user_ns) + known(r->cpu_system_ns), 1,
                            known(r->peak_rss_bytes)});
    }
    return ok;
}

static bool reserve(struct as_target_diff *d, struct as_target_diff_list *list, size_t n)
{
    list->row = as_arena_zero(&d->arena, n + 1, sizeof *list->row);
    return list->row != NULL;
}

int as_target_diff_new(struct as_target_diff **out, const struct as_target *a,
                       const struct as_target *b, struct assay_error *err)
{
    struct as_target_diff *d = as_alloc_zero(1, sizeof *d);
    const struct as_target *run[2] = {a, b};
    bool ok;

    *out = NULL;
    if (!d)
        return as_fail_nomem(err);
    ok = reserve(d, &d->sites, a->n_places + b->n_places) &&
         reserve(d, &d->products, a->n_gemm + b->n_gemm) &&
         reserve(d, &d->processes, a->n_processes + b->n_processes);
    for (int k = 0; k < 2 && ok; k++)
        ok = add_sites(d, run[k], k) && add_products(d, run[k], k) && add_processes(d, run[k], k);
    if (!ok) {
        as_target_diff_free(d);
        return as_fail_nomem(err);
    }
    join_all(&d->sites);
    join_all(&d->products);
    join_all(&d->processes);
    *out = d;
    return ASSAY_OK;
}

void as_target_diff_free(struct as_target_diff *diff)
{
    if (!diff)
        return;
    as_arena_fini(&diff->arena);
    as_free(diff);
}
