/* tests/fuzz/fuzz_target.c - any bytes as the data blocks of a program's run.
 * Input: blocks, each a byte for its kind, two for its size, then its JSON. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/watch/target_findings.h"
#include "watch/watch_fields.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const kinds[] = {
    AS_DATA_PROGRAM, AS_DATA_PROCESSES,  AS_DATA_HEAP,   AS_DATA_SITES, AS_DATA_STACKS,
    AS_DATA_LAYERS,  AS_DATA_ITERATIONS, AS_DATA_SERIES, AS_DATA_GEMM,  AS_DATA_FRAMES,
};
#define N_KINDS (sizeof kinds / sizeof *kinds)

/* Who allocates: shares of what the site has, and a text that has room. */
static void check_row(const struct as_target *p, const struct as_target_row *row)
{
    const struct as_target_caller *c = row->caller;
    char text[100];

    as_target_row_owner(p, row, text, sizeof text);
    if (strlen(text) >= sizeof text || row->place < p->place ||
        row->place >= p->place + p->n_places)
        abort();
    if (c && (!c->frame || !(c->share >= 0 && c->share <= 1.000001) ||
              !(c->live_share >= 0 && c->live_share <= 1.000001) || c->peak_share < 0 ||
              c->peak_share > 1.000001)) /* or NaN */
        abort();
}

static void check(const struct as_target *p)
{
    char text[100];

    if (!(p->wall_seconds >= 0))
        abort();
    for (size_t i = 0; i < p->n_processes; i++)
        if (!isfinite(p->process[i].start_seconds) ||
            (i && p->process[i].start_seconds < p->process[i - 1].start_seconds))
            abort();
    for (size_t i = 0; i < p->n_places; i++) {
        as_target_site_text(&p->place[i], text, sizeof text);
        if (strlen(text) >= sizeof text || !*as_heap_kind_name(p->place[i].site.kind))
            abort();
    }
    for (size_t i = 0; i < p->n_traces; i++)
        for (uint32_t k = 0; k < p->trace[i].n_frames; k++)
            if (!p->trace[i].frame[k])
                abort();
    for (size_t i = 0; i < p->n_rows; i++)
        check_row(p, &p->row[i]);
    for (size_t i = 0; i < p->n_gemm; i++)
        if (!memchr(p->gemm[i].shape, '\0', sizeof p->gemm[i].shape))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char path[] = "run";
    struct as_run_data block[64];
    struct as_run run = {.path = path, .data = block};
    struct as_target_findings *findings;
    struct as_target *program;

    while (size >= 3 && run.n_data < 64) {
        size_t n = data[1] | (size_t)data[2] << 8;

        n = n < size - 3 ? n : size - 3;
        block[run.n_data++] =
            (struct as_run_data){kinds[data[0] % N_KINDS], (const char *)data + 3, n};
        data += 3 + n;
        size -= 3 + n;
    }
    if (as_target_analyze(&program, &run, NULL) < 0)
        return 0;
    check(program);
    if (as_target_findings_new(&findings, program, NULL) < 0)
        abort();
    as_target_findings_free(findings);
    as_target_free(program);
    return 0;
}
