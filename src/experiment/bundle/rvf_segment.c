/* experiment/bundle/rvf_segment.c - the frame of an RVF file: headers, footers, padding.
 * Described in assay/experiment/bundle.h; hashes are looked at elsewhere. */
#include "experiment/bundle/rvf.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cursor.h"
#include "base/hash.h"
#include "base/vec.h"

static void put_le(uint8_t *out, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        out[i] = (uint8_t)(value >> (8 * i));
}

void as_rvf_header_put(uint8_t out[AS_RVF_HEADER_BYTES], const struct as_rvf_segment *segment)
{
    memset(out, 0, AS_RVF_HEADER_BYTES);
    put_le(out, AS_RVF_MAGIC, 4);
    out[0x04] = 1;
    out[0x05] = segment->type;
    put_le(out + 0x06, segment->flags, 2);
    put_le(out + 0x08, segment->id, 8);
    put_le(out + 0x10, segment->payload_bytes, 8);
    put_le(out + 0x18, segment->timestamp_ns, 8);
    out[0x20] = 2;
    put_le(out + 0x38, segment->payload_bytes, 4);
    put_le(out + 0x3c, as_rvf_padding(segment->payload_bytes, segment->flags & AS_RVF_SIGNED), 4);
}

int as_rvf_segment_put(struct as_buffer *out, struct as_rvf_segment *s, const void *payload,
                       const uint8_t *signature, struct assay_error *err)
{
    static const uint8_t zeros[AS_RVF_ALIGN];
    uint8_t header[AS_RVF_HEADER_BYTES], footer[AS_RVF_FOOTER_BYTES] = {0};
    bool is_signed = s->flags & AS_RVF_SIGNED;
    int rc;

    if (s->payload_bytes > AS_RVF_MAX_PAYLOAD)
        return as_fail(err, ASSAY_ERR_LIMIT, "a segment of a bundle has at most 4 GiB");
    rc = as_shake256(payload, (size_t)s->payload_bytes, s->content_hash, sizeof s->content_hash,
                     err);
    if (rc < 0)
        return rc;
    as_rvf_header_put(header, s);
    memcpy(header + AS_RVF_CONTENT_AT, s->content_hash, sizeof s->content_hash);
    if (is_signed) {
        put_le(footer + 2, AS_RVF_SIGNATURE_BYTES, 2);
        memcpy(footer + 4, signature, AS_RVF_SIGNATURE_BYTES);
        put_le(footer + 68, AS_RVF_FOOTER_BYTES, 4);
    }
    if (!as_buffer_add(out, header, sizeof header) ||
        !as_buffer_add(out, payload, (size_t)s->payload_bytes) ||
        !as_buffer_add(out, footer, is_signed ? sizeof footer : 0) ||
        !as_buffer_add(out, zeros, as_rvf_padding(s->payload_bytes, is_signed)))
        return as_fail_nomem(err);
    return ASSAY_OK;
}

int as_rvf_map(struct as_mapped_file *file, const char *path, struct assay_error *err)
{
    struct assay_error why = {0};
    int rc = as_mapped_file_open(file, path, &why);

    if (rc == ASSAY_ERR_IO && why.sys == 0)
        return as_fail(err, rc, "%s is not a regular file", path);
    if (rc < 0 && err)
        *err = why;
    return rc;
}

/* What stands in a header beside the fields of struct as_rvf_segment. */
struct rest {
    uint32_t magic, reserved_wide, uncompressed, padding;
    uint16_t reserved;
    uint8_t version, checksum, compression;
};

static bool take_header(struct as_cursor *c, struct as_rvf_segment *s, struct rest *r)
{
    const uint8_t *hash = NULL;

    if (as_cursor_left(c) < AS_RVF_HEADER_BYTES)
        return false;
    (void)(as_take_u32le(c, &r->magic) && as_take_u8(c, &r->version) && as_take_u8(c, &s->type) &&
           as_take_u16le(c, &s->flags) && as_take_u64le(c, &s->id) &&
           as_take_u64le(c, &s->payload_bytes) && as_take_u64le(c, &s->timestamp_ns) &&
           as_take_u8(c, &r->checksum) && as_take_u8(c, &r->compression) &&
           as_take_u16le(c, &r->reserved) && as_take_u32le(c, &r->reserved_wide) &&
           as_take_bytes(c, AS_RVF_CONTENT_BYTES, &hash) && as_take_u32le(c, &r->uncompressed) &&
           as_take_u32le(c, &r->padding));
    if (!hash)
        return false;
    memcpy(s->content_hash, hash, AS_RVF_CONTENT_BYTES);
    return true;
}

static int check_header(const struct as_rvf_segment *s, const struct rest *r, uint64_t id,
                        struct assay_error *err)
{
    const char *wrong = NULL;

