/* tests/fuzz/fuzz_witness.c - any bytes through the check of a witness.
 * It answers with a sentence; what is whole is not whole any more with one bit changed. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/witness/witness_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is shown is in order. */
static int look(void *user, const struct assay_witness_entry *entry)
{
    uint64_t *seen = user;
    char line[1];
    size_t size = 0;

    if (entry->index != (*seen)++ || entry->mask_kept > entry->mask_bits)
        abort();
    if (assay_witness_log(entry, ASSAY_WITNESS_MASK_HASH, line, 0, &size, NULL) !=
            ASSAY_ERR_LIMIT ||
        size == 0)
        abort();
    return 0;
}

static struct assay_witness_report check(const uint8_t *data, size_t size)
{
    struct assay_witness_report r;
    struct assay_error err = {0};
    uint64_t seen = 0;
    int rc = as_witness_check_bytes(data, size, look, &seen, &r, &err);

    if (rc < 0 && rc != ASSAY_ERR_NOMEM)
        abort();
    if (rc == ASSAY_OK && (seen != r.entries || r.whole != (r.sentence[0] == '\0') ||
                           (r.whole && (!r.sealed || r.first_bad_line))))
        abort();
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (check(data, size).whole) {
        uint8_t *copy = malloc(size);

        if (!copy)
            return 0;
        memcpy(copy, data, size);
        copy[size * 2 / 3] ^= 1;
        if (check(copy, size).whole)
            abort();
        free(copy);
    }
    return 0;
}
