/* experiment/bundle/rvf_pack.c - makes a bundle of witnesses.
 * Every witness is verified on the way in, so a bundle never vouches for a broken one. */
#include <assay/experiment/bundle.h>
#include <assay/experiment/witness.h>

#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/json/json_tree.h"
#include "base/output.h"
#include "base/text/utf8.h"
#include "base/units.h"
#include "experiment/bundle/rvf.h"

#define MAX_JSON_VALUES 1000000

/* One witness as it comes in. */
struct source {
    const char *name; /* the last part of its path */
    struct assay_witness_report report;
    struct as_buffer chain;
    struct assay_error *err; /* of the caller, for the step that fills the chain */
};

struct packer {
    const struct assay_bundle_options *options;
    struct source *sources;
    const struct as_json_value *meta, *stats; /* NULL: none */
    struct as_arena arena;
    struct as_out out;      /* the file */
    struct as_buffer whole; /* one segment */
    struct as_rvf_file done;
    uint8_t *hashes; /* of those done */
    struct as_rvf_key key;
    uint64_t timestamp_ns;
};

/* ---- taking in ---- */

static int add_entry(void *user, const struct assay_witness_entry *entry)
{
    struct source *s = user;
    uint8_t action[AS_RVF_HASH_BYTES];

    if (!as_unhex(entry->entry_hash, strlen(entry->entry_hash), action, sizeof action))
        return as_fail(s->err, ASSAY_ERR_STATE, "an entry without a hash");
    return as_rvf_chain_add(&s->chain, action, entry->timestamp_ns, s->err);
}

static int take_witness(struct source *s, const char *path, struct assay_error *err)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    int rc;

    s->name = slash ? slash + 1 : path;
    s->err = err;
    if (!path || !as_utf8_valid(s->name, strlen(s->name)))
        return as_fail(err, ASSAY_ERR_USAGE, "the name of a witness is not UTF-8");
    rc = assay_witness_verify(path, add_entry, s, &s->report, err);
    if (rc == ASSAY_OK && !s->report.whole)
        rc =
            as_fail(err, ASSAY_ERR_FORMAT, "%.90s is not intact: %.120s", path, s->report.sentence);
    return rc;
}

static int take_witnesses(struct packer *p, struct assay_error *err)
{
    const struct assay_bundle_options *o = p->options;
    int rc = ASSAY_OK;

    p->sources = as_alloc_zero(o->n_witnesses + 1, sizeof *p->sources);
    if (!p->sources)
        return as_fail_nomem(err);
    for (size_t i = 0; rc == ASSAY_OK && i < o->n_witnesses; i++) {
        rc = take_witness(&p->sources[i], o->witnesses[i], err);
        for (size_t k = 0; rc == ASSAY_OK && k < i; k++)
            if (strcmp(p->sources[k].name, p->sources[i].name) == 0)
                rc = as_fail(err, ASSAY_ERR_USAGE, "two witnesses are called %.150s",
                             p->sources[i].name);
    }
    return rc;
}

static int take_json(struct packer *p, const char *what, const char *text, size_t size,
                     const struct as_json_value **out, struct assay_error *err)
{
    struct assay_error why = {0};
    int rc;

    if (!text)
        return ASSAY_OK;
    rc = as_json_tree_read(out, &p->arena, text, size, MAX_JSON_VALUES, &why);
    if (rc == ASSAY_ERR_NOMEM)
        return as_fail_nomem(err);
    return rc < 0 ? as_fail(err, rc, "%s: %.200s", what, why.msg) : ASSAY_OK;
}

/* ---- segments ---- */

/* Writes a segment and keeps what the manifest tells of it. */
static int put_segment(struct packer *p, enum as_rvf_type type, const void *payload, size_t size,
                       struct assay_error *err)
{
    struct as_rvf_segment s = {.type = (uint8_t)type,
                               .id = p->done.n + 1,
                               .timestamp_ns = p->timestamp_ns,
                               .offset = p->out.total_bytes,
                               .payload_bytes = size};
    int rc;

    p->whole.size = 0;
    rc = as_rvf_segment_put(&p->whole, &s, payload, NULL, err);
    if (rc < 0)
        return rc;
    s.start = p->whole.data;
    s.bytes = p->whole.size;
    rc = as_rvf_segment_hash(&s, p->hashes + p->done.n * AS_RVF_HASH_BYTES, err);
    if (rc < 0)
        return rc;
    as_out_put(&p->out, p->whole.data, p->whole.size);
    p->done.segments[p->done.n++] = s;
    return ASSAY_OK;
}

