/* measure/inputs/model_inputs.h - numbers for every input of a model: from files, or made up from a
 * seed so that the model can run on them. What was chosen for each input is kept, to be reported.
 */
#ifndef AS_MEASURE_INPUTS_MODEL_INPUTS_H
#define AS_MEASURE_INPUTS_MODEL_INPUTS_H

#include "base/output.h"
#include "engine/engine.h"
#include "format/mapped_file.h"
#include "model/graph/graph.h"
#include "model/graph/tensor.h"

enum as_input_fill {
    AS_INPUTS_RANDOM, /* floats uniform in [-1, 1); indices inside their tables */
    AS_INPUTS_NORMAL, /* the same, but floats normal around 0 */
    AS_INPUTS_ZEROS,
    AS_INPUTS_ONES,
    AS_INPUTS_COUNT
};

/* The word of the command line; "unknown" for a number that is none. */
const char *as_input_fill_name(enum as_input_fill fill);

struct as_input_file {
    const char *name; /* of the input; NULL: the only one */
    const char *path; /* .npy, or a tensor of ONNX */
};

struct as_input_options {
    enum as_input_fill fill;
    uint64_t seed;
    const struct as_input_file *files;
    size_t n_files;
    const struct as_loop_pair *loops; /* inputs that go from run to run begin empty */
    size_t n_loops;
};

/* What one input was given. */
struct as_input_choice {
    const char *name;
    const char *dtype;
    char shape[80];
    char how[120]; /* "random in [-1, 1)", "indices below 30522 of wte", "file x.npy" */
};

struct as_given_file; /* a file that was opened for an input */

struct as_model_inputs {
    const struct as_input_options *options; /* the caller's */
    const struct as_model *model;
    struct as_given_file *files;
    size_t n_files;
    struct as_model *holder; /* of what is read from ONNX files */
    struct as_infer_input *infer;
    struct as_input_choice *choices;
    size_t n_choices;
    struct as_mem mem; /* of inputs that the engine has no memory for */
};

/* Opens the files and holds them against the inputs the model declares; a sentence names the file.
 * Model and options must live on. */
AS_MUST_USE int as_model_inputs_open(struct as_model_inputs *in, const struct as_model *model,
                                     const struct as_input_options *options,
                                     struct assay_error *err);

/* `infer` as given, with the sizes that the files have. Where `infer` says another size, USAGE. The
 * result borrows from both. */
AS_MUST_USE int as_model_inputs_sizes(struct as_model_inputs *in, struct as_infer_options *infer,
                                      struct assay_error *err);

/* Gives every input of the engine its numbers. May be called again: they are the same again. */
AS_MUST_USE int as_model_inputs_fill(struct as_model_inputs *in, struct as_engine *engine,
                                     struct assay_error *err);

/* After the engine was freed. */
void as_model_inputs_close(struct as_model_inputs *in);

/* ---- input_guess.c ---- */

struct as_input_guess {
    const struct as_model *model;
    uint32_t value; /* the input */
    enum as_input_fill fill;
    uint64_t seed; /* of this input */
    bool is_state; /* goes from run to run */
};

/* Fills `val`, a tensor with memory, and says how. */
AS_MUST_USE int as_input_guess_fill(const struct as_input_guess *guess, struct as_val *val,
                                    char *how, size_t capacity, struct assay_error *err);

/* ---- input_use.c ---- */

struct as_input_use {
    uint64_t below;    /* it is an index, and must be below this; 0: it is none */
    const char *table; /* what it looks into */
    int64_t length;    /* it counts steps, and all of them are so many; -1: it does not */
    bool is_choice;    /* it is compared with a constant, as a mode or a sampling rate is, ... */
    int64_t choice;    /* ... this one first */
};

/* Follows value `input` through nodes that only move, cast or join numbers. After inference. */
AS_MUST_USE int as_input_use_find(struct as_input_use *out, const struct as_model *model,
                                  uint32_t input, struct assay_error *err);

/* ---- npy_file.c ---- */

struct as_npy {
    unsigned dtype; /* enum as_dtype */
    struct as_dims dims;
    bool fortran; /* the first dimension runs fastest */
    const uint8_t *data;
    uint64_t n, data_bytes;
};

/* Whether the bytes begin as such a file does. */
bool as_npy_is(const uint8_t *bytes, uint64_t size);

/* Borrows from `bytes`. FORMAT names the byte to blame, UNSUPPORTED a kind of numbers that no input
 * can have; `path` is for the sentence. */
AS_MUST_USE int as_npy_parse(struct as_npy *out, const uint8_t *bytes, uint64_t size,
                             const char *path, struct assay_error *err);

/* The numbers in row-major order; `out` holds data_bytes. */
void as_npy_copy(const struct as_npy *npy, void *out);

/* Whether the format has that kind of elements. */
bool as_npy_has(unsigned dtype);

/* The whole file, version 1.0, of elements in row-major order. UNSUPPORTED for a kind of elements
 * the format does not have; failures of `out` are kept there. */
AS_MUST_USE int as_npy_write(struct as_out *out, unsigned dtype, const struct as_dims *dims,
                             const void *data, uint64_t data_bytes, struct assay_error *err);

/* ---- tensor_file.c ---- */

/* One tensor in a file: NumPy's, or a TensorProto of ONNX. */
struct as_tensor_file {
    struct as_mapped_file file;
    uint32_t dtype;
    struct as_dims dims;
    bool is_npy;
    struct as_npy npy;    /* of one of NumPy's */
    struct as_data *data; /* of one of ONNX's */
};

/* `holder` keeps what is read from files of ONNX: an empty model that is made when it is needed,
 * and which the caller frees after the files. */
AS_MUST_USE int as_tensor_file_open(struct as_tensor_file *file, const char *path,
                                    struct as_model **holder, struct assay_error *err);

/* All elements in row-major order; no texts. `out` holds the bytes of them. */
AS_MUST_USE int as_tensor_file_read(const struct as_tensor_file *file, void *out,
                                    struct assay_error *err);

/* Accepts one that is closed. */
void as_tensor_file_close(struct as_tensor_file *file);

#endif
