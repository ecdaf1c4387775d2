/* cmd/common/each_model.c - a command that takes one model, over several of them: one comparison
 * table at the end. */
#include "cmd/common/each_model.h"

#include "base/alloc.h"
#include "cmd/common/forms.h"
#include "cmd/common/interrupt.h"

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
    for (int i = 0; i < line->n_operands && i < AS_MODELS_MAX && rc != ASSAY_ERR_USAGE; i++) {
        struct as_models_row *row = &table->row[table->n++];
        struct as_cmd_line one = *line;

        row->model = line->operand[i];
        one.operand += i;
        one.n_operands = 1;
        rc = step(&one, row, &row->error);
        if (rc >= 0)
            row->error.code = ASSAY_OK;
        else
            table->n_failed++;
        if (rc == ASSAY_ERR_USAGE)
            *err = row->error;
        if (as_interrupted())
            break;
    }
    if (rc != ASSAY_ERR_USAGE)
        rc = as_forms_print(&forms, line, err);
    if (rc >= 0 && table->n_failed > 0)
        rc = as_fail(err, ASSAY_ERR_UNSUPPORTED, "%zu of %zu models failed", table->n_failed,
                     table->n);
    as_models_table_fini(table);
    as_free(table);
    return as_interrupt_result(rc, err);
}
