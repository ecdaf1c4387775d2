/* tests/helpers/model_shapes.c - prints the inferred types of a model's main graph, one line of
 * JSON a file. usage: model_shapes [-d] FILE...; -d gives open dimensions their defaults, else they
 * stay open. What a file declares of values that nodes make is forgotten first. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json/json_writer.h"
#include "format/model_file.h"
#include "model/infer/infer.h"

static void put_type(struct as_json_writer *w, const struct as_type *type, int depth)
{
    static const char *const kinds[] = {"tensor", "sequence", "optional", "map"};

    as_json_object(w);
    as_json_kv_text(w, "kind", kinds[type->kind]);
    if (type->kind == AS_VALUE_TENSOR) {
        as_json_kv_text(w, "dtype", as_dtype_name(type->dtype));
        as_json_key(w, "dims");
        if (type->rank < 0) {
            as_json_null(w);
        } else {
            as_json_array(w);
            for (int i = 0; i < type->rank; i++)
                if (type->dims[i] < 0)
                    as_json_null(w);
                else
                    as_json_i64(w, type->dims[i]);
            as_json_array_end(w);
        }
    } else if (type->elems && type->n_elems != 0 && depth < 8) {
        as_json_key(w, "elem");
        put_type(w, type->elems, depth + 1);
    }
    as_json_object_end(w);
}

static void put_values(struct as_json_writer *w, const struct as_model *model)
{
    as_json_kv_object(w, "values");
    for (uint32_t i = 0; i < model->n_values; i++)
        if (model->values[i].graph == model->main && model->values[i].name[0]) {
            as_json_key(w, model->values[i].name);
            put_type(w, &model->values[i].type, 0);
        }
    as_json_object_end(w);
    as_json_kv_array(w, "unknown_ops");
    for (const struct as_finding *f = model->findings; f; f = f->next)
        if (f->kind == AS_FINDING_UNKNOWN_OP)
            as_json_text(w, f->op);
    as_json_array_end(w);
}

static int infer(struct as_model *model, bool defaults, struct assay_error *err)
{
    struct as_infer_options options = {.keep_unknown = !defaults};

    for (uint32_t i = 0; i < model->n_values; i++)
        if (model->values[i].producer != AS_NONE)
            model->values[i].type = AS_TYPE_UNKNOWN;
    return as_infer_shapes(model, &options, NULL, err);
}

static int put_file(struct as_out *out, const char *path, bool defaults, struct assay_error *err)
{
    struct as_model *model = NULL;
    struct as_json_writer w;
    int rc;

    as_json_writer_init(&w, out, 0);
    as_json_object(&w);
    as_json_kv_text(&w, "path", path);
    rc = as_model_open(&model, path, err);
    if (rc == ASSAY_OK)
        rc = infer(model, defaults, err);
    if (rc < 0)
        as_json_kv_text(&w, "error", err->msg);
    else
        put_values(&w, model);
    as_json_object_end(&w);
    as_model_free(model);
    as_out_text(out, "\n");
    return as_json_writer_finish(&w, err);
}

int main(int argc, char **argv)
{
    bool defaults = argc > 1 && strcmp(argv[1], "-d") == 0;
    struct assay_error err = {0};
    struct as_out out = {.fd = -1};
    int rc;

    rc = as_out_fd(&out, STDOUT_FILENO, "standard output", &err);
    for (int i = defaults ? 2 : 1; i < argc && rc == ASSAY_OK; i++)
        rc = put_file(&out, argv[i], defaults, &err);
    if (rc == ASSAY_OK)
        rc = as_out_close(&out, &err);
    as_out_drop(&out);
    if (rc < 0)
        fprintf(stderr, "%s\n", err.msg);
    return rc < 0 ? 3 : 0;
}
