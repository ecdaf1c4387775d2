/* measure/peaks/peak_cache.c - peaks measured before, kept in a file for the host they were
 * measured on. */
#include "measure/peaks/peak_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json/json_parser.h"
#include "base/json/json_writer.h"
#include "base/units.h"

#define CACHE_SCHEMA    "assay.peaks"
#define CACHE_MAX_BYTES 65536
#define FINGERPRINT_HEX 64

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

/* Writing. */

static void put_peak(struct as_json_writer *w, const struct as_peak *p)
{
    as_json_object(w);
    as_json_kv_f64(w, "rate", p->rate);
    if (p->why) {
        as_json_kv_text(w, "why", p->why);
    } else {
        as_json_kv_f64(w, "spread", p->spread);
        as_json_kv_text(w, "isa", p->isa);
    }
    as_json_object_end(w);
}

static void put_row(struct as_json_writer *w, const struct as_peak *row, unsigned n)
{
    as_json_array(w);
    for (unsigned i = 0; i < n; i++)
        put_peak(w, &row[i]);
    as_json_array_end(w);
}

static void put_all(struct as_json_writer *w, const struct as_peaks *p, const char *fingerprint)
{
    as_json_object(w);
    as_json_kv_text(w, "schema", CACHE_SCHEMA);
    as_json_kv_u64(w, "schema_version", AS_PEAKS_VERSION);
    as_json_kv_text(w, "fingerprint", fingerprint);
    AS_JSON_FIELDS(w, p, measured_unix_ns, took_ns, frequency_hz, vector_hz, clock_ns, gettime_ns);
    as_json_kv_array(w, "threads");
    for (unsigned i = 0; i < p->n_counts; i++)
        as_json_u64(w, p->threads[i]);
    as_json_array_end(w);
    as_json_kv_array(w, "places");
    for (int level = 0; level < AS_PEAK_LEVEL_COUNT; level++) {
        as_json_object(w);
        as_json_kv_u64(w, "size_bytes", p->place[level].size_bytes);
        as_json_kv_u64(w, "set_bytes", p->place[level].set_bytes);
        as_json_object_end(w);
    }
    as_json_array_end(w);
    as_json_kv_array(w, "compute");
    for (int type = 0; type < AS_PEAK_TYPE_COUNT; type++)
        put_row(w, p->compute[type], p->n_counts);
    as_json_array_end(w);
    as_json_kv_array(w, "bandwidth");
    for (int level = 0; level < AS_PEAK_LEVEL_COUNT; level++) {
        as_json_array(w);
        for (int access = 0; access < AS_PEAK_ACCESS_COUNT; access++)
            put_row(w, p->bandwidth[level][access], p->n_counts);
        as_json_array_end(w);
    }
    as_json_array_end(w);
    as_json_object_end(w);
}

int as_peak_cache_save(const struct as_peaks *peaks, const char *path, const char *fingerprint,
                       struct assay_error *err)
{
    struct as_json_writer w;
    struct as_out out;
    int rc = as_out_file(&out, path, err);

    if (rc < 0)
        return rc;
    as_json_writer_init(&w, &out, 1);
    put_all(&w, peaks, fingerprint);
    as_out_char(&out, '\n');
    rc = as_json_writer_finish(&w, err);
    if (rc == ASSAY_OK)
        return as_out_close(&out, err);
    as_out_drop(&out);
    return rc;
}

/* Reading: every function is false as soon as something is not as it was written. */

struct reader {
    struct as_json_parser json;
    struct as_peaks p;
    bool foreign;
    const char *fingerprint;
};

static bool next_is(struct reader *r, enum as_json_kind kind)
{
    return as_json_next(&r->json, NULL) == (int)kind;
}

static bool take_u64(struct reader *r, uint64_t *out)
{
    return next_is(r, AS_JSON_NUMBER) && as_json_get_u64(&r->json, out, NULL) == ASSAY_OK;
}