static void kv_tree(struct as_json_writer *w, const char *key, const struct as_json_value *value)
{
    as_json_key(w, key);
    if (value)
        as_json_tree_write(w, value);
    else
        as_json_null(w);
}

/* That of all witnesses, or NULL. */
static const char *common_config(const struct packer *p)
{
    const char *common = p->options->n_witnesses ? p->sources[0].report.config_hash : "";

    for (size_t i = 0; i < p->options->n_witnesses; i++)
        if (strcmp(common, p->sources[i].report.config_hash) != 0)
            return NULL;
    return common[0] ? common : NULL;
}

static void write_meta(const struct packer *p, struct as_json_writer *w)
{
    static const char *const given[] = {"model_commit", "weights_hash", "host", "fingerprint"};
    const struct as_json_value *config = as_json_get(p->meta, "config_hash");

    as_json_kv_text(w, "kind", "assay.bundle");
    as_json_kv_u64(w, "version", 1);
    as_json_kv_text(w, "made_by", "assay " ASSAY_VERSION);
    if (config)
        kv_tree(w, "config_hash", config);
    else
        as_json_kv_text(w, "config_hash", common_config(p));
    for (size_t i = 0; i < AS_COUNT_OF(given); i++)
        kv_tree(w, given[i], as_json_get(p->meta, given[i]));
    kv_tree(w, "meta", p->meta);
}

static void write_witness(struct as_json_writer *w, const struct source *s)
{
    const struct assay_witness_report *r = &s->report;

    as_json_object(w);
    as_json_kv_text(w, "name", s->name);
    AS_JSON_FIELDS(w, r, entries, head, file_hash);
    as_json_kv_text(w, "config_hash", r->config_hash[0] ? r->config_hash : NULL);
    as_json_kv_u64(w, "mask_bits", r->mask_bits);
    as_json_kv_u64(w, "mask_kept", r->mask_kept);
    as_json_kv_u64(w, "first_timestamp_ns", r->first_timestamp_ns);
    as_json_kv_u64(w, "last_timestamp_ns", r->last_timestamp_ns);
    as_json_object_end(w);
}

static void write_stats(const struct packer *p, struct as_json_writer *w)
{
    uint64_t entries = 0;

    for (size_t i = 0; i < p->options->n_witnesses; i++)
        entries += p->sources[i].report.entries;
    as_json_kv_text(w, "kind", "assay.bundle_statistics");
    as_json_kv_u64(w, "version", 1);
    as_json_kv_u64(w, "entries", entries);
    as_json_kv_array(w, "witnesses");
    for (size_t i = 0; i < p->options->n_witnesses; i++)
        write_witness(w, &p->sources[i]);
    as_json_array_end(w);
    kv_tree(w, "statistics", p->stats);
}

static int put_json(struct packer *p, void (*write)(const struct packer *, struct as_json_writer *),
                    struct assay_error *err)
{
    struct as_json_writer w;
    struct as_out text;
    int rc = as_out_memory(&text, err);

    if (rc < 0)
        return rc;
    as_json_writer_init(&w, &text, 0);
    as_json_object(&w);
    write(p, &w);
    as_json_object_end(&w);
    rc = as_json_writer_finish(&w, err);
    if (rc == ASSAY_OK && !as_out_ok(&text))
        rc = as_fail_nomem(err);
    if (rc == ASSAY_OK)
        rc = put_segment(p, AS_RVF_METADATA, text.buf, text.used, err);
    as_out_drop(&text);
    return rc;
}

/* The manifest, and over its header and payload the signature. */
static int put_manifest(struct packer *p, struct assay_error *err)
{
    bool sign = p->key.key != NULL;
    uint8_t signature[AS_RVF_SIGNATURE_BYTES] = {0};
    struct as_rvf_segment s = {.type = AS_RVF_MANIFEST,
                               .flags = sign ? AS_RVF_SIGNED : 0,
                               .id = p->done.n + 1,
                               .timestamp_ns = p->timestamp_ns};
    struct as_out text;
    int rc = as_out_memory(&text, err);

    if (rc < 0)
        return rc;
    rc = as_rvf_manifest_put(&text, &s, &p->done, p->hashes, sign ? p->key.public_key : NULL, err);
    p->whole.size = 0;
    if (rc == ASSAY_OK)
        rc = as_rvf_segment_put(&p->whole, &s, text.buf, signature, err);
    if (rc == ASSAY_OK && sign)
        rc = as_rvf_key_sign(&p->key, p->whole.data, AS_RVF_HEADER_BYTES + (size_t)s.payload_bytes,
                             signature, err);
    if (rc == ASSAY_OK && sign) {
        p->whole.size = 0;
        rc = as_rvf_segment_put(&p->whole, &s, text.buf, signature, err);
    }
    if (rc == ASSAY_OK)
        as_out_put(&p->out, p->whole.data, p->whole.size);
    as_out_drop(&text);
    return rc;
}

