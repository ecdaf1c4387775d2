/* format/safetensors/safetensors_reader.h - what the parts of the safetensors reader share.
 * A model is one file, or an index and the shards beside it; each shard adds its tensors. */
#ifndef AS_FORMAT_SAFETENSORS_SAFETENSORS_READER_H
#define AS_FORMAT_SAFETENSORS_SAFETENSORS_READER_H

#include "base/hash_map.h"
#include "base/json/json_parser.h"
#include "format/mapped_file.h"
#include "model/graph/graph.h"

/* What one safetensors model may have. */
enum {
    AS_SAFETENSORS_MAX_HEADER = 100000000,
    AS_SAFETENSORS_MAX_TENSORS = 200000, /* of all shards */
    AS_SAFETENSORS_MAX_SHARDS = 2000,
    AS_SAFETENSORS_MAX_META = 1000, /* pairs kept */
};

struct as_safetensors {
    struct as_model *model;
    struct as_hash_map names; /* name to value, of all shards */
    uint64_t data_bytes;      /* of all tensors */
    struct assay_error *err;  /* never NULL */
};

/* Adds the tensors of a file, which lives as long as the model. */
AS_MUST_USE int as_safetensors_read_file(struct as_safetensors *s,
                                         const struct as_mapped_file *file);

/* Adds the tensors of all shards that the index names. */
AS_MUST_USE int as_safetensors_read_index(struct as_safetensors *s,
                                          const struct as_mapped_file *file);

/* True for a JSON object that maps weights to shards. */
bool as_safetensors_is_index(const uint8_t *bytes, uint64_t size);

/* model->decoder from the config.json beside `path`, when there is one; trouble is a finding. */
void as_safetensors_read_config(struct as_model *model, const char *path);

#endif
