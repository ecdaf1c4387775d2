/* cmd/common/each_model.c - a command that takes one model, over several of them: one comparison
 * table at the end. */
#include "cmd/common/each_model.h"

#include "base/alloc.h"
#include "cmd/common/forms.h"
#include "cmd/common/interrupt.h"

int as_one_model_only(const struct as_cmd_line *line, const char *const *options,
                      struct assay_error *err)
{
    if (line->n_operands < 2)
        return ASSAY_OK;
    for (; *options; options++)
        if (as_opt_given(line, *options))
            return as_fail(err, ASSAY_ERR_USAGE,
                           "--%s is for one model, and %d were given: give them one by one",
                           *options, line->n_operands);
    return ASSAY_OK;
}

/* The row of operand `i`. */
static int take_model(struct as_models_table *table, const struct as_cmd_line *line, int i,
                      as_model_step step)
{
    struct as_models_row *row = &table->row[table->n++];
    struct as_cmd_line one = *line;
    int rc;

    row->model = line->operand[i];
    if (table->interrupted)
        return as_fail(&row->error, ASSAY_ERR_STATE, "not measured: interrupted");
    one.operand += i;
    one.n_operands = 1;
    rc = step(&one, row, &row->error);
    if (rc >= 0)
        row->error.code = ASSAY_OK;
    else
        table->n_failed++;
    if (as_interrupted())
        table->interrupted = row->interrupted = true;
    return rc;
}

int as_each_model(const struct as_cmd_line *line, const char *schema, bool profiled,
                  as_model_step step, struct assay_error *err)
{
    struct as_models_table *table = as_alloc_zero(1, sizeof *table);
    const struct as_forms forms = {.of = table,
                                   .page = as_models_table_page,
                                   .json = as_models_table_json,
                                   .csv = as_models_table_csv};
    int rc = ASSAY_OK;

    if (!table)
        return as_fail_nomem(err);
    table->schema = schema;
    table->profiled = profiled;
    for (int i = 0; i < line->n_operands && i < AS_MODELS_MAX; i++) {
        rc = take_model(table, line, i, step);
        if (i == 0 && rc == ASSAY_ERR_USAGE) { /* most likely of the options */
            *err = table->row[0].error;
            goto out;
        }
    }
    rc = as_forms_print(&forms, line, err);
    if (rc >= 0 && table->n_failed > 0 && !table->interrupted)
        rc = as_fail(err, ASSAY_ERR_UNSUPPORTED, "%zu of %zu models failed", table->n_failed,
                     table->n);
out:
    as_models_table_fini(table);
    as_free(table);
    return as_interrupt_result(rc, err);
}
