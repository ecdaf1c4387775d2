/* measure/outputs/output_files.c - tensors on the disk: where what is expected lies, and what is
 * written. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file/new_file.h"
#include "base/output.h"
#include "format/onnx/onnx_writer.h"
#include "measure/outputs/kept_outputs_internal.h"

enum { FOLDER_MODE = 0700 };

/* ---- what is expected ---- */

static const char *name_of(const struct as_outputs_work *work, const struct as_kept_tensor *t)
{
    return work->model->values[t->value].name;
}

/* Sets `expected` where there is such a file. */
static int look_for(struct as_outputs_work *work, struct as_kept_tensor *t, const char *name,
                    struct assay_error *err)
{
    static const char *const ends[] = {"npy", "pb"};

    for (size_t i = 0; i < 2 && !t->expected; i++) {
        char *path = as_output_path(work, work->options->expect, name, ends[i]);

        if (!path)
            return as_fail_nomem(err);
        if (access(path, F_OK) == 0)
            t->expected = path;
    }
    return ASSAY_OK;
}

static int open_want(struct as_outputs_work *work, struct as_kept_tensor *t,
                     struct assay_error *err)
{
    int rc = as_tensor_file_open(&t->want, t->expected, &work->holder, err);

    t->has_want = rc == ASSAY_OK;
    return rc;
}

/* The first output that has no file by its name; n_outputs: all have. */
static int look_by_name(struct as_outputs_work *work, size_t *missing, struct assay_error *err)
{
    int rc = ASSAY_OK;

    *missing = work->n_outputs;
    for (size_t i = 0; i < work->n_outputs && rc == ASSAY_OK; i++) {
        rc = look_for(work, &work->tensors[i], work->tensors[i].file, err);
        if (!work->tensors[i].expected && *missing == work->n_outputs)
            *missing = i;
    }
    return rc;
}

/* output_0.pb and so on, as the test cases of ONNX have them: all outputs or none, since an output
 * may be called so and not be the one of that number. */
static int look_by_number(struct as_outputs_work *work, bool *found, struct assay_error *err)
{
    char numbered[40];
    int rc = ASSAY_OK;

    *found = true;
    for (size_t i = 0; i < work->n_outputs && rc == ASSAY_OK; i++) {
        (void)snprintf(numbered, sizeof numbered, "output_%zu", i);
        work->tensors[i].expected = NULL;
        rc = look_for(work, &work->tensors[i], numbered, err);
        *found = *found && work->tensors[i].expected;
    }
    return rc;
}

static int find_outputs(struct as_outputs_work *work, struct assay_error *err)
{
    size_t missing;
    bool found = true;
    int rc = look_by_name(work, &missing, err);

    if (rc == ASSAY_OK && missing < work->n_outputs)
        rc = look_by_number(work, &found, err);
    if (rc == ASSAY_OK && !found)
        return as_fail(err, ASSAY_ERR_USAGE,
                       "%.80s has nothing for output '%.40s': neither %.60s.npy nor .pb, nor "
                       "output_0.pb and so on for all",
                       work->options->expect, name_of(work, &work->tensors[missing]),
                       work->tensors[missing].file);
    for (size_t i = 0; i < work->n_outputs && rc == ASSAY_OK; i++)
        rc = open_want(work, &work->tensors[i], err);
    return rc;
}

/* That of a layer, read as far as to see that it is one; it is opened again when it is compared. */
static int find_layer(struct as_outputs_work *work, struct as_kept_tensor *t,
                      struct assay_error *err)
{
    struct as_tensor_file file = {0};
    int rc = look_for(work, t, t->file, err);

    if (rc < 0 || !t->expected)
        return rc;
    rc = as_tensor_file_open(&file, t->expected, &work->holder, err);
    as_tensor_file_close(&file);
    return rc;
}

static int expect_folder(struct as_outputs_work *work, struct assay_error *err)
{
    size_t n_layers = 0;
    int rc = find_outputs(work, err);

    for (size_t i = work->n_outputs; i < work->n_tensors && rc == ASSAY_OK; i++) {
        rc = work->options->bisect ? find_layer(work, &work->tensors[i], err) : ASSAY_OK;
        n_layers += work->tensors[i].expected != NULL;
    }
    if (rc == ASSAY_OK && work->options->bisect && n_layers == 0 &&
        work->n_tensors > work->n_outputs)
        return as_fail(
            err, ASSAY_ERR_USAGE,
            "--bisect needs outputs of layers in %.100s; --save-intermediates all writes "
            "them",
            work->options->expect);
    return rc;
}

