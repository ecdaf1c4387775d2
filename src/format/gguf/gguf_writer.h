/* format/gguf/gguf_writer.h - a decoder as a GGUF file.
 * The file appears whole or not at all; weights are streamed, made on the way where they are. */
#ifndef AS_FORMAT_GGUF_GGUF_WRITER_H
#define AS_FORMAT_GGUF_GGUF_WRITER_H

#include "model/graph/graph.h"

/* Writes every initializer of `model` under its own name, and the sizes in model->decoder, to
 * `path`. Names are those of GGUF (token_embd.weight, blk.0.attn_q.weight, ...), dimensions
 * outermost first, so a weight is out x in. There is no tokenizer in it.
 * ASSAY_ERR_UNSUPPORTED for a model that is no decoder, for more than four dimensions and for a
 * dtype GGUF does not have. */
AS_MUST_USE int as_gguf_write(const struct as_model *model, const char *path,
                              struct assay_error *err);

#endif
