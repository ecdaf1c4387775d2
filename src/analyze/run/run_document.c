/* analyze/run/run_document.c - the JSON that assay prints, as a run again. */
#include "analyze/run/run_document.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/file/file_guard.h"
#include "base/file/file_map.h"
#include "base/file/file_open.h"
#include "base/file/file_read.h"
#include "base/file/new_file.h"
#include "base/json/json_parser.h"
#include "trace/run/run_format.h"

/* Of a document: the run in base64, and results of about the same size. */
#define MAX_JSON_BYTES (UINT64_C(256) << 20)

const char *as_run_what_is_broken(const struct as_run *run)
{
    const struct as_run_health *h = &run->health;

    return h->live                             ? "is still being recorded"
           : h->damaged_blocks || h->cut_bytes ? "is corrupt or incomplete"
           : !h->closed                        ? "was never closed"
                                               : NULL;
}

static void put_reason(struct as_json_writer *w, const char *why)
{
    as_json_kv_null(w, "run_file");
    as_json_kv_text(w, "run_file_reason", why);
}

int as_run_embed(struct as_json_writer *w, const struct as_run *run, struct assay_error *err)
{
    size_t size = (size_t)run->size_bytes;
    uint8_t *bytes;
    int rc = ASSAY_OK;

    if (run->redacted) {
        put_reason(w, "arguments of commands are redacted, and the run holds them");
        return ASSAY_OK;
    }
    if (!run->health.closed || run->health.ring_found) {
        put_reason(w, "the run was not closed");
        return ASSAY_OK;
    }
    if (run->size_bytes > AS_DOCUMENT_MAX_BYTES) {
        put_reason(w, "the run is larger than 16 MiB");
        return ASSAY_OK;
    }
    bytes = as_alloc(size + 1);
    if (!bytes)
        return as_fail_nomem(err);
    rc = as_pread_all(run->fd, bytes, size, 0, run->path, err);
    if (rc == ASSAY_OK) {
        as_json_key(w, "run_file");
        as_json_raw(w, "\"", 1); /* the text follows, straight into the output */
        as_base64_put(w->out, bytes, size);
        as_out_char(w->out, '"');
    }
    as_free(bytes);
    return rc;
}

int as_run_copy(const struct as_run *run, struct as_out *out, struct assay_error *err)
{
    uint8_t part[65536];
    uint64_t at = 0;

    while (at < run->size_bytes) {
        uint64_t left = run->size_bytes - at;
        size_t n = left < sizeof part ? (size_t)left : sizeof part;
        int rc = as_pread_all(run->fd, part, n, at, run->path, err);

        if (rc < 0)
            return rc;
        as_out_put(out, part, n);
        at += n;
    }
    return ASSAY_OK;
}

/* ---- reading ---- */

/* The run whose base64 is the current token. */
static int open_embedded(struct as_run **run, const struct as_json_parser *p, const char *path,
                         struct assay_error *err)
{
    size_t size = 0;
    uint8_t *bytes;
    int fd, rc = ASSAY_OK;

    if (!as_base64_bytes(p->text, p->text_size, &size))
        return as_fail(err, ASSAY_ERR_FORMAT, "%s: its member \"run_file\" is not base64", path);
    bytes = as_alloc(size + 4);
    if (!bytes)
        return as_fail_nomem(err);
    fd = as_fd_above_standard(memfd_create("assay-run", MFD_CLOEXEC));
    if (!as_base64_read(p->text, p->text_size, bytes))
        rc = as_fail(err, ASSAY_ERR_FORMAT, "%s: its member \"run_file\" is not base64", path);
    else if (fd < 0 || !as_write_all(fd, bytes, size))
        rc = as_fail_sys(err, ASSAY_ERR_IO, "cannot keep the run of %s in memory", path);
    as_free(bytes);
    if (rc < 0) {
        if (fd >= 0)
            close(fd);
        return rc;
    }
    return as_run_open_fd(run, fd, path, err);
}