/* A rate, a time or a share: finite and within bounds, or null where that is allowed. */
static bool take_real(struct reader *r, double least, double most, bool may_be_null, double *out)
{
    int kind = as_json_next(&r->json, NULL);

    *out = AS_UNKNOWN;
    if (kind == AS_JSON_NULL)
        return may_be_null;
    return kind == AS_JSON_NUMBER && as_json_get_f64(&r->json, out, NULL) == ASSAY_OK &&
           *out >= least && *out <= most;
}

static bool take_key(struct reader *r, const char *key)
{
    return next_is(r, AS_JSON_KEY) && as_json_text_is(&r->json, key);
}

static bool take_peak(struct reader *r, struct as_peak *out)
{
    *out = (struct as_peak){.spread = AS_UNKNOWN};
    if (!next_is(r, AS_JSON_OBJECT) || !take_key(r, "rate") ||
        !take_real(r, 1, 1e18, true, &out->rate))
        return false;
    if (isnan(out->rate)) {
        if (!take_key(r, "why") || !next_is(r, AS_JSON_STRING))
            return false;
        out->why = as_peak_reason_find(r->json.text, r->json.text_size);
        return out->why && next_is(r, AS_JSON_OBJECT_END);
    }
    if (!take_key(r, "spread") || !take_real(r, 0, 1, false, &out->spread) || !take_key(r, "isa") ||
        !next_is(r, AS_JSON_STRING))
        return false;
    out->isa = as_peak_isa_find(r->json.text, r->json.text_size);
    return out->isa && next_is(r, AS_JSON_OBJECT_END);
}

static bool take_row(struct reader *r, struct as_peak *row)
{
    if (!next_is(r, AS_JSON_ARRAY))
        return false;
    for (unsigned i = 0; i < r->p.n_counts; i++)
        if (!take_peak(r, &row[i]))
            return false;
    return next_is(r, AS_JSON_ARRAY_END);
}

static bool take_schema(struct reader *r)
{
    return next_is(r, AS_JSON_STRING) && as_json_text_is(&r->json, CACHE_SCHEMA);
}

/* From here on a wrong value means another version or host, not damage. */
static bool take_version(struct reader *r)
{
    uint64_t version;

    if (!take_u64(r, &version))
        return false;
    r->foreign |= version != AS_PEAKS_VERSION;
    return !r->foreign;
}

static bool take_fingerprint(struct reader *r)
{
    if (!next_is(r, AS_JSON_STRING) || r->json.text_size != FINGERPRINT_HEX)
        return false;
    r->foreign |= !as_json_text_is(&r->json, r->fingerprint);
    return !r->foreign;
}

static bool take_measured(struct reader *r)
{
    return take_u64(r, &r->p.measured_unix_ns);
}

static bool take_took(struct reader *r)
{
    return take_u64(r, &r->p.took_ns);
}

static bool take_frequency(struct reader *r)
{
    return take_real(r, 1e6, 1e12, true, &r->p.frequency_hz);
}

static bool take_vector_hz(struct reader *r)
{
    return take_real(r, 1e6, 1e12, true, &r->p.vector_hz);
}

static bool take_clock(struct reader *r)
{
    return take_real(r, 0, 1e9, false, &r->p.clock_ns);
}

static bool take_gettime(struct reader *r)
{
    return take_real(r, 0, 1e9, false, &r->p.gettime_ns);
}

/* Ascending, the first 1. */
static bool take_threads(struct reader *r)
{
    struct as_peaks *p = &r->p;
    uint64_t n;
    int kind;

    if (!next_is(r, AS_JSON_ARRAY))
        return false;
    while ((kind = as_json_next(&r->json, NULL)) == AS_JSON_NUMBER) {
        if (p->n_counts == AS_PEAK_MAX_COUNTS || as_json_get_u64(&r->json, &n, NULL) < 0 ||
            n > AS_PEAK_MAX_THREADS || (p->n_counts == 0 && n != 1) ||
            (p->n_counts > 0 && n <= p->threads[p->n_counts - 1]))
            return false;
        p->threads[p->n_counts++] = (unsigned)n;
    }
    return kind == AS_JSON_ARRAY_END && p->n_counts > 0;
}

