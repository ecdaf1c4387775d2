/* measure/peaks/peak_cache.c - peaks measured before, kept in a file for the host they were
 * measured on. */
#include "measure/peaks/peak_cache.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file/file_read.h"
#include "base/json/json_fields.h"

#define CACHE_SCHEMA    "assay.peaks"
#define CACHE_MAX_BYTES 65536

const char *as_peak_cache_state_text(enum as_peak_cache_state state)
{
    static const char *const texts[] = {
        [AS_PEAK_CACHE_FOUND] = "found",
        [AS_PEAK_CACHE_ABSENT] = "not there",
        [AS_PEAK_CACHE_DAMAGED] = "damaged",
        [AS_PEAK_CACHE_FOREIGN] = "of another machine or version",
        [AS_PEAK_CACHE_UNREADABLE] = "not readable",
    };

    return texts[state];
}

struct cache {
    const char *schema, *fingerprint;
    uint64_t schema_version;
    struct as_peaks peaks;
};

static const struct as_json_field cache_fields[] = {
    AS_FIELD(struct cache, schema),
    AS_FIELD(struct cache, schema_version),
    AS_FIELD(struct cache, fingerprint),
    AS_FIELD_OBJECT(struct cache, peaks, &as_peaks_shape),
};
static const struct as_json_shape cache_shape = AS_SHAPE(struct cache, cache_fields);

int as_peak_cache_save(const struct as_peaks *peaks, const char *path, const char *fingerprint,
                       struct assay_error *err)
{
    const struct cache cache = {CACHE_SCHEMA, fingerprint, AS_PEAKS_VERSION, *peaks};
    struct as_json_writer w;
    struct as_out out;
    int rc = as_out_file(&out, path, err);

    if (rc < 0)
        return rc;
    as_json_writer_init(&w, &out, 0);
    as_json_fields_write(&w, &cache_shape, &cache);
    as_out_char(&out, '\n');
    rc = as_json_writer_finish(&w, err);
    if (rc == ASSAY_OK)
        return as_out_close(&out, err);
    as_out_drop(&out);
    return rc;
}

/* The texts read are gone with their arena: the static ones of the same words stand for them. */
static bool keep_texts(struct as_peak *peak, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (peak[i].isa && !(peak[i].isa = as_peak_isa_find(peak[i].isa, strlen(peak[i].isa))))
            return false;
        if (peak[i].why && !(peak[i].why = as_peak_reason_find(peak[i].why, strlen(peak[i].why))))
            return false;
    }
    return true;
}

enum as_peak_cache_state as_peak_cache_parse(struct as_peaks *out, const void *data, size_t size,
                                             const char *fingerprint)
{
    enum as_peak_cache_state state = AS_PEAK_CACHE_DAMAGED;
    struct as_arena arena = {0};
    struct as_json_parser p;
    struct cache c = {.schema = NULL};
    int rc = ASSAY_ERR_FORMAT;

    as_json_parser_init(&p, data, size);
    p.decode.max_bytes = 1024;
    if (as_json_next(&p, NULL) == AS_JSON_OBJECT)
        rc = as_json_fields_read(&cache_shape, &c, NULL, &arena, &p, NULL);
    if (rc < 0 || as_json_next(&p, NULL) != AS_JSON_END || !c.schema ||
        strcmp(c.schema, CACHE_SCHEMA) != 0)
        state = AS_PEAK_CACHE_DAMAGED;
    else if (c.schema_version != AS_PEAKS_VERSION ||
             (c.fingerprint && strcmp(c.fingerprint, fingerprint) != 0))
        state = AS_PEAK_CACHE_FOREIGN; /* whatever else another version may keep */
    else if (rc == 1 && as_peaks_valid(&c.peaks) &&
             keep_texts(&c.peaks.compute[0][0], (size_t)AS_PEAK_TYPE_COUNT * AS_PEAK_MAX_COUNTS) &&
             keep_texts(&c.peaks.bandwidth[0][0][0],
                        (size_t)AS_PEAK_LEVEL_COUNT * AS_PEAK_ACCESS_COUNT * AS_PEAK_MAX_COUNTS))
        state = AS_PEAK_CACHE_FOUND;
    if (state == AS_PEAK_CACHE_FOUND)
        *out = c.peaks;
    as_json_parser_fini(&p);
    as_arena_fini(&arena);
    return state;
}

enum as_peak_cache_state as_peak_cache_load(struct as_peaks *out, const char *path,
                                            const char *fingerprint)
{
    enum as_peak_cache_state state = AS_PEAK_CACHE_DAMAGED;
    char *text = as_alloc(CACHE_MAX_BYTES + 1);
    ssize_t n = text ? as_read_kept(path, text, CACHE_MAX_BYTES + 1) : -1;

    if (!text)
        return AS_PEAK_CACHE_UNREADABLE;
    if (n < 0 && errno != EINVAL)
        state =
            errno == ENOENT || errno == ENOTDIR ? AS_PEAK_CACHE_ABSENT : AS_PEAK_CACHE_UNREADABLE;
    else if (n >= 0 && n <= CACHE_MAX_BYTES)
        state = as_peak_cache_parse(out, text, (size_t)n, fingerprint);
    as_free(text);
    return state;
}
