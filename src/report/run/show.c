/* report/run/show.c - shows a run, of whatever kind, as text, Markdown, JSON or CSV. */
#include "report/run/show.h"

#include <stdio.h>
#include <string.h>

#include "analyze/run/run_document.h"
#include "base/units.h"
#include "report/page/page.h"
#include "report/run/interrupted.h"

#define KINDS(X)                                                                                   \
    X(trace)                                                                                       \
    X(watch)                                                                                       \
    X(profile)                                                                                     \
    X(machine)                                                                                     \
    X(operations)                                                                                  \
    X(overhead)                                                                                    \
    X(sweep)                                                                                       \
    X(bench)                                                                                       \
    X(manager)

#define X(name) extern const struct as_run_kind as_kind_##name;
KINDS(X)
#undef X

enum {
#define X(name) KIND_##name,
    KINDS(X)
#undef X
        N_KINDS
};

static const struct as_run_kind *const kinds[N_KINDS] = {
#define X(name) [KIND_##name] = &as_kind_##name,
    KINDS(X)
#undef X
};

const struct as_run_kind *as_run_kind_at(size_t i)
{
    return i < N_KINDS ? kinds[i] : NULL;
}

const struct as_run_kind *as_run_kind_of(struct as_run *run, struct assay_error *err)
{
    const char *name = as_run_kind(run);
    const struct as_run_kind *kind;

    for (size_t i = 0; (kind = as_run_kind_at(i)) != NULL; i++)
        if (strcmp(kind->name, name) == 0)
            return kind;
    (void)as_fail(err, ASSAY_ERR_UNSUPPORTED,
                  "%s is a run of kind \"%.40s\", which is unknown to this version: update assay",
                  run->path, name);
    return NULL;
}

static bool has_word(const char *word, const char *(*word_at)(size_t i))
{
    const char *known;

    for (size_t i = 0; word_at && (known = word_at(i)) != NULL; i++)
        if (strcmp(known, word) == 0)
            return true;
    return false;
}

