/* cmd/help/cmd_explain.c - all of `assay explain`: what a term, a column or a rule means. */
#include <string.h>

#include "base/json/json_writer.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/common/console.h"
#include "cmd/help/explain_words.h"
#include "cmd/help/help_text.h"

static const char *word_at(size_t i)
{
    struct as_explained space;
    const struct as_explained *e = as_explained_at(i, &space);

    return e ? e->word : NULL;
}

static const struct as_opt explain_opts[] = {AS_OPTS_FORMAT(as_format_plain_at), {.name = NULL}};

static bool is_asked(const struct as_cmd_line *line, const struct as_explained *e)
{
    return line->n_operands == 0 || strcmp(line->operand[0], e->word) == 0;
}

static void put_list(struct as_console *c)
{
    static const struct {
        const char *kind, *heading;
    } groups[] = {{"term", "Terms"}, {"column", "Columns"}, {"rule", "Rules"}};

    for (size_t g = 0; g < AS_COUNT_OF(groups); g++) {
        struct as_explained space;
        const struct as_explained *e;

        as_term_put(&c->term, &c->out, AS_STYLE_HEADING, groups[g].heading);
        as_out_char(&c->out, '\n');
        for (size_t i = 0; (e = as_explained_at(i, &space)) != NULL; i++)
            if (strcmp(e->kind, groups[g].kind) == 0)
                as_put_entry(&c->out, e->word, e->meaning, c->term.width);
        as_out_char(&c->out, '\n');
    }
}

static void put_text(struct as_console *c, const struct as_cmd_line *line)
{
    struct as_explained space;
    const struct as_explained *e;

    if (line->n_operands == 0) {
        put_list(c);
        return;
    }
    for (size_t i = 0; (e = as_explained_at(i, &space)) != NULL; i++) {
        if (!is_asked(line, e))
            continue;
        as_term_put(&c->term, &c->out, AS_STYLE_HEADING, e->word);
        as_out_printf(&c->out, " (%s)\n", e->kind);
        as_put_wrapped(&c->out, e->meaning, 0, 2, c->term.width);
    }
}

static int put_json(struct as_console *c, const struct as_cmd_line *line, struct assay_error *err)
{
    struct as_explained space;
    const struct as_explained *e;
    struct as_json_writer w;

    as_json_writer_init(&w, &c->out, 2);
    as_json_object(&w);
    as_json_kv_text(&w, "schema", "assay.explain");
    as_json_kv_u64(&w, "schema_version", 1);
    as_json_kv_array(&w, "words");
    for (size_t i = 0; (e = as_explained_at(i, &space)) != NULL; i++) {
        if (!is_asked(line, e))
            continue;
        as_json_object(&w);
        AS_JSON_FIELDS(&w, e, word, kind, meaning);
        as_json_object_end(&w);
    }
    as_json_array_end(&w);
    as_json_object_end(&w);
    as_out_char(&c->out, '\n');
    return as_json_writer_finish(&w, err);
}

static int run_explain(const struct as_cmd_line *line, struct assay_error *err)
{
    struct as_console console;
    int rc = as_console_open(&console, line, err);

    if (rc < 0)
        return rc;
    if (as_format_of(line) == AS_FORMAT_JSON)
        rc = put_json(&console, line, err);
    else
        put_text(&console, line);
    return as_console_close(&console, rc, err);
}

static const struct as_example explain_examples[] = {
    {"assay explain roofline", "what % of roofline means"},
    {"assay explain far-below-roof", "what a recommendation rests on, and what to do"},
    {"assay explain", "all terms, columns and rules"},
    {NULL, NULL},
};

const struct as_cmd as_cmd_explain = {
    .name = "explain",
    .summary = "explain a term, a column or a rule of a page",
    .usage = "assay explain [options] [TERM | COLUMN | RULE]",
    .examples = explain_examples,
    .opts = explain_opts,
    .operand = "TERM, COLUMN or RULE",
    .max_operands = 1,
    .operand_at = word_at,
    .run = run_explain,
};