/* `schema` stays "" for JSON of others. */
static int read_document(struct as_run **run, const char *text, size_t size, const char *path,
                         struct assay_error *err)
{
    char schema[64] = "", why[160] = "";
    struct as_json_parser p;
    int rc;

    as_json_parser_init(&p, text, size);
    rc = as_json_next(&p, err);
    while (rc > 0 && (rc = as_json_next(&p, err)) == AS_JSON_KEY) {
        bool is_schema = as_json_text_is(&p, "schema"), is_run = as_json_text_is(&p, "run_file");
        bool is_why = as_json_text_is(&p, "run_file_reason");

        rc = as_json_next(&p, err);
        if (rc == AS_JSON_STRING && (is_schema || is_why))
            (void)snprintf(is_schema ? schema : why, is_schema ? sizeof schema : sizeof why, "%.*s",
                           (int)(p.text_size < 150 ? p.text_size : 150), p.text);
        if (rc == AS_JSON_STRING && is_run && !*run)
            rc = open_embedded(run, &p, path, err);
        if (rc >= 0)
            rc = as_json_skip(&p, err);
        if (rc >= 0)
            rc = AS_JSON_KEY; /* goes on */
    }
    as_json_parser_fini(&p);
    if (rc < 0)
        return as_fail_in_file(err, rc, path);
    if (*run)
        return ASSAY_OK;
    if (strncmp(schema, "assay.", 6) != 0)
        return as_fail(err, ASSAY_ERR_FORMAT, "%s is JSON, but not a document of assay", path);
    return as_fail(err, ASSAY_ERR_FORMAT,
                   "%s is a document \"%s\" without its run%s%s: use the run file", path, schema,
                   why[0] ? ", because " : "", why);
}

static bool begins_as_json(int fd)
{
    char start[64];
    ssize_t n = as_pread_some(fd, start, sizeof start, 0);
    ssize_t i = 0;

    if (n > 0 && memchr(start, 0, (size_t)n))
        return false; /* a safetensors file begins with a number, which may look like it */
    while (i < n && strchr(" \t\r\n", start[i]))
        i++;
    return i < n && start[i] == '{';
}

bool as_run_looks_like_one(const char *path)
{
    char start[sizeof AS_RUN_MAGIC - 1];
    size_t size = strlen(path), magic = sizeof start;
    struct stat st;
    ssize_t n;
    bool like;
    int fd;

    if (strncmp(path, "zoo:", 4) == 0)
        return false;
    fd = as_open(path, O_RDONLY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        if (fd >= 0)
            close(fd);
        return true;
    }
    n = as_pread_some(fd, start, magic, 0);
    like = n <= 0 || memcmp(start, AS_RUN_MAGIC, (size_t)n) == 0 || begins_as_json(fd) ||
           (size > 6 && strcmp(path + size - 6, ".assay") == 0);
    close(fd);
    return like;
}

int as_run_open_any(struct as_run **run, const char *path, struct assay_error *err)
{
    int fd = as_open(path, O_RDONLY | O_NONBLOCK), rc;
    struct as_file_spans none = {0};
    struct as_file_map map;
    struct stat st;

    *run = NULL;
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || !begins_as_json(fd)) {
        if (fd >= 0)
            close(fd);
        return as_run_open(run, path, err); /* which says what is wrong with it */
    }
    if ((uint64_t)st.st_size > MAX_JSON_BYTES) {
        close(fd);
        return as_fail(err, ASSAY_ERR_LIMIT, "%s is larger than the 256 MiB that are read as JSON",
                       path);
    }
    as_guard_input(fd);
    rc = as_file_map_open(&map, fd, (uint64_t)st.st_size, &none, path, err);
    close(fd);
    if (rc < 0)
        return rc;
    rc = read_document(run, (const char *)map.bytes, (size_t)map.size, path, err);
    as_file_map_close(&map);
    if (rc < 0) {
        as_run_close(*run);
        *run = NULL;
    }
    return rc;
}