static int check_word(const struct as_run_kind *kind, const char *option, const char *word,
                      const char *(*word_at)(size_t i), struct assay_error *err)
{
    char list[160] = "";
    size_t used = 0;
    const char *known;

    if (!word || has_word(word, word_at) || (strcmp(word, "all") == 0 && word_at))
        return ASSAY_OK;
    if (!word_at)
        return as_fail(err, ASSAY_ERR_USAGE, "--%s %s: a run of kind \"%s\" has no such choice",
                       option, word, kind->name);
    for (size_t i = 0; (known = word_at(i)) != NULL && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", known);
    return as_fail(err, ASSAY_ERR_USAGE, "--%s %s: a run of kind \"%s\" has %s%s", option, word,
                   kind->name, list, used >= sizeof list ? "..." : "");
}

/* Options that only recorded layers have a use for. */
static int check_options(const struct as_run_kind *kind, const struct as_show *show,
                         struct assay_error *err)
{
    const struct {
        const char *option;
        bool given;
    } of_calls[] = {
        {"classic", show->classic},
        {"thread", show->thread >= 0},
        {"unit", show->unit != AS_TIME_AUTO},
        {"percentile", show->percentile > 0},
        {"leak-threshold", show->leak_threshold_mb > 0},
        {"leak-window", show->leak_window > 0},
        {"fail-on-leak", show->fail_on_leak},
        {"columns", show->n_columns > 0},
    };

    for (size_t i = 0; !kind->has_calls && i < AS_COUNT_OF(of_calls); i++)
        if (of_calls[i].given)
            return as_fail(err, ASSAY_ERR_USAGE, "--%s: a run of kind \"%s\" does not have it",
                           of_calls[i].option, kind->name);
    return ASSAY_OK;
}

static const struct as_run_kind *check(struct as_run *run, const struct as_show *show,
                                       struct assay_error *err)
{
    const struct as_run_kind *kind = as_run_kind_of(run, err);
    int rc =
        kind ? check_word(kind, "sort", show->sort, kind->sort_at, err) : ASSAY_ERR_UNSUPPORTED;

    if (rc == ASSAY_OK)
        rc = check_options(kind, show, err);
    for (size_t i = 0; rc == ASSAY_OK && i < show->n_sections; i++)
        rc = check_word(kind, "section", show->section[i], kind->section_at, err);
    for (size_t i = 0; rc == ASSAY_OK && i < show->n_columns; i++)
        rc = check_word(kind, "columns", show->column[i], kind->column_at, err);
    return rc == ASSAY_OK ? kind : NULL;
}

/* The first line of the page of a measurement that was ended early. */
static int mark_interrupted(struct as_run *run, const struct as_show *show, struct as_out *out,
                            const struct as_term *term, struct assay_error *err)
{
    struct as_interrupted_fact fact;
    struct as_page page;
    char text[120];

    if (!as_interrupted_get(run, &fact))
        return ASSAY_OK;
    as_interrupted_text(&fact, text);
    as_page_open(&page, out, term, show->markdown);
    as_page_line(&page, AS_STYLE_WARN, "%s: a partial result", text);
    as_out_char(out, '\n');
    return as_page_close(&page, err);
}

static void put_interrupted(struct as_json_writer *w, struct as_run *run)
{
    struct as_interrupted_fact fact;

    if (!as_interrupted_get(run, &fact))
        return;
    as_json_kv_bool(w, "interrupted", true);
    as_json_kv_object(w, "interrupted_after");
    as_json_kv_u64(w, "done", fact.done);
    as_json_key(w, "planned");
    if (fact.planned)
        as_json_u64(w, fact.planned);
    else
        as_json_null(w);
    as_json_kv_text(w, "unit", fact.unit);
    as_json_object_end(w);
}

int as_show_page(struct as_run *run, const struct as_show *show, struct as_out *out,
                 const struct as_term *term, struct assay_error *err)
{
    struct assay_error why = {0};
    const struct as_run_kind *kind = check(run, show, &why);

    run->redacted = show->redact || show->markdown;
    if (kind && !kind->has_calls && as_run_what_is_broken(run))
        as_out_printf(out, "! the run %s: the page shows its intact part\n",
                      as_run_what_is_broken(run));
    if (kind) {
        int rc = mark_interrupted(run, show, out, term, err);

        return rc < 0 ? rc : kind->page(run, show, out, term, err);
    }
    if (err)
        *err = why;
    return why.code;
}

int as_show_json(struct as_run *run, const struct as_show *show, struct as_out *out,
                 struct assay_error *err)
{
    struct assay_error why = {0};
    const struct as_run_kind *kind = check(run, show, &why);
    struct as_json_writer w;
    char schema[64];
    int rc, done;

    run->redacted = show->redact;
    if (!kind) {
        if (err)
            *err = why;
        return why.code;
    }
    (void)snprintf(schema, sizeof schema, "assay.%s", kind->name);
    as_json_writer_init(&w, out, 2);
    as_json_object(&w);
    as_json_kv_text(&w, "schema", schema);
    as_json_kv_u64(&w, "schema_version", kind->schema_version);
    if (as_run_what_is_broken(run))
        as_json_kv_text(&w, "run_warning", as_run_what_is_broken(run));
    put_interrupted(&w, run);
    rc = kind->json(run, show, &w, err);
    done = rc < 0 ? rc : as_run_embed(&w, run, err);
    if (done < 0)
        return done;
    as_json_object_end(&w);
    as_out_char(out, '\n');
    done = as_json_writer_finish(&w, err);
    return done < 0 ? done : rc;
}

int as_show_roofline(struct as_run *run, const struct as_show *show, struct as_out *out,
                     struct assay_error *err)
{
    const struct as_run_kind *kind = as_run_kind_of(run, err);

    if (!kind)
        return err ? err->code : ASSAY_ERR_UNSUPPORTED;
    if (!kind->roofline)
        return as_fail(err, ASSAY_ERR_UNSUPPORTED, "a %s run has no roofline; a profile has one",
                       kind->name);
    return kind->roofline(run, show, out, err);
}

static int write_metrics(struct as_csv_writer *w, const void *of, struct assay_error *err)
{
    const struct as_metrics *metrics = of;

    (void)err;
    as_csv_text(w, "metric");
    as_csv_text(w, "unit");
    as_csv_text(w, "value");
    as_csv_row_end(w);
    for (size_t i = 0; i < metrics->rows.n; i++) {
        const struct as_metric *m = &((const struct as_metric *)metrics->rows.at)[i];

        as_csv_name(w, m->name);
        as_csv_text(w, m->unit);
        if (strcmp(m->unit, "ns") == 0)
            as_csv_ns(w, m->value);
        else
            as_csv_f64(w, m->value);
        as_csv_row_end(w);
    }
    return ASSAY_OK;
}

static int put_metrics(struct as_run *run, const struct as_run_kind *kind,
                       const struct as_csv_target *to, struct assay_error *err)
{
    struct as_metrics metrics = {.no_memory = false};
    int rc = kind->metrics(run, &metrics, err);

    if (rc == ASSAY_OK && metrics.no_memory)
        rc = as_fail_nomem(err);
    if (rc == ASSAY_OK)
        rc = as_csv_target_open(to, err);
    if (rc == ASSAY_OK)
        rc = as_csv_target_put(to, "metrics.csv", write_metrics, &metrics, err);
    as_metrics_fini(&metrics);
    return rc < 0 ? rc : 1;
}

int as_show_csv(struct as_run *run, const struct as_show *show, const struct as_csv_target *to,
                struct assay_error *err)
{
    struct assay_error why = {0};
    const struct as_run_kind *kind = check(run, show, &why);

    run->redacted = show->redact;
    if (kind && kind->csv)
        return kind->csv(run, show, to, err);
    if (kind && kind->metrics)
        return put_metrics(run, kind, to, err);
    if (kind)
        return as_fail(err, ASSAY_ERR_USAGE,
                       "a run of kind \"%s\" has no table for CSV; its formats are text, json and "
                       "markdown",
                       kind->name);
    if (err)
        *err = why;
    return why.code;
}

int as_show_met(struct as_run *run, const struct as_show *show, struct assay_error *err)
{
    const struct as_run_kind *kind = as_run_kind_of(run, err);

    if (!kind)
        return ASSAY_ERR_UNSUPPORTED;
    return kind->met ? kind->met(run, show, err) : ASSAY_OK;
}

/* What as_show_json() writes around the members of every document. */
struct envelope {
    const char *schema, *run_file, *run_file_reason;
    uint64_t schema_version;
};

static const struct as_json_field envelope_fields[] = {
    AS_FIELD_HELP(struct envelope, schema, NULL, "the name of this schema"),
    AS_FIELD_HELP(struct envelope, schema_version, NULL, NULL),
};

static const struct as_json_field tail_fields[] = {
    AS_FIELD_HELP(struct envelope, run_file, NULL,
                  "the run that the document was made from, in base64"),
};
static const struct as_json_shape head_shape = AS_SHAPE(struct envelope, envelope_fields);
static const struct as_json_shape tail_shape = AS_SHAPE(struct envelope, tail_fields);

/* As put_interrupted() writes it: a plan may be unknown. */
struct interrupted {
    uint64_t done;
    double planned;
    const char *unit;
};
static const struct as_json_field interrupted_fields[] = {
    AS_FIELD_HELP(struct interrupted, done, NULL, "measured until then"),
    AS_FIELD_HELP(struct interrupted, planned, NULL, "null: unknown in advance"),
    AS_FIELD_HELP(struct interrupted, unit, NULL, "what is counted"),
};
static const struct as_json_shape interrupted_shape =
    AS_SHAPE(struct interrupted, interrupted_fields);

int as_show_schema(const struct as_run_kind *kind, struct as_out *out, struct assay_error *err)
{
    const struct as_json_field fields[] = {
        {.kind = AS_FIELD_OBJECT, .shape = &head_shape},
        {.kind = AS_FIELD_OBJECT, .shape = kind->document},
        {.kind = AS_FIELD_OBJECT, .shape = &tail_shape},
        {.key = "run_warning",
         .kind = AS_FIELD_TEXT,
         .optional = true,
         .help = "the run is not complete"},
        {.key = "interrupted",
         .kind = AS_FIELD_BOOL,
         .optional = true,
         .help = "the measurement ended early; interrupted_after is its progress"},
        {.key = "interrupted_after",
         .kind = AS_FIELD_OBJECT,
         .shape = &interrupted_shape,
         .optional = true,
         .help = "completed part of the plan"},
        {.key = "run_file_reason",
         .kind = AS_FIELD_TEXT,
         .optional = true,
         .help = "why it is unavailable"},
    };
    const struct as_json_shape whole = AS_SHAPE(struct envelope, fields);
    struct as_json_writer w;
    char title[64];

    (void)snprintf(title, sizeof title, "assay.%s", kind->name);
    as_json_writer_init(&w, out, 2);
    as_json_object(&w);
    as_json_kv_text(&w, "$schema", "https://json-schema.org/draft/2020-12/schema");
    as_json_kv_text(&w, "title", title);
    as_json_kv_u64(&w, "version", kind->schema_version);
    as_json_fields_schema_put(&w, &whole);
    as_json_object_end(&w);
    as_out_char(out, '\n');
    return as_json_writer_finish(&w, err);
}

unsigned as_show_word(const char *word, const char *(*word_at)(size_t i), unsigned usual)
{
    const char *known;

    for (unsigned i = 0; word && (known = word_at(i)) != NULL; i++)
        if (strcmp(known, word) == 0)
            return i;
    return usual;
}

uint32_t as_show_sections(const struct as_show *show, const char *(*word_at)(size_t i))
{
    uint32_t bits = 0;

    for (size_t i = 0; i < show->n_sections; i++) {
        if (strcmp(show->section[i], "all") == 0)
            return UINT32_MAX;
        bits |= UINT32_C(1) << (as_show_word(show->section[i], word_at, 0) % 32);
    }
    return bits;
}
