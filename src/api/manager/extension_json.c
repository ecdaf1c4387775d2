/* api/manager/extension_json.c - the small JSON writer that extensions get, and their part of a
 * report. Whatever an extension does wrong costs its own part, never the report. */
#include <string.h>

#include "api/manager/manager_report.h"

#define DEPTH 32

struct assay_json {
    struct as_json_writer w;
    bool array[DEPTH]; /* the kind of what is open */
    unsigned depth;
    const char *wrong; /* the first mistake; nothing is written after it */
};

/* The place for a value: its key is written, or there is none to write. */
static bool place(struct assay_json *json, const char *key)
{
    bool array = json->array[json->depth];

    if (!json->wrong && array && key)
        json->wrong = "the profiler gave a key inside an array";
    if (!json->wrong && !array && !key)
        json->wrong = "the profiler gave no key inside an object";
    if (json->wrong)
        return false;
    if (key)
        as_json_key(&json->w, key);
    return true;
}

void assay_json_number(struct assay_json *json, const char *key, double value)
{
    if (place(json, key))
        as_json_f64(&json->w, value);
}

void assay_json_count(struct assay_json *json, const char *key, uint64_t value)
{
    if (place(json, key))
        as_json_u64(&json->w, value);
}

void assay_json_text(struct assay_json *json, const char *key, const char *value)
{
    if (place(json, key))
        as_json_text(&json->w, value);
}

void assay_json_flag(struct assay_json *json, const char *key, bool value)
{
    if (place(json, key))
        as_json_bool(&json->w, value);
}

static void open_one(struct assay_json *json, const char *key, bool array)
{
    if (json->depth + 1 == DEPTH && !json->wrong)
        json->wrong = "the profiler nested its part too deep";
    if (!place(json, key))
        return;
    if (array)
        as_json_array(&json->w);
    else
        as_json_object(&json->w);
    json->array[++json->depth] = array;
}

void assay_json_object(struct assay_json *json, const char *key)
{
    open_one(json, key, false);
}

void assay_json_array(struct assay_json *json, const char *key)
{
    open_one(json, key, true);
}

void assay_json_close(struct assay_json *json)
{
    if (!json->wrong && json->depth == 0)
        json->wrong = "the profiler closed more than it opened";
    if (json->wrong)
        return;
    if (json->array[json->depth--])
        as_json_array_end(&json->w);
    else
        as_json_object_end(&json->w);
}

/* Into a text of its own first: half a part would spoil the whole. */
static int write_part(struct as_out *out, const struct as_manager_extension *e,
                      struct assay_error *err)
{
    struct assay_json json = {0};
    int rc = ASSAY_OK;

    as_json_writer_init(&json.w, out, 0);
    as_json_object(&json.w);
    if (e->table.report)
        rc = e->table.report(e->state, &json, err);
    if (rc < 0)
        return rc;
    if (!json.wrong && json.depth)
        json.wrong = "the profiler closed less than it opened";
    if (json.wrong)
        return as_fail(err, ASSAY_ERR_STATE, "%s", json.wrong);
    as_json_object_end(&json.w);
    return as_json_writer_finish(&json.w, err);
}

static void put_part(struct as_json_writer *w, const struct as_manager_extension *e)
{
    struct assay_error err = {0};
    struct as_out out;
    size_t size;

    if (as_out_memory(&out, &err) < 0) {
        as_manager_json_none(w, e->name, err.msg);
        return;
    }
    if (write_part(&out, e, &err) < 0 || !as_out_ok(&out)) {
        as_manager_json_none(w, e->name, err.msg[0] ? err.msg : "out of memory");
    } else {
        const char *text = as_out_get(&out, &size);

        as_json_key(w, e->name);
        as_json_raw(w, text, size);
    }
    as_out_drop(&out);
}

void as_manager_json_extensions(struct as_json_writer *w, struct assay_manager *m)
{
    as_json_kv_object(w, "extensions");
    for (size_t i = 0; i < m->n_extensions; i++)
        put_part(w, &m->extension[i]);
    as_json_object_end(w);
}
