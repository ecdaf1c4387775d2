/* tests/fuzz/fuzz_rvf.c - any bytes through the reader of bundles.
 * It answers with a sentence; payloads lie inside the file; what is whole is not whole any more
 * with one bit changed. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/bundle/rvf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_whole(const uint8_t *data, size_t size)
{
    struct assay_bundle_report r;
    int rc = as_bundle_check_bytes(data, size, NULL, &r, NULL);

    if (rc < 0 && rc != ASSAY_ERR_NOMEM)
        abort();
    if (rc == ASSAY_OK && r.whole != (r.sentence[0] == '\0'))
        abort();
    return rc == ASSAY_OK && r.whole;
}

static void look_inside(const uint8_t *data, size_t size)
{
    struct assay_bundle b = {0};

    if (as_bundle_init(&b, data, size, NULL) == ASSAY_OK) {
        for (size_t i = 0; i < assay_bundle_count(&b); i++) {
            struct assay_bundle_segment s;

            if (assay_bundle_segment_at(&b, i, &s, NULL) < 0)
                break;
            if (s.payload < data || s.offset + s.bytes > size || s.payload_bytes > s.bytes ||
                s.payload + s.payload_bytes > data + size)
                abort();
        }
    }
    as_bundle_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    look_inside(data, size);
    if (is_whole(data, size)) {
        uint8_t *copy = malloc(size);

        if (!copy)
            return 0;
        memcpy(copy, data, size);
        copy[size * 2 / 3] ^= 1;
        if (is_whole(copy, size))
            abort();
        free(copy);
    }
    return 0;
}