    if (r->magic != AS_RVF_MAGIC)
        wrong = "no segment begins here: the magic number is wrong";
    else if (r->version != 1)
        wrong = "the segment is of an unknown version";
    else if (r->checksum != 2)
        wrong = "the segment's checksum is not SHAKE-256";
    else if (r->compression != 0)
        wrong = "the segment is compressed, which is not supported";
    else if (s->flags & ~AS_RVF_SIGNED)
        wrong = "the segment has flags that are not supported";
    else if (r->reserved != 0 || r->reserved_wide != 0)
        wrong = "reserved bytes of the segment's header are not 0";
    else if (s->id != id)
        wrong = "the segment's id does not follow that of the one before";
    else if (r->uncompressed != s->payload_bytes)
        wrong = "the two lengths of the segment differ";
    else if (r->padding != as_rvf_padding(s->payload_bytes, s->flags & AS_RVF_SIGNED))
        wrong = "the segment's padding is not what its length asks for";
    return wrong ? as_fail_at(err, s->offset, "%s", wrong) : ASSAY_OK;
}

static int take_footer(struct as_cursor *c, struct as_rvf_segment *s, struct assay_error *err)
{
    uint16_t algorithm = 0, length = 0;
    uint32_t footer = 0;

    if (!as_take_u16le(c, &algorithm) || !as_take_u16le(c, &length) ||
        !as_take_bytes(c, AS_RVF_SIGNATURE_BYTES, &s->signature) || !as_take_u32le(c, &footer))
        return as_fail_at(err, s->offset, "the file ends inside the segment's signature");
    if (algorithm != 0 || length != AS_RVF_SIGNATURE_BYTES || footer != AS_RVF_FOOTER_BYTES)
        return as_fail_at(err, s->offset, "the segment's signature is not one of Ed25519");
    return ASSAY_OK;
}

static int take_segment(struct as_cursor *c, struct as_rvf_segment *s, uint64_t id,
                        struct assay_error *err)
{
    const uint8_t *padding;
    struct rest r = {0};
    int rc;

    s->start = c->at;
    if (!take_header(c, s, &r))
        return as_fail_at(err, s->offset, "the file ends inside a segment's header");
    rc = check_header(s, &r, id, err);
    if (rc < 0)
        return rc;
    if (s->payload_bytes > as_cursor_left(c) ||
        !as_take_bytes(c, (size_t)s->payload_bytes, &s->payload))
        return as_fail_at(err, s->offset, "the file ends inside a segment");
    if (s->flags & AS_RVF_SIGNED)
        rc = take_footer(c, s, err);
    if (rc < 0)
        return rc;
    if (!as_take_bytes(c, r.padding, &padding))
        return as_fail_at(err, s->offset, "the file ends inside a segment's padding");
    for (uint32_t i = 0; i < r.padding; i++)
        if (padding[i] != 0)
            return as_fail_at(err, s->offset, "the segment's padding is not 0");
    s->bytes = (uint64_t)(c->at - s->start);
    return ASSAY_OK;
}

int as_rvf_file_read(struct as_rvf_file *file, const uint8_t *bytes, uint64_t size,
                     struct assay_error *err)
{
    struct as_cursor c = {bytes, bytes};
    int rc = ASSAY_OK;

    *file = (struct as_rvf_file){0};
    if (size == 0)
        return as_fail(err, ASSAY_ERR_FORMAT, "the file is empty");
    c = as_cursor_over(bytes, (size_t)size);
    while (rc == ASSAY_OK && as_cursor_left(&c) > 0) {
        if (!AS_VEC_RESERVE(file->segments, file->n, file->capacity))
            return as_fail_nomem(err);
        if (file->n == AS_RVF_MAX_SEGMENTS)
            return as_fail_at(err, (uint64_t)(c.at - bytes), "more than %d segments",
                              AS_RVF_MAX_SEGMENTS);
        file->segments[file->n] = (struct as_rvf_segment){.offset = (uint64_t)(c.at - bytes)};
        rc = take_segment(&c, &file->segments[file->n], file->n + 1, err);
        if (rc == ASSAY_OK)
            file->n++;
    }
    return rc;
}

void as_rvf_file_fini(struct as_rvf_file *file)
{
    as_free(file->segments);
    *file = (struct as_rvf_file){0};
}

int as_rvf_content_fits(const struct as_rvf_segment *s, bool *fits, struct assay_error *err)
{
    uint8_t hash[AS_RVF_CONTENT_BYTES];
    int rc = as_shake256(s->payload, (size_t)s->payload_bytes, hash, sizeof hash, err);

    *fits = rc == ASSAY_OK && memcmp(hash, s->content_hash, sizeof hash) == 0;
    return rc;
}