int as_output_expect(struct as_outputs_work *work, struct assay_error *err)
{
    const char *expect = work->options->expect;
    struct stat st;

    if (!expect)
        return ASSAY_OK;
    if (stat(expect, &st) != 0)
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot open %.150s", expect);
    if (S_ISDIR(st.st_mode))
        return expect_folder(work, err);
    if (work->options->bisect)
        return as_fail(err, ASSAY_ERR_USAGE,
                       "--bisect needs a folder with outputs of layers, and %.100s is a file",
                       expect);
    if (work->n_outputs != 1)
        return as_fail(err, ASSAY_ERR_USAGE,
                       "%.100s is one file, but the model has %zu outputs: --expect needs a folder "
                       "with a file of each",
                       expect, work->n_outputs);
    work->tensors[0].expected = expect;
    return open_want(work, &work->tensors[0], err);
}

/* ---- what is written ---- */

/* Opened, and given up again: nothing stands there that may not be replaced. */
static int try_file(struct as_outputs_work *work, const char *name, const char *end,
                    struct assay_error *err)
{
    char *path = as_output_path(work, work->options->folder, name, end);
    struct as_new_file file;
    int rc = path ? as_new_file_open(&file, path, err) : as_fail_nomem(err);

    if (rc == ASSAY_OK)
        as_new_file_drop(&file);
    return rc;
}

int as_output_folder(struct as_outputs_work *work, struct assay_error *err)
{
    const struct as_outputs_options *o = work->options;
    int rc;

    if (!o->folder)
        return ASSAY_OK;
    if (!o->folder[0])
        return as_fail(err, ASSAY_ERR_USAGE, "--save-outputs needs the name of a folder");
    rc = as_folder_make(o->folder, FOLDER_MODE, err);
    for (size_t i = 0; i < work->n_tensors && rc == ASSAY_OK; i++) {
        const struct as_kept_tensor *t = &work->tensors[i];

        if (t->wanted && o->npy)
            rc = try_file(work, t->file, "npy", err);
        if (t->wanted && o->pb && rc == ASSAY_OK)
            rc = try_file(work, t->file, "pb", err);
    }
    return rc;
}

static int write_as(const struct as_val *val, const char *name, bool npy, struct as_out *out,
                    struct assay_error *err)
{
    struct as_dims dims;
    struct as_onnx_tensor_out tensor = {.name = name,
                                        .dtype = val->dtype,
                                        .dims = &dims,
                                        .data = val->data,
                                        .n = val->n,
                                        .data_bytes = val->bytes};

    as_val_dims(val, &dims);
    return npy ? as_npy_write(out, val->dtype, &dims, val->data, val->bytes, err)
               : as_onnx_tensor_write(&tensor, out, err);
}

static int write_file(struct as_outputs_work *work, const struct as_kept_tensor *t,
                      const struct as_val *val, bool npy, const char **name,
                      struct assay_error *err)
{
    const char *end = npy ? "npy" : "pb";
    char *path = as_output_path(work, work->options->folder, t->file, end);
    struct as_out out;
    int rc;

    *name = as_output_path(work, "", t->file, end);
    if (!path || !*name)
        return as_fail_nomem(err);
    rc = as_out_file(&out, path, err);
    if (rc < 0)
        return rc;
    rc = write_as(val, name_of(work, t), npy, &out, err);
    if (rc < 0)
        as_out_drop(&out);
    else
        rc = as_out_close(&out, err);
    work->out->n_files += rc == ASSAY_OK;
    return rc;
}

int as_output_save(struct as_outputs_work *work, const struct as_kept_tensor *t,
                   struct as_output_row *row, const struct as_val *val, struct assay_error *err)
{
    bool npy = as_npy_has(val->dtype);
    char note[120];
    int rc = ASSAY_OK;

    if (!work->options->folder || !t->wanted)
        return ASSAY_OK;
    if (npy && work->options->npy)
        rc = write_file(work, t, val, true, &row->npy, err);
    if (rc == ASSAY_OK && (work->options->pb || !npy))
        rc = write_file(work, t, val, false, &row->pb, err);
    if (rc < 0 || npy || !work->options->npy)
        return rc;
    (void)snprintf(note, sizeof note, "NumPy's format has no %s: written as .pb only", row->dtype);
    row->note = as_arena_text(work->arena, note, strlen(note));
    return row->note ? ASSAY_OK : as_fail_nomem(err);
}
