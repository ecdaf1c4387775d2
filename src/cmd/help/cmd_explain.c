/* cmd/help/cmd_explain.c - all of `assay explain`: what a term, a column or a rule means. */
#include <string.h>

#include "base/json/json_writer.h"
#include "base/text/csv.h"
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

static const struct as_opt explain_opts[] = {AS_OPTS_FORMAT(as_format_at), {.name = NULL}};

static bool is_asked(const struct as_cmd_line *line, const struct as_explained *e)
{
    return line->n_operands == 0 || as_explains(e, line->operand[0]);
}

/* The other names, each behind `before`. */
static void put_also(struct as_out *out, const char *also, const char *before)
{
    for (const char *at = also; at && *at;) {
        size_t size = strcspn(at, "|");

        as_out_printf(out, "%s%.*s", before, (int)size, at);
        at += size + (at[size] == '|');
    }
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
        put_also(&c->out, e->also, ", ");
        as_out_printf(&c->out, " (%s)\n", e->kind);
        as_put_wrapped(&c->out, e->meaning, 0, 2, c->term.width);
    }
}

static void put_heading(struct as_out *out, const char *heading, const char *column)
{
    as_out_printf(out, "\n## %s\n\n| %s | meaning |\n|---|---|\n", heading, column);
}

/* The glossary of the documentation: terms by group, then columns and rules. */
static void put_markdown(struct as_console *c, const struct as_cmd_line *line)
{
    static const struct {
        const char *kind, *heading;
        bool is_code;
    } groups[] = {{"term", NULL, false}, {"column", "Columns", false}, {"rule", "Rules", true}};

    as_out_printf(&c->out, "# Glossary\n\n`assay explain WORD` prints one of these definitions. "
                           "Formulas use the units of the JSON keys\n([fields.md](fields.md)).\n");
    for (size_t g = 0; g < AS_COUNT_OF(groups); g++) {
        const char *heading = NULL;
        struct as_explained space;
        const struct as_explained *e;

        for (size_t i = 0; (e = as_explained_at(i, &space)) != NULL; i++) {
            const char *own = groups[g].heading ? groups[g].heading : e->group;

            if (strcmp(e->kind, groups[g].kind) != 0 || !is_asked(line, e))
                continue;
            if (!heading || strcmp(heading, own) != 0)
                put_heading(&c->out, own, groups[g].kind);
            heading = own;
            /* Rules are identifiers. */
            as_out_printf(&c->out, "| %s%s%s", groups[g].is_code ? "`" : "", e->word,
                          groups[g].is_code ? "`" : "");
            put_also(&c->out, e->also, ", ");
            as_out_printf(&c->out, " | %s |\n", e->meaning);
        }
    }
}

static void put_csv(struct as_console *c, const struct as_cmd_line *line)
{
    struct as_csv_writer w = {.out = &c->out};
    struct as_explained space;
    const struct as_explained *e;

    as_csv_text(&w, "word");
    as_csv_text(&w, "kind");
    as_csv_text(&w, "meaning");
    as_csv_row_end(&w);
    for (size_t i = 0; (e = as_explained_at(i, &space)) != NULL; i++) {
        if (!is_asked(line, e))
            continue;
        as_csv_text(&w, e->word);
        as_csv_text(&w, e->kind);
        as_csv_text(&w, e->meaning);
        as_csv_row_end(&w);
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
        AS_JSON_FIELDS(&w, e, word, kind, group, meaning);
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
    else if (as_format_of(line) == AS_FORMAT_MARKDOWN)
        put_markdown(&console, line);
    else if (as_format_of(line) == AS_FORMAT_CSV)
        put_csv(&console, line);
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
    .knows_operand = as_is_explained,
    .run = run_explain,
};
