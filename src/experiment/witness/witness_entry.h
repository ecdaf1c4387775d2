/* experiment/witness/witness_entry.h - one entry of a witness: its keys, its hash, its line.
 * The form is described in assay/experiment/witness.h. */
#ifndef AS_EXPERIMENT_WITNESS_WITNESS_ENTRY_H
#define AS_EXPERIMENT_WITNESS_WITNESS_ENTRY_H

#include <assay/experiment/witness.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/output.h"

enum as_witness_kind {
    AS_WITNESS_HEX,
    AS_WITNESS_U64,
    AS_WITNESS_U32,
    AS_WITNESS_F32,
    AS_WITNESS_MASK
};

struct as_witness_field {
    const char *name;
    enum as_witness_kind kind;
    size_t at;    /* its place in struct assay_witness_entry */
    bool unbound; /* not in the text that entry_hash covers */
};

enum { AS_N_WITNESS_FIELDS = 19 };

/* In the order of the line. */
extern const struct as_witness_field as_witness_fields[AS_N_WITNESS_FIELDS];

/* What the head of nothing is: 64 zeros. */
extern const char as_witness_genesis[ASSAY_WITNESS_HEX];

/* 64 lower-case hex digits and a NUL. */
bool as_witness_is_hex(const char text[ASSAY_WITNESS_HEX]);

/* What `entry` has in its mask: the bits that are set, or false when some stand past the end. */
bool as_witness_count(const struct assay_witness_entry *entry, uint64_t *kept);

static inline size_t as_witness_mask_bytes(uint64_t bits)
{
    return (size_t)((bits + 7) / 8);
}

/* The hash of the packed mask, which must be there unless it has no bits. */
AS_MUST_USE int as_witness_mask_hash(const struct assay_witness_entry *entry,
                                     char hex[ASSAY_WITNESS_HEX], struct assay_error *err);

/* The hash that entry_hash must be. Every field must be in order. */
AS_MUST_USE int as_witness_entry_hash(const struct assay_witness_entry *entry,
                                      char hex[ASSAY_WITNESS_HEX], struct assay_error *err);

/* Puts the line and its newline into `out`, which is memory; LIMIT when it is too long. */
AS_MUST_USE int as_witness_put(const struct assay_witness_entry *entry, enum assay_witness_mask how,
                               struct as_out *out, struct assay_error *err);

/* The last line of a file. */
struct as_witness_seal {
    uint64_t entries;
    char head[ASSAY_WITNESS_HEX], file_hash[ASSAY_WITNESS_HEX];
};
AS_MUST_USE int as_witness_put_seal(const struct as_witness_seal *seal, struct as_out *out,
                                    struct assay_error *err);

/* ---- witness_line.c ---- */

/* {0} is empty; the mask of `entry` stands in `mask`. */
struct as_witness_line {
    bool is_seal;
    enum assay_witness_mask how; /* the form of the mask */
    struct assay_witness_entry entry;
    struct as_witness_seal seal;
    struct as_buffer mask;
    uint64_t n_bits; /* of the array of booleans */
};

/* `size` bytes without the newline. ASSAY_ERR_FORMAT for anything that is not exactly an entry or a
 * seal; values are in range, but hashes are not compared with anything. */
AS_MUST_USE int as_witness_line_read(struct as_witness_line *line, const char *text, size_t size,
                                     struct assay_error *err);

void as_witness_line_fini(struct as_witness_line *line);

#endif