static int write_all(struct packer *p, struct assay_error *err)
{
    size_t n = p->options->n_witnesses + 2;
    int rc;

    p->done.segments = as_alloc_zero(n, sizeof *p->done.segments);
    p->hashes = as_alloc_zero(n, AS_RVF_HASH_BYTES);
    if (!p->done.segments || !p->hashes)
        return as_fail_nomem(err);
    rc = as_out_file(&p->out, p->options->output, err);
    if (rc == ASSAY_OK)
        rc = put_json(p, write_meta, err);
    for (size_t i = 0; rc == ASSAY_OK && i < p->options->n_witnesses; i++)
        rc =
            put_segment(p, AS_RVF_WITNESS, p->sources[i].chain.data, p->sources[i].chain.size, err);
    if (rc == ASSAY_OK)
        rc = put_json(p, write_stats, err);
    if (rc == ASSAY_OK)
        rc = put_manifest(p, err);
    if (rc == ASSAY_OK)
        rc = as_out_close(&p->out, err);
    as_out_drop(&p->out);
    return rc;
}

static uint64_t now_ns(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The evidence is not written over by what is made of it. */
static int check_output(const struct assay_bundle_options *o, struct assay_error *err)
{
    struct stat out, in;

    if (stat(o->output, &out) != 0)
        return ASSAY_OK;
    for (size_t i = 0; i < o->n_witnesses; i++)
        if (o->witnesses[i] && stat(o->witnesses[i], &in) == 0 && in.st_ino == out.st_ino &&
            in.st_dev == out.st_dev)
            return as_fail(err, ASSAY_ERR_USAGE, "%.150s is one of the witnesses to pack",
                           o->output);
    return ASSAY_OK;
}

int assay_bundle_pack(const struct assay_bundle_options *given, struct assay_error *err)
{
    struct assay_bundle_options whole, *options = &whole;
    struct packer p = {.options = options, .out = {.fd = -1}};
    int rc;

    if (!given)
        return as_fail(err, ASSAY_ERR_USAGE, "the options of a bundle are NULL");
    rc = as_sized_take(&whole, sizeof whole, given, "options of a bundle", err);
    if (rc < 0)
        return rc;
    if (!options->output || (options->n_witnesses && !options->witnesses) ||
        (options->n_witnesses == 0 && !options->meta))
        return as_fail(err, ASSAY_ERR_USAGE,
                       "a bundle needs a file to write and a witness or metadata");
    if (options->n_witnesses > AS_RVF_MAX_SEGMENTS - 3)
        return as_fail(err, ASSAY_ERR_LIMIT, "a bundle has at most %d witnesses",
                       AS_RVF_MAX_SEGMENTS - 3);
    rc = check_output(options, err);
    if (rc < 0)
        return rc;
    p.timestamp_ns = options->timestamp_ns ? options->timestamp_ns : now_ns();
    rc = take_json(&p, "the metadata", options->meta, options->meta_bytes, &p.meta, err);
    if (rc == ASSAY_OK && p.meta && p.meta->type != AS_TYPE_OBJECT)
        rc = as_fail(err, ASSAY_ERR_FORMAT, "the metadata must be a JSON object");
    if (rc == ASSAY_OK)
        rc = take_json(&p, "the statistics", options->stats, options->stats_bytes, &p.stats, err);
    if (rc == ASSAY_OK && options->key_path)
        rc = as_rvf_key_open(&p.key, options->key_path, true, err);
    if (rc == ASSAY_OK)
        rc = take_witnesses(&p, err);
    if (rc == ASSAY_OK)
        rc = write_all(&p, err);
    for (size_t i = 0; p.sources && i < options->n_witnesses; i++)
        as_buffer_fini(&p.sources[i].chain);
    as_free(p.sources);
    as_free(p.hashes);
    as_rvf_file_fini(&p.done);
    as_buffer_fini(&p.whole);
    as_rvf_key_close(&p.key);
    as_arena_fini(&p.arena);
    return rc;
}
