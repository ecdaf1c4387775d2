/* experiment/witness/witness_line.h - reads one line of a witness: an entry or the seal.
 * Checks the line alone, not its place in the chain. */
#ifndef AS_EXPERIMENT_WITNESS_WITNESS_LINE_H
#define AS_EXPERIMENT_WITNESS_WITNESS_LINE_H

#include "base/buffer.h"
#include "experiment/witness/witness_entry.h"

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
