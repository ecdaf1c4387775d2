/* trace/run/run_maker.c - makes a run of what was measured once, and reads it back. */
#include "trace/run/run_maker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file/file_open.h"
#include "base/file/new_file.h"
#include "trace/run/run_meta.h"
#include "trace/run/run_path.h"

#define ROWS_BYTES (3u << 20) /* a new block is begun beyond */

static void fail_with(struct as_run_maker *m, int code, const struct assay_error *why)
{
    if (m->fault.code)
        return;
    m->fault = *why;
    m->fault.code = code;
}

void as_run_maker_block(struct as_run_maker *m, uint16_t kind, const void *payload, size_t size,
                        uint32_t records)
{
    if (m->fault.code)
        return;
    if (size > AS_BLOCK_MAX_BYTES) {
        (void)as_fail(&m->fault, ASSAY_ERR_LIMIT, "%zu bytes are too many for one block of a run",
                      size);
    } else if (!as_run_writer_add(&m->file, kind, payload, size, records)) {
        errno = m->file.sys;
        (void)as_fail_sys(&m->fault, ASSAY_ERR_IO, "cannot write %s",
                          m->path[0] ? m->path : "the run");
    }
}

static void add_block(struct as_run_maker *m, uint16_t kind, const void *payload, size_t size)
{
    as_run_maker_block(m, kind, payload, size, 0);
}

static void put_facts(struct as_run_maker *m, const char *kind)
{
    char json[AS_META_MAX_BYTES];
    struct as_run_meta meta = {.kind = kind};
    struct assay_error err;
    int n = as_run_meta_write(&meta, json, sizeof json, &err);

    if (n < 0)
        fail_with(m, n, &err);
    else
        add_block(m, AS_BLOCK_META, json, (size_t)n);
}

static int open_target(struct as_run_maker *m, const char *path, struct assay_error *err)
{
    int fd, rc;

    if (!path) {
        fd = as_fd_above_standard(memfd_create("assay-run", MFD_CLOEXEC));
        return fd < 0 ? as_fail_sys(err, ASSAY_ERR_IO, "cannot keep a run in memory") : fd;
    }
    rc = as_run_path_check(path, err);
    if (rc < 0)
        return rc;
    if (snprintf(m->path, sizeof m->path, "%s", path) >= (int)sizeof m->path)
        return as_fail(err, ASSAY_ERR_LIMIT, "the path of the run is too long");
    fd = as_run_path_create(m->temporary, sizeof m->temporary, path, err);
    if (fd < 0)
        m->temporary[0] = '\0';
    return fd;
}

int as_run_maker_open(struct as_run_maker *m, const char *path, const char *kind,
                      struct assay_error *err)
{
    struct as_run_header header;
    int fd, rc;

    *m = (struct as_run_maker){.file.fd = -1};
    fd = open_target(m, path, err);
    if (fd < 0)
        return fd;
    as_run_header_new(&header);
    rc = as_run_writer_open(&m->file, fd, &header, err);
    if (rc < 0)
        as_run_maker_drop(m);
    else
        put_facts(m, kind);
    return rc;
}

int as_run_maker_append(struct as_run_maker *m, const char *path, const char *kind,
                        struct assay_error *err)
{
    struct as_run *run = NULL;
    char json[128];
    int n, rc = as_run_open(&run, path, err);

    *m = (struct as_run_maker){.file.fd = -1, .complete = true};
    if (rc < 0)
        return rc;
    m->file = (struct as_run_writer){.salt = run->header.salt,
                                     .next_number = run->next_number,
                                     .size_bytes = run->size_bytes - run->health.cut_bytes};
    as_run_close(run);
    (void)snprintf(m->path, sizeof m->path, "%s", path);
    m->file.fd = as_open(path, O_RDWR | O_NOFOLLOW);
    if (m->file.fd < 0)
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot write %s", path);
    n = snprintf(json, sizeof json, "{\"kind\":\"%s\"}", kind);
    add_block(m, AS_BLOCK_META, json, (size_t)n);
    return ASSAY_OK;
}

/* The block of data begun, and its text so far. */
struct data {
    struct as_out out;
    struct as_json_writer w;
};

static bool begin_data(struct as_run_maker *m, struct data *d, const char *name)
{
    uint8_t head[AS_VARINT_MAX + 64];
    size_t size = strlen(name);
    struct assay_error err;

    if (m->fault.code || size > 64)
        return false;
    if (as_out_memory(&d->out, &err) < 0) {
        fail_with(m, ASSAY_ERR_NOMEM, &err);
        return false;
    }
    as_out_put(&d->out, head, (size_t)(as_put_text(head, name, size) - head));
    as_json_writer_init(&d->w, &d->out, 0);
    return true;
}

static void end_data(struct as_run_maker *m, struct data *d)
{
    struct assay_error err = {0};
    const char *bytes;
    size_t size;
    int rc = as_json_writer_finish(&d->w, &err);

    bytes = as_out_get(&d->out, &size);
    if (rc == ASSAY_OK && !as_out_ok(&d->out))
        rc = as_fail_nomem(&err);
    if (rc < 0)
        fail_with(m, rc, &err);
    else
        add_block(m, AS_BLOCK_DATA, bytes, size);
    as_out_drop(&d->out);
}

