/* format/gguf/gguf_meta.h - the header and the metadata of a GGUF file, read in place.
 * Arrays, which may hold a vocabulary of 100,000 words, are checked and walked over, not copied. */
#ifndef AS_FORMAT_GGUF_GGUF_META_H
#define AS_FORMAT_GGUF_GGUF_META_H

#include "base/cursor.h"
#include "base/hash_map.h"
#include "format/gguf/gguf_types.h"
#include "format/mapped_file.h"
#include "model/graph/graph.h"

/* What one GGUF file may have. */
enum {
    AS_GGUF_MAX_PAIRS = 65536,
    AS_GGUF_MAX_TENSORS = 100000,
    AS_GGUF_MAX_DIMS = 4,
    AS_GGUF_MAX_ARRAY_DEPTH = 4,
    AS_GGUF_MAX_ALIGNMENT = 1 << 20,
};

struct as_gguf_pair {
    const char *key; /* in the file, not ended by NUL */
    size_t key_size;
    uint32_t kind;       /* enum as_gguf_kind */
    uint32_t elem_kind;  /* of an array */
    uint64_t n;          /* elements of an array, bytes of a string */
    const uint8_t *data; /* of the value, of the first element, of the first byte */
};

struct as_gguf {
    struct as_model *model;
    const struct as_mapped_file *file;
    struct as_cursor in;
    uint32_t version;
    uint64_t n_tensors, n_pairs, alignment;
    struct as_gguf_pair *pairs;
    struct as_hash_map keys, tensors; /* keys to pairs, names of tensors to values */
    struct assay_error *err;
};

/* The byte of the file the cursor is at. */
uint64_t as_gguf_at(const struct as_gguf *g);

/* Takes a string that stays in the file: an error names `what`. */
AS_MUST_USE int as_gguf_take_text(struct as_gguf *g, const char *what, size_t max,
                                  struct as_text *out);

/* Magic, version, counts and all pairs; then the cursor is at the first tensor. */
AS_MUST_USE int as_gguf_read_meta(struct as_gguf *g);

/* Copies what people can read of it into model->meta. */
AS_MUST_USE int as_gguf_keep_meta(struct as_gguf *g);

/* model->decoder from the metadata and the tensors. */
void as_gguf_keep_decoder(struct as_gguf *g);

/* NULL: the file has no such key. `key` is one of ours. */
const struct as_gguf_pair *as_gguf_find(const struct as_gguf *g, const char *key);
/* The same for "<architecture>.<suffix>". */
const struct as_gguf_pair *as_gguf_find_arch(const struct as_gguf *g, const char *suffix);

/* False: of another kind, or negative. */
bool as_gguf_number(const struct as_gguf_pair *pair, uint64_t *out);
bool as_gguf_float(const struct as_gguf_pair *pair, double *out);

/* ---- gguf_graph.c ---- */

/* Fills model->main with one pass over "seq" new tokens of "batch" sequences and sets has_graph.
 * When the architecture is not known, or its tensors are not as it needs them, the graph stays
 * without nodes and a finding says why. Fails when memory runs out. */
AS_MUST_USE int as_gguf_build_graph(struct as_gguf *g);

#endif
