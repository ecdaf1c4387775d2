/* report/session/session_select.c - the JSON of a session as it was written, or the sections and
 * rows of it that were asked for. Values stand as they are in the file; only what is left out
 * differs. */
#include <string.h>

#include "base/units.h"
#include "report/session/session_report.h"

/* The keys of each section; a section that is null has its reason beside it. */
static const struct {
    const char *key;
    enum as_report_section section;
} part[] = {
    {"profiling_session", AS_SECTION_SUMMARY},
    {"profilers", AS_SECTION_SUMMARY},
    {"gpu_utilization", AS_SECTION_SUMMARY},
    {"gpu_recommendations", AS_SECTION_SUMMARY},
    {"cost_of_profiling", AS_SECTION_SUMMARY},
    {"dropped", AS_SECTION_SUMMARY},
    {"layer_profiling", AS_SECTION_LAYERS},
    {"memory_profiling", AS_SECTION_MEMORY},
    {"memory_leaks", AS_SECTION_LEAKS},
    {"memory_leaks_by_layer", AS_SECTION_LEAKS},
    {"bottlenecks", AS_SECTION_BOTTLENECKS},
    {"anomalies", AS_SECTION_ANOMALIES},
    {"distributed_training", AS_SECTION_DISTRIBUTED},
    {"backend_comparison", AS_SECTION_BACKENDS},
};

/* Whose the file is stays whatever was asked for. */
static const char *const always[] = {"schema", "schema_version", "assay_version", "timestamp"};

struct selector {
    struct as_arena arena; /* of what had to be copied to be linked anew */
    const struct as_saved_profile *view;
    const struct as_report_options *options;
    bool nomem;
};

/* "key" and "key_why". */
static bool is_key(const char *key, const char *of)
{
    size_t size = strlen(of);

    return strncmp(key, of, size) == 0 && (key[size] == '\0' || strcmp(key + size, "_why") == 0);
}

static bool is_wanted(const struct selector *s, const char *key)
{
    uint32_t sections = s->options->sections;

    if (!sections)
        return true;
    for (size_t i = 0; i < AS_COUNT_OF(always); i++) {
        if (strcmp(key, always[i]) == 0)
            return true;
    }
    for (size_t i = 0; i < AS_COUNT_OF(part); i++) {
        if ((sections >> part[i].section & 1) && is_key(key, part[i].key))
            return true;
    }
    return false;
}

/* A list that is built of copies: their insides are shared with the file's. */
struct chain {
    struct as_json_value *head, *last;
};

static void append(struct selector *s, struct chain *to, const struct as_json_value *value)
{
    struct as_json_value *copy = as_arena_zero(&s->arena, 1, sizeof *copy);

    if (!copy) {
        s->nomem = true;
        return;
    }
    *copy = *value;
    copy->next = NULL;
    if (to->last)
        to->last->next = copy;
    else
        to->head->first = copy;
    to->last = copy;
    to->head->n++;
}

/* An empty list in the place of that one. */
static struct chain begin(struct as_json_value *list)
{
    list->first = NULL;
    list->n = 0;
    return (struct chain){list, NULL};
}

/* Rows are objects: lists of numbers are values of one row. Of objects only these are lists. */
static bool is_rows(const struct as_json_value *v)
{
    static const char *const by_name[] = {"layer_stats", "layer_comparisons", "by_layer"};
    bool named = v->type == AS_TYPE_ARRAY;

    for (size_t i = 0; v->type == AS_TYPE_OBJECT && i < AS_COUNT_OF(by_name); i++)
        named |= v->key && strcmp(v->key, by_name[i]) == 0;
    for (const struct as_json_value *x = named ? v->first : NULL; x && named; x = x->next)
        named = x->type == AS_TYPE_OBJECT;
    return named;
}

static void cut_rows(struct selector *s, struct as_json_value *list)
{
    const struct as_json_value *from = list->first;
    struct chain to = begin(list);

    for (; from && to.head->n < s->options->top && !s->nomem; from = from->next)
        append(s, &to, from);
}

/* Of the layers those at the top of their order, not of the file. */
static void cut_layers(struct selector *s, struct as_json_value *list)
{
    struct chain to = begin(list);

    for (size_t i = 0; i < s->view->n_layers && i < s->options->top && !s->nomem; i++)
        append(s, &to, s->view->layer[i].json);
}

static void cut_section(struct selector *s, struct as_json_value *section)
{
    const bool layers = strcmp(section->key, "layer_profiling") == 0;
    const struct as_json_value *from = section->first;
    struct chain to = begin(section);

    for (; from && !s->nomem; from = from->next) {
        append(s, &to, from);
        if (s->nomem || !is_rows(from))
            continue;
        if (layers && from->type == AS_TYPE_OBJECT)
            cut_layers(s, to.last);
        else
            cut_rows(s, to.last);
    }
}

int as_session_json(struct as_json_writer *w, const struct as_saved_profile *view,
                    const struct as_report_options *options, struct assay_error *err)
{
    struct selector s = {.view = view, .options = options};
    struct as_json_value root = *view->json;
    struct chain to = begin(&root);

    if (!options->sections && !options->top) {
        as_json_tree_write(w, view->json);
        return as_json_writer_finish(w, err);
    }
    for (const struct as_json_value *v = view->json->first; v && !s.nomem; v = v->next) {
        if (!v->key || !is_wanted(&s, v->key))
            continue;
        append(&s, &to, v);
        if (!s.nomem && options->top && v->type == AS_TYPE_OBJECT)
            cut_section(&s, to.last);
    }
    if (!s.nomem)
        as_json_tree_write(w, &root);
    as_arena_fini(&s.arena);
    return s.nomem ? as_fail_nomem(err) : as_json_writer_finish(w, err);
}
