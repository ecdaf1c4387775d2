/* format/gguf/gguf_types.h - the numbers GGUF gives to tensor types and to kinds of metadata.
 * Types that ggml has removed are known by name, so that a refusal can say which it was. */
#ifndef AS_FORMAT_GGUF_GGUF_TYPES_H
#define AS_FORMAT_GGUF_GGUF_TYPES_H

#include <stdbool.h>
#include <stdint.h>

/* Kinds of metadata, as numbered in the file. */
enum as_gguf_kind {
    AS_GGUF_U8,
    AS_GGUF_I8,
    AS_GGUF_U16,
    AS_GGUF_I16,
    AS_GGUF_U32,
    AS_GGUF_I32,
    AS_GGUF_F32,
    AS_GGUF_BOOL,
    AS_GGUF_STRING,
    AS_GGUF_ARRAY,
    AS_GGUF_U64,
    AS_GGUF_I64,
    AS_GGUF_F64,
    AS_GGUF_KIND_COUNT
};

/* "u32"; "?" for a number out of range. */
const char *as_gguf_kind_name(uint32_t kind);

/* Bytes of a value, or the least it can take: 8 for a string, 12 for an array. 0: no such kind. */
uint32_t as_gguf_kind_bytes(uint32_t kind);

/* The dtype of tensor type `code`. False: `*removed` is its name when ggml once had it, else NULL.
 */
bool as_gguf_dtype(uint32_t code, unsigned *dtype, const char **removed);

/* The other way; false when GGUF has no such type. */
bool as_gguf_code(unsigned dtype, uint32_t *code);

#endif
