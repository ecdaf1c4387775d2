/* tests/helpers/model_tokens.c - runs a decoder token by token and prints what was measured:
 * model_tokens [-t THREADS] [-p PROMPT] [-n TOKENS] [-r REPEATS] [-b BATCH] [-l OUTPUT=INPUT]...
 * [-s INPUT NUMBER] [--reference] [--steps] MODEL */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/model_file.h"
#include "measure/tokens/token_run.h"
#include "model/zoo/zoo.h"

enum { MAX_GIVEN = 16 };

static int print_run(const struct as_token_run *run, bool steps)
{
    static const char *const kinds[] = {"cached", "fixed", "whole", "stream"};

    printf("kind %s batch %lld\n", kinds[run->kind], (long long)run->batch);
    printf("prompt %lld tokens in %zu runs: %.0f ns, %.1f tokens/s\n", (long long)run->prompt,
           run->prompt_runs, run->prompt_ns, run->prompt_tokens_per_s);
    printf("token median %.0f p95 %.0f first %.0f last %.0f ns, slope %.1f ns a token, %.1f "
           "tokens/s\n",
           run->median_ns, run->p95_ns, run->first_ns, run->last_ns, run->slope_ns,
           run->tokens_per_s);
    printf("shapes %.0f of %.0f ns\n", run->shapes_ns, run->profiled_ns);
    printf("cache %llu formula %llu peak %llu all %llu parameters %llu bytes\n",
           run->n_steps ? (unsigned long long)run->steps[run->n_steps - 1].cache_bytes : 0,
           (unsigned long long)run->formula_bytes, (unsigned long long)run->peak_cache_bytes,
           (unsigned long long)run->peak_bytes, (unsigned long long)run->parameter_bytes);
    printf("macs whole %llu cached %llu\n", (unsigned long long)run->whole_macs,
           (unsigned long long)run->cached_macs);
    for (size_t i = 0; steps && i < run->n_steps; i++)
        printf("step %lld %.0f %llu\n", (long long)run->steps[i].context, run->steps[i].ns,
               (unsigned long long)run->steps[i].cache_bytes);
    return 0;
}

int main(int argc, char **argv)
{
    struct as_token_options o = {.engine = {.threads = 1}};
    const char *given[MAX_GIVEN], *path = NULL;
    struct as_state_pairs pairs = {0};
    struct as_token_run run = {0};
    struct as_model *model = NULL;
    struct assay_error err = {0};
    struct as_arena arena = {0};
    struct as_infer_input number = {0};
    size_t n_given = 0;
    bool steps = false;
    int rc;

    for (int i = 1; i < argc; i++) {
        long value = i + 1 < argc ? strtol(argv[i + 1], NULL, 10) : 0;

        if (strcmp(argv[i], "--reference") == 0)
            o.engine.reference = true;
        else if (strcmp(argv[i], "--steps") == 0)
            steps = true;
        else if (argv[i][0] != '-')
            path = argv[i];
        else if (argv[i][1] == 'l' && n_given < MAX_GIVEN)
            given[n_given++] = argv[++i];
        else if (argv[i][1] == 's' && i + 2 < argc) {
            number.name = argv[i + 1];
            number.data = as_data_new(&arena, AS_DTYPE_I64, 1);
            if (!number.data)
                return 1;
            as_data_put_i64(number.data, 0, strtol(argv[i + 2], NULL, 10));
            o.engine.infer.inputs = &number;
            o.engine.infer.n_inputs = 1;
            i += 2;
        } else if (argv[i][1] == 't')
            o.engine.threads = (unsigned)value, i++;
        else if (argv[i][1] == 'p')
            o.prompt = value, i++;
        else if (argv[i][1] == 'n')
            o.tokens = value, i++;
        else if (argv[i][1] == 'r')
            o.repeats = (unsigned)value, i++;
        else if (argv[i][1] == 'b')
            o.batch = value, i++;
    }
    if (!path)
        return 2;
    rc = strncmp(path, "zoo:", 4) == 0 ? as_zoo_open(&model, path, &err)
                                       : as_model_open(&model, path, &err);
    if (rc == ASSAY_OK)
        rc = as_state_pairs_find(&pairs, model, given, n_given, &err);
    o.pairs = &pairs;
    for (size_t i = 0; steps && i < pairs.n; i++)
        printf("pair %s=%s\n", pairs.at[i].output, pairs.at[i].input);
    if (rc == ASSAY_OK)
        rc = as_token_run(&run, model, &o, &err);
    if (rc == ASSAY_OK)
        print_run(&run, steps);
    else
        fprintf(stderr, "%s\n", err.msg);
    as_token_run_fini(&run);
    as_state_pairs_fini(&pairs);
    as_model_free(model);
    as_arena_fini(&arena);
    return rc == ASSAY_OK ? 0 : 1;
}
