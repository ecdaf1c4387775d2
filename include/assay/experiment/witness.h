/* assay/experiment/witness.h - a witness: a file that states, entry by entry, what was computed
 * from what, so that a second run, on this machine or another, can be compared with it.
 *
 *     struct assay_witness *w = NULL;
 *     assay_witness_open(&w, "run.jsonl", ASSAY_WITNESS_MASK_PACKED, &err);
 *     for (uint64_t i = 0; i < n_samples; i++) {
 *         struct assay_witness_entry e;
 *         memset(&e, 0, sizeof e);
 *         e.sample_id = i;
 *         e.seq_len = n;
 *         assay_witness_hash_tensor(q, n * d, e.q_hash, &err); // and so on
 *         assay_witness_add(w, &e, &err);
 *     }
 *     assay_witness_close(w, &err);
 *
 * The file is JSON, one line an entry, without white space, and each line ends with a newline. The
 * keys stand in this order: q_hash, k_hash, keep_mask, cut_cost, lambda, tau, eps, timestamp,
 * index, sample_id, seq_len, v_hash, output_hash, config_hash, mask_bits, mask_kept, mask_hash,
 * prev_hash, entry_hash. Hashes are 64 lower-case hex digits. keep_mask is base64 of the packed
 * bits, or null, or an array of booleans; the file does not state elsewhere which. Floats are f32
 * with the fewest digits that read back as the same number, always with a point or an exponent:
 * plain from 1e-5 to below 1e13, otherwise as 1e-6 or 1.5e20; zero is 0.0 or -0.0.
 *
 * mask_hash is the SHA-256 of the packed bits: mask_bits of them, the first in the lowest bit of
 * the first byte, the last byte filled up with zeros. mask_kept counts those that are set.
 *
 * entry_hash is the SHA-256 of this text: the line "assay.witness 1", then for every key but
 * keep_mask (mask_hash stands for it), timestamp and entry_hash, in the order above, a line of the
 * key, "=" and the value as it stands in the JSON without quotes. Every line of the text ends with
 * one newline, the last too. prev_hash is the entry_hash of the entry before; 64 zeros in the
 * first. So two runs that compute the same have the same chain, whenever they ran.
 *
 * The last line is the seal, written by assay_witness_close(): seal (1), entries (how many), head
 * (the last entry_hash), file_hash (the SHA-256 of all bytes before this line). A changed byte
 * anywhere, timestamps included, does not fit it. A file without a seal is unfinished. The seal
 * finds accidents and carelessness; who can write the file can also write it anew, which is what
 * the signature of a bundle is for (assay/experiment/bundle.h).
 *
 * A writer may be used by one thread at a time. */
#ifndef ASSAY_EXPERIMENT_WITNESS_H
#define ASSAY_EXPERIMENT_WITNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/error.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ASSAY_WITNESS_HEX      65                  /* a hash, with the closing NUL */
#define ASSAY_WITNESS_MAX_BITS (UINT64_C(1) << 28) /* of one mask */
#define ASSAY_WITNESS_MAX_LINE ((size_t)64 << 20)  /* bytes of one line */

/* The SHA-256 of `n` floats as little-endian bytes, each as it is: NaNs and the sign of zero count.
 * `data` may be NULL when `n` is 0. */
ASSAY_API int assay_witness_hash_tensor(const float *data, size_t n, char hex[ASSAY_WITNESS_HEX],
                                        struct assay_error *err);

struct assay_witness_entry {
    uint64_t index; /* filled by the writer: entries before this one */
    uint64_t sample_id, seq_len;
    char q_hash[ASSAY_WITNESS_HEX], k_hash[ASSAY_WITNESS_HEX], v_hash[ASSAY_WITNESS_HEX];
    char output_hash[ASSAY_WITNESS_HEX], config_hash[ASSAY_WITNESS_HEX];
    const uint8_t *mask; /* packed, first bit lowest; borrowed; NULL when read without one */
    uint64_t mask_bits;  /* bits past them in the last byte must be 0 */
    float cut_cost, lambda, eps; /* finite */
    uint32_t tau;
    uint64_t timestamp_ns;             /* nanoseconds since 1970 */
    char mask_hash[ASSAY_WITNESS_HEX]; /* this and the rest are filled by the writer */
    uint64_t mask_kept;
    char prev_hash[ASSAY_WITNESS_HEX], entry_hash[ASSAY_WITNESS_HEX];
};

/* How a mask stands in the file; its hash and its counts always do. */
enum assay_witness_mask {
    ASSAY_WITNESS_MASK_PACKED, /* base64 */
    ASSAY_WITNESS_MASK_HASH,   /* null: the hash alone */
    ASSAY_WITNESS_MASK_FULL,   /* an array of booleans */
    ASSAY_WITNESS_MASK_COUNT
};

