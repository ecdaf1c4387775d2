/* tests/fuzz/fuzz_journal.c - any bytes as the journal of a bench. The first byte chooses: the
 * bytes as they are, or lines that get their right checksum, so that what lies behind it is
 * reached. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "experiment/attention/attention_plan.h"

#define PLAN "{\"seed\":1}"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *file_path(void)
{
    static char path[64];

    if (!path[0])
        (void)snprintf(path, sizeof path, "/dev/shm/assay-fuzz-journal-%d", (int)getpid());
    return path;
}

static void put_line(FILE *f, const uint8_t *line, size_t size)
{
    (void)fwrite(line, 1, size, f);
    (void)fprintf(f, ",\"crc\":\"%08x\"}\n", as_crc32c(0, line, size));
}

static void put_file(const uint8_t *data, size_t size, bool checked)
{
    static const char head[] =
        "{\"schema\":\"assay.bench.journal\",\"schema_version\":1,\"plan\":" PLAN;
    FILE *f = fopen(file_path(), "wb");

    if (!f)
        abort();
    if (!checked)
        (void)fwrite(data, 1, size, f);
    else
        put_line(f, (const uint8_t *)head, sizeof head - 1);
    while (checked && size) {
        const uint8_t *end = memchr(data, '\n', size);
        size_t n = end ? (size_t)(end - data) : size;

        put_line(f, data, n);
        data += n + (end != NULL);
        size -= n + (end != NULL);
    }
    (void)fclose(f);
}

static void check_bench(const struct as_bench *bench)
{
    for (size_t i = 0; i < bench->n_settings; i++)
        for (size_t k = 0; k < bench->settings[i].n; k++) {
            const struct as_bench_sample *s = &bench->settings[i].samples[k];

            if (s->sample_id != k || s->setting != i || k >= bench->n_samples ||
                s->wall_ns == AS_BENCH_UNKNOWN || s->output_hash[64] != '\0')
                abort();
        }
}

static void read_plan(void)
{
    struct as_arena arena = {0};
    const struct as_json_value *plan = NULL;
    struct as_attention_plan attention;
    struct assay_attn_shape shape;

    if (as_journal_plan(file_path(), &arena, &plan, NULL) == ASSAY_OK &&
        as_attention_plan_read(&attention, as_json_get(plan, "attention"), NULL) == ASSAY_OK) {
        as_attention_shape(&attention, 0, &shape);
        if (shape.seq_len == 0 || shape.seq_len > 16384 || shape.heads % shape.kv_heads != 0)
            abort();
    }
    as_arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct as_journal journal;
    struct as_bench bench;
    struct assay_error err = {0};

    if (size == 0 || as_bench_init(&bench, "command", 3, NULL) < 0)
        return 0;
    bench.n_samples = 5;
    put_file(data + 1, size - 1, data[0] & 1);
    read_plan();
    if (as_journal_resume(&journal, file_path(), PLAN, as_bench_keep, &bench, &err) == ASSAY_OK) {
        if (as_journal_close(&journal, NULL) < 0)
            abort();
    } else if (!err.msg[0]) {
        abort();
    }
    check_bench(&bench);
    as_bench_fini(&bench);
    (void)unlink(file_path());
    return 0;
}
