/* experiment/bundle/rvf_segment.h - the frame of an RVF file: headers, footers, padding.
 * Described in assay/bundle.h; hashes are looked at elsewhere. */
#ifndef AS_EXPERIMENT_BUNDLE_RVF_SEGMENT_H
#define AS_EXPERIMENT_BUNDLE_RVF_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "format/mapped_file.h"

#define AS_RVF_MAGIC           UINT32_C(0x52564653)
#define AS_RVF_HEADER_BYTES    64
#define AS_RVF_ALIGN           64
#define AS_RVF_CONTENT_BYTES   16
#define AS_RVF_CONTENT_AT      0x28
#define AS_RVF_HASH_BYTES      32
#define AS_RVF_SIGNATURE_BYTES 64
#define AS_RVF_FOOTER_BYTES    72
#define AS_RVF_MAX_SEGMENTS    4096
#define AS_RVF_MAX_PAYLOAD     UINT64_C(0xffffffff)
#define AS_RVF_SIGNED          4u /* the one flag that is understood */

enum as_rvf_type { AS_RVF_MANIFEST = 0x05, AS_RVF_METADATA = 0x07, AS_RVF_WITNESS = 0x0a };

struct as_rvf_segment {
    uint8_t type;
    uint16_t flags;
    uint64_t id, timestamp_ns;
    uint64_t offset, bytes; /* in the file, all included */
    uint64_t payload_bytes;
    uint8_t content_hash[AS_RVF_CONTENT_BYTES];
    const uint8_t *start, *payload; /* borrowed */
    const uint8_t *signature;       /* NULL: not signed */
};

struct as_rvf_file {
    struct as_rvf_segment *segments;
    size_t n, capacity;
};

/* The header of a segment of that payload, without its content hash. */
void as_rvf_header_put(uint8_t out[AS_RVF_HEADER_BYTES], const struct as_rvf_segment *segment);

/* Zeros behind payload and footer. */
static inline uint32_t as_rvf_padding(uint64_t payload_bytes, bool is_signed)
{
    uint64_t used = payload_bytes + (is_signed ? AS_RVF_FOOTER_BYTES : 0);

    return (uint32_t)((AS_RVF_ALIGN - used % AS_RVF_ALIGN) % AS_RVF_ALIGN);
}

/* Appends a whole segment; `signature` is used with the flag alone. `s` gets its content hash. */
AS_MUST_USE int as_rvf_segment_put(struct as_buffer *out, struct as_rvf_segment *s,
                                   const void *payload, const uint8_t *signature,
                                   struct assay_error *err);

/* All segments of `size` bytes, which are borrowed. ASSAY_ERR_FORMAT with the byte to blame for
 * anything out of order. End with as_rvf_file_fini(), also after a failure. */
AS_MUST_USE int as_rvf_file_read(struct as_rvf_file *file, const uint8_t *bytes, uint64_t size,
                                 struct assay_error *err);
void as_rvf_file_fini(struct as_rvf_file *file);

/* Whether the payload fits its hash. */
AS_MUST_USE int as_rvf_content_fits(const struct as_rvf_segment *s, bool *fits,
                                    struct assay_error *err);

/* Maps a file that is no model, which is what the messages of mapped_file.h speak of. */
AS_MUST_USE int as_rvf_map(struct as_mapped_file *file, const char *path, struct assay_error *err);

#endif