/* Fills mask_hash, mask_kept and entry_hash from the rest; an empty prev_hash becomes 64 zeros. */
ASSAY_API int assay_witness_hash(struct assay_witness_entry *entry, struct assay_error *err);

/* One line for a complete entry, with its newline and a closing NUL, into `out`. `*size` gets its
 * bytes without the NUL, also when `capacity` was too small, which is ASSAY_ERR_LIMIT; `out` may be
 * NULL when `capacity` is 0, `size` may be NULL. */
ASSAY_API int assay_witness_log(const struct assay_witness_entry *entry,
                                enum assay_witness_mask how, char *out, size_t capacity,
                                size_t *size, struct assay_error *err);

/* ---- writing ---- */

struct assay_witness;

/* Begins a new file, and makes the folders that are missing above it; a file that is there already
 * is an error and stays as it is. */
ASSAY_API int assay_witness_open(struct assay_witness **out, const char *path,
                                 enum assay_witness_mask how, struct assay_error *err);

/* Goes on with the file of a run that ended early: checks the first `n_entries` as
 * assay_witness_verify() does, cuts off whatever follows them, and appends. When they are not all
 * there and whole the file stays as it is and the error names the line. */
ASSAY_API int assay_witness_resume(struct assay_witness **out, const char *path,
                                   enum assay_witness_mask how, uint64_t n_entries,
                                   struct assay_error *err);

/* Completes `entry` and appends it. After an error the file has whole lines only, and the entry may
 * be tried again. */
ASSAY_API int assay_witness_add(struct assay_witness *witness, struct assay_witness_entry *entry,
                                struct assay_error *err);

/* What was added is on the disk when this returns. */
ASSAY_API int assay_witness_flush(struct assay_witness *witness, struct assay_error *err);

/* The entry_hash of the last entry; 64 zeros when there is none, or no witness. */
ASSAY_API void assay_witness_head(const struct assay_witness *witness, char hex[ASSAY_WITNESS_HEX]);

/* Writes the seal and frees the writer, also when that fails. Accepts NULL. */
ASSAY_API int assay_witness_close(struct assay_witness *witness, struct assay_error *err);

/* Frees the writer and leaves the file unfinished, to be resumed. Accepts NULL. */
ASSAY_API void assay_witness_abandon(struct assay_witness *witness);

/* ---- reading ---- */

struct assay_witness_report {
    size_t size;             /* set by the library */
    bool whole;              /* sealed, and nothing is wrong */
    bool sealed;             /* false: unfinished, or wrong before the seal */
    uint64_t entries;        /* good ones, before the first bad line */
    uint64_t first_bad_line; /* from 1; 0: none */
    uint64_t bytes;          /* read */
    uint64_t first_timestamp_ns, last_timestamp_ns; /* of the good entries; 0 without any */
    uint64_t mask_bits, mask_kept;                  /* sums */
    char head[ASSAY_WITNESS_HEX];                   /* of the good entries */
    char config_hash[ASSAY_WITNESS_HEX];            /* of all of them; "" when there are several */
    char file_hash[ASSAY_WITNESS_HEX];              /* as the seal has it; "" without one */
    char sentence[240];                             /* what is wrong or unfinished; "" when whole */
};

/* Sees each good entry, whose mask is borrowed until it returns; other than 0 stops the reading and
 * is returned by assay_witness_verify(), so it is best negative. */
typedef int (*assay_witness_seen)(void *user, const struct assay_witness_entry *entry);

/* Reads the file from end to end with memory for a line or two, and checks every line: strict JSON
 * in exactly the form above, the mask against its hash and counts, the index, the chain, the seal.
 * Stops at the first bad line. 0 when the answer is in `report`, whichever it is; negative when the
 * file could not be read. `seen` may be NULL. */
ASSAY_API int assay_witness_verify(const char *path, assay_witness_seen seen, void *user,
                                   struct assay_witness_report *report, struct assay_error *err);

/* Two witnesses of what should be the same, made at different times or on different machines. */
struct assay_witness_comparison {
    size_t size;               /* set by the library */
    bool same;                 /* the same chain; times do not count */
    uint64_t entries[2];       /* good ones of each */
    uint64_t first_difference; /* the entry, from 0, that differs or only one of them has */
    char sentence[240];        /* which keys differ there; "" when they are the same */
};

/* Both are verified on the way; when one is not whole the answer is false, and `sentence` is the
 * reason. */
ASSAY_API int assay_witness_compare(const char *path, const char *other,
                                    struct assay_witness_comparison *out, struct assay_error *err);

#ifdef __cplusplus
}
#endif
#endif
