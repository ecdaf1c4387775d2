/* cmd/common/measure_options.c - the options by which a user says how a model is run and measured.
 * Every mistake is answered with what would be right. */
#include "cmd/common/measure_options.h"

#include <stdlib.h>
#include <string.h>

#include "base/text/text.h"

const char *as_kernels_at(size_t i)
{
    static const char *const words[] = {"auto", "reference"};

    return i < 2 ? words[i] : NULL;
}

const char *as_fill_at(size_t i)
{
    return i < AS_INPUTS_COUNT ? as_input_fill_name((enum as_input_fill)i) : NULL;
}

int as_max_isa_read(const struct as_cmd_line *line, struct assay_error *err)
{
    const char *text = as_opt_text(line, "max-isa");
    enum as_isa isa = AS_ISA_COUNT;

    if (text && !as_isa_parse(text, &isa))
        return as_isa_fail("--max-isa", text, err);
    as_isa_cap(isa);
    return as_isa_check_environment(err);
}

static int read_files(struct as_run_options *o, const struct as_cmd_line *line,
                      struct assay_error *err)
{
    const char *text;
    size_t n = 0;

    for (; (text = as_opt_list_at(line, "input", n)) != NULL; n++) {
        const char *equals = strchr(text, '=');

        if (n == AS_MAX_INPUT_FILES)
            return as_fail(err, ASSAY_ERR_USAGE, "--input can be given %d times",
                           AS_MAX_INPUT_FILES);
        if (equals && (equals == text || !equals[1]))
            return as_fail(err, ASSAY_ERR_USAGE, "--input is NAME=FILE, not '%.60s'", text);
        o->files[n].path = equals ? equals + 1 : text;
        o->files[n].name = equals ? as_arena_text(&o->arena, text, (size_t)(equals - text)) : NULL;
        if (equals && !o->files[n].name)
            return as_fail_nomem(err);
    }
    o->inputs.files = o->files;
    o->inputs.n_files = n;
    return ASSAY_OK;
}

static int read_threads(struct as_run_options *o, const struct as_cmd_line *line,
                        const struct as_topology *topology, struct assay_error *err)
{
    const char *text = as_opt_text(line, "threads");
    uint64_t n;

    o->engine.threads = as_topology_threads(topology);
    if (!text)
        return ASSAY_OK;
    o->threads_auto = strcmp(text, "auto") == 0;
    if (o->threads_auto)
        return ASSAY_OK;
    if (!as_parse_u64(text, strlen(text), &n) || n < 1)
        return as_fail(err, ASSAY_ERR_USAGE,
                       "--threads is a number of threads from 1 on, or auto, not '%.40s'", text);
    if (n > topology->n_usable)
        return as_fail(err, ASSAY_ERR_USAGE, "--threads %.40s: this process may use %u CPU%s", text,
                       topology->n_usable, topology->n_usable == 1 ? "" : "s");
    o->engine.threads = (unsigned)n;
    return ASSAY_OK;
}

int as_run_options_read(struct as_run_options *o, const struct as_cmd_line *line,
                        const struct as_topology *topology,
                        const struct as_memory_headroom *headroom, struct assay_error *err)
{
    const char *time = as_opt_text(line, "time");
    int rc;

    if (time && (!as_parse_f64(time, strlen(time), &o->latency.time_s) ||
                 !(o->latency.time_s > 0) || o->latency.time_s > 86400))
        return as_fail(err, ASSAY_ERR_USAGE,
                       "--time is a number of seconds above 0 and below 86400, not '%.40s'", time);
    rc = read_threads(o, line, topology, err);
    if (rc < 0)
        return rc;
    o->latency.runs = (unsigned)as_opt_number(line, "iterations", 0);
    o->latency.warmup_runs = (unsigned)as_opt_number(line, "warmup", 0);
    o->latency.no_warmup = as_opt_given(line, "warmup") && o->latency.warmup_runs == 0;
    o->engine.no_fuse = as_opt_given(line, "no-fuse");
    o->engine.reference = as_opt_word(line, "kernels", 0) == 1;
    o->engine.limit_bytes = headroom->left.why ? 0 : headroom->left.value;
    o->inputs.fill = (enum as_input_fill)as_opt_word(line, "fill", AS_INPUTS_RANDOM);
    o->inputs.seed = as_opt_number(line, "seed", 0);
    o->engine.seed = o->inputs.seed;
    return read_files(o, line, err);
}

void as_run_options_fini(struct as_run_options *options)
{
    as_arena_fini(&options->arena);
}

void as_run_environment(void)
{
    (void)setenv("OMP_WAIT_POLICY", "passive", 0);
    (void)setenv("GOMP_SPINCOUNT", "0", 0);
}