void as_run_maker_command(struct as_run_maker *m, const char *const *words, size_t n)
{
    struct as_json_writer w;
    struct assay_error err;
    struct as_out out;
    const char *json;
    size_t size;

    if (m->fault.code)
        return;
    if (as_out_memory(&out, &err) < 0) {
        fail_with(m, ASSAY_ERR_NOMEM, &err);
        return;
    }
    as_json_writer_init(&w, &out, 0);
    as_json_object(&w);
    as_json_kv_array(&w, "command");
    for (size_t i = 0; i < n; i++)
        as_json_text(&w, words[i]);
    as_json_array_end(&w);
    as_json_object_end(&w);
    json = as_out_get(&out, &size);
    if (as_out_ok(&out))
        add_block(m, AS_BLOCK_META, json, size);
    else
        (void)as_fail_nomem(&m->fault);
    as_out_drop(&out);
}

void as_run_maker_put(struct as_run_maker *m, const char *name, const struct as_json_shape *shape,
                      const void *object)
{
    struct data d;

    if (!begin_data(m, &d, name))
        return;
    as_json_fields_write(&d.w, shape, object);
    end_data(m, &d);
}

void as_run_maker_rows(struct as_run_maker *m, const char *name, const struct as_json_shape *shape,
                       const void *rows, size_t n)
{
    size_t i = 0;

    do {
        struct data d;

        if (!begin_data(m, &d, name))
            return;
        as_json_object(&d.w);
        as_json_fields_columns(&d.w, shape);
        as_json_kv_array(&d.w, "rows");
        while (i < n && d.out.total_bytes < ROWS_BYTES)
            as_json_fields_row(&d.w, shape, (const char *)rows + i++ * shape->size);
        as_json_array_end(&d.w);
        as_json_object_end(&d.w);
        end_data(m, &d);
    } while (i < n);
}

static void put_end(struct as_run_maker *m)
{
    uint8_t entry[3 * AS_VARINT_MAX], *to = entry;

    to = as_put_varint(to, m->file.events);
    to = as_put_varint(to, 0); /* lost */
    to = as_put_varint(to, m->n_threads);
    if (!m->complete)
        add_block(m, AS_BLOCK_END, entry, (size_t)(to - entry));
}

int as_run_maker_finish(struct as_run_maker *m, struct as_run **run, struct assay_error *err)
{
    int rc = ASSAY_OK;

    *run = NULL;
    put_end(m);
    if (m->fault.code) {
        if (err)
            *err = m->fault;
        rc = m->fault.code;
    }
    if (rc == ASSAY_OK && m->temporary[0]) {
        rc = as_run_path_publish(m->temporary, m->path, err);
        if (rc == ASSAY_OK)
            m->temporary[0] = '\0';
    }
    if (rc == ASSAY_OK && m->path[0]) {
        rc = as_run_open(run, m->path, err);
    } else if (rc == ASSAY_OK) {
        rc = as_run_open_fd(run, m->file.fd, "the run", err);
        m->file.fd = -1;
    }
    as_run_maker_drop(m);
    return rc;
}

void as_run_maker_drop(struct as_run_maker *m)
{
    as_run_writer_close(&m->file);
    if (m->temporary[0])
        unlink(m->temporary);
    m->temporary[0] = '\0';
}

/* ---- reading back ---- */

const char *as_run_kind(struct as_run *run)
{
    const char *kind = as_run_fact_text(run, "kind");

    /* A watching that was killed had no time to name its kind. */
    return kind ? kind : as_run_has(run, AS_DATA_PROGRAM) ? "watch" : "trace";
}

static const struct as_run_data *find_data(const struct as_run *run, const char *name)
{
    for (size_t i = run->n_data; i-- > 0;)
        if (strcmp(run->data[i].kind, name) == 0)
            return &run->data[i];
    return NULL;
}

bool as_run_has(const struct as_run *run, const char *name)
{
    return find_data(run, name) != NULL;
}

static int malformed(const struct as_run *run, const char *name, int rc, struct assay_error *err)
{
    if (rc == ASSAY_ERR_NOMEM)
        return rc;
    return as_fail(err, ASSAY_ERR_FORMAT, "%s: its part \"%s\" is malformed", run->path, name);
}

int as_run_get(struct as_run *run, const char *name, const struct as_json_shape *shape,
               void *object, struct assay_error *err)
{
    const struct as_run_data *data = find_data(run, name);
    struct as_json_parser p;
    int rc;

    if (!data)
        return as_fail(err, ASSAY_ERR_NOTFOUND, "%s: its part \"%s\" is missing", run->path, name);
    as_json_parser_init(&p, data->json, data->json_size);
    rc = as_json_next(&p, err);
    if (rc == AS_JSON_OBJECT)
        rc = as_json_fields_read(shape, object, NULL, &run->arena, &p, err);
    else if (rc >= 0)
        rc = 0;
    as_json_parser_fini(&p);
    return rc == 1 ? ASSAY_OK : malformed(run, name, rc, err);
}

int as_run_get_rows(struct as_run *run, const char *name, const struct as_json_shape *shape,
                    size_t max, void *rows, size_t *n, struct assay_error *err)
{
    struct as_rows all = {.arena = &run->arena, .size = shape->size, .max = max};
    int rc = ASSAY_OK;

    for (size_t i = 0; i < run->n_data && rc == ASSAY_OK; i++) {
        struct as_json_parser p;

        if (strcmp(run->data[i].kind, name) != 0)
            continue;
        as_json_parser_init(&p, run->data[i].json, run->data[i].json_size);
        rc = as_json_next(&p, err);
        rc = rc == AS_JSON_OBJECT ? as_rows_read_table(&all, shape, &p, err)
             : rc < 0             ? rc
                                  : ASSAY_ERR_FORMAT;
        as_json_parser_fini(&p);
    }
    memcpy(rows, &all.at, sizeof all.at);
    *n = all.n;
    return rc == ASSAY_OK && all.passed_over == 0 ? ASSAY_OK : malformed(run, name, rc, err);
}