static bool take_places(struct reader *r)
{
    if (!next_is(r, AS_JSON_ARRAY))
        return false;
    for (int level = 0; level < AS_PEAK_LEVEL_COUNT; level++) {
        struct as_peak_place *place = &r->p.place[level];

        if (!next_is(r, AS_JSON_OBJECT) || !take_key(r, "size_bytes") ||
            !take_u64(r, &place->size_bytes) || !take_key(r, "set_bytes") ||
            !take_u64(r, &place->set_bytes) || !next_is(r, AS_JSON_OBJECT_END))
            return false;
    }
    return next_is(r, AS_JSON_ARRAY_END);
}

static bool take_compute(struct reader *r)
{
    if (!next_is(r, AS_JSON_ARRAY))
        return false;
    for (int type = 0; type < AS_PEAK_TYPE_COUNT; type++)
        if (!take_row(r, r->p.compute[type]))
            return false;
    return next_is(r, AS_JSON_ARRAY_END);
}

static bool take_bandwidth(struct reader *r)
{
    if (!next_is(r, AS_JSON_ARRAY))
        return false;
    for (int level = 0; level < AS_PEAK_LEVEL_COUNT; level++) {
        if (!next_is(r, AS_JSON_ARRAY))
            return false;
        for (int access = 0; access < AS_PEAK_ACCESS_COUNT; access++)
            if (!take_row(r, r->p.bandwidth[level][access]))
                return false;
        if (!next_is(r, AS_JSON_ARRAY_END))
            return false;
    }
    return next_is(r, AS_JSON_ARRAY_END);
}

/* In the order they are written in: rows cannot be read before the thread counts are known. */
static const struct {
    const char *key;
    bool (*take)(struct reader *r);
} fields[] = {
    {"schema", take_schema},
    {"schema_version", take_version},
    {"fingerprint", take_fingerprint},
    {"measured_unix_ns", take_measured},
    {"took_ns", take_took},
    {"frequency_hz", take_frequency},
    {"vector_hz", take_vector_hz},
    {"clock_ns", take_clock},
    {"gettime_ns", take_gettime},
    {"threads", take_threads},
    {"places", take_places},
    {"compute", take_compute},
    {"bandwidth", take_bandwidth},
};

enum as_peak_cache_state as_peak_cache_parse(struct as_peaks *out, const void *data, size_t size,
                                             const char *fingerprint)
{
    struct reader r = {.fingerprint = fingerprint};
    bool good;

    as_json_parser_init(&r.json, data, size);
    r.json.decode.max_bytes = 1024;
    good = next_is(&r, AS_JSON_OBJECT);
    for (size_t i = 0; good && i < AS_COUNT_OF(fields); i++)
        good = take_key(&r, fields[i].key) && fields[i].take(&r);
    good = good && next_is(&r, AS_JSON_OBJECT_END) && next_is(&r, AS_JSON_END);
    as_json_parser_fini(&r.json);
    if (r.foreign)
        return AS_PEAK_CACHE_FOREIGN;
    if (!good)
        return AS_PEAK_CACHE_DAMAGED;
    *out = r.p;
    return AS_PEAK_CACHE_FOUND;
}

enum as_peak_cache_state as_peak_cache_load(struct as_peaks *out, const char *path,
                                            const char *fingerprint)
{
    enum as_peak_cache_state state = AS_PEAK_CACHE_DAMAGED;
    /* Not waiting: somebody may have put a pipe there. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    char *text = NULL;
    size_t size = 0;
    struct stat st;
    ssize_t n;

    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? AS_PEAK_CACHE_ABSENT
                                                   : AS_PEAK_CACHE_UNREADABLE;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > CACHE_MAX_BYTES)
        goto out;
    text = as_alloc(CACHE_MAX_BYTES + 1);
    if (!text) {
        state = AS_PEAK_CACHE_UNREADABLE;
        goto out;
    }
    while (size <= CACHE_MAX_BYTES && (n = read(fd, text + size, CACHE_MAX_BYTES + 1 - size)) > 0)
        size += (size_t)n;
    if (size <= CACHE_MAX_BYTES)
        state = as_peak_cache_parse(out, text, size, fingerprint);
out:
    as_free(text);
    close(fd);
    return state;
}
