/* experiment/bench/bench_journal.c - every finished sample, appended as one line the moment it is
 * finished, so that a run that is killed goes on where it was. */
#include "experiment/bench/bench_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/file/file_open.h"
#include "base/hash.h"
#include "format/mapped_file.h"

#define MAX_LINE   (1u << 20)
#define MAX_VALUES 65536
#define TAIL       ",\"crc\":\"xxxxxxxx\"}\n"
#define TAIL_BYTES (sizeof TAIL - 1)
#define SYNC_NS    1000000000u

/* ---- writing ---- */

/* `text` is a whole object; the line ends with its checksum in place of the last brace. */
static int put_line(struct as_journal *journal, struct as_out *text, struct assay_error *err)
{
    size_t size = 0;
    const char *body = as_out_get(text, &size);
    char tail[TAIL_BYTES + 1];
    uint32_t crc = as_crc32c(0, body, size - 1);
    uint64_t now = as_clock_mono_ns();

    if (!as_out_ok(text))
        return as_fail_nomem(err);
    (void)snprintf(tail, sizeof tail, ",\"crc\":\"%08x\"}\n", crc);
    text->used--;
    as_out_put(text, tail, TAIL_BYTES);
    body = as_out_get(text, &size);
    if (!as_out_ok(text))
        return as_fail_nomem(err);
    if (!as_write_all(journal->fd, body, size))
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot write %s", journal->path);
    /* A killed program loses nothing; a machine that dies loses a second. */
    if (now - journal->synced_ns > SYNC_NS) {
        (void)fdatasync(journal->fd);
        journal->synced_ns = now;
    }
    return ASSAY_OK;
}

int as_journal_add(struct as_journal *journal, const struct as_bench_sample *sample,
                   struct assay_error *err)
{
    struct as_json_writer w;
    struct as_out text;
    int rc = as_out_memory(&text, err);

    if (rc < 0)
        return rc;
    as_json_writer_init(&w, &text, 0);
    as_json_object(&w);
    as_bench_sample_write(sample, &w);
    as_json_object_end(&w);
    rc = put_line(journal, &text, err);
    as_out_drop(&text);
    return rc;
}

int as_journal_fail(struct as_journal *journal, uint64_t setting, const char *why,
                    struct assay_error *err)
{
    struct as_json_writer w;
    struct as_out text;
    int rc = as_out_memory(&text, err);

    if (rc < 0)
        return rc;
    as_json_writer_init(&w, &text, 0);
    as_json_object(&w);
    as_json_kv_u64(&w, "setting", setting);
    as_json_kv_text(&w, "failed", why);
    as_json_object_end(&w);
    rc = put_line(journal, &text, err);
    as_out_drop(&text);
    return rc;
}

static int put_plan(struct as_journal *journal, const char *plan, struct assay_error *err)
{
    struct as_json_writer w;
    struct as_out text;
    int rc = as_out_memory(&text, err);

    if (rc < 0)
        return rc;
    as_json_writer_init(&w, &text, 0);
    as_json_object(&w);
    as_json_kv_text(&w, "schema", "assay.bench.journal");
    as_json_kv_u64(&w, "schema_version", 1);
    as_json_key(&w, "plan");
    as_json_raw(&w, plan, strlen(plan));
    as_json_object_end(&w);
    rc = put_line(journal, &text, err);
    as_out_drop(&text);
    return rc;
}

static int lock(struct as_journal *journal, struct assay_error *err)
{
    if (as_lock_file(journal->fd, LOCK_EX | LOCK_NB) == 0)
        return ASSAY_OK;
    if (errno != EWOULDBLOCK)
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot lock %s", journal->path);
    return as_fail(err, ASSAY_ERR_STATE, "another process is writing %s", journal->path);
}

static void shut(struct as_journal *journal)
{
    if (journal->fd >= 0)
        (void)close(journal->fd);
    journal->fd = -1;
}

int as_journal_create(struct as_journal *journal, const char *path, const char *plan,
                      struct assay_error *err)
{
    struct assay_error why = {0};
    int rc;

    *journal = (struct as_journal){.path = path};
    journal->fd = rc = as_new_file_create(path, O_WRONLY | O_APPEND, &why);
    if (rc < 0 && why.sys == EEXIST)
        return as_fail(err, ASSAY_ERR_STATE, "%s already exists", path);
    if (rc < 0) {
        if (err)
            *err = why;
        return rc;
    }
    rc = lock(journal, err);
    if (rc == ASSAY_OK)
        rc = put_plan(journal, plan, err);
    if (rc < 0)
        shut(journal);
    return rc;
}

int as_journal_close(struct as_journal *journal, struct assay_error *err)
{
    int fd = journal->fd;

    journal->fd = -1;
    if (fd < 0)
        return ASSAY_OK;
    if (as_sync_fd(fd) != 0 && errno != EINVAL && errno != EROFS) {
        int rc = as_fail_sys(err, ASSAY_ERR_IO, "cannot put %s on the disk", journal->path);

        (void)close(fd);
        return rc;
    }
    return close(fd) == 0 || errno == EINTR
               ? ASSAY_OK
               : as_fail_sys(err, ASSAY_ERR_IO, "cannot write %s", journal->path);
}

/* ---- reading ---- */

struct reader {
    struct as_mapped_file file;
    uint64_t at, line; /* byte, and line from 1 */
};

/* The next line with its right checksum: 1, 0 at the end or at a line without one, or a code. */
static int next_line(struct reader *r, struct as_arena *arena, const struct as_json_value **out,
                     struct assay_error *err)
{
    size_t left = (size_t)(r->file.size - r->at);
    const char *from = left ? (const char *)r->file.bytes + r->at : NULL;
    const char *end = from ? memchr(from, '\n', left) : NULL;
    size_t size = end ? (size_t)(end - from) + 1 : 0;
    unsigned char stored[4];
    uint32_t crc;
    int rc;

    if (!end)
        return 0;
    r->line++;
    if (size < TAIL_BYTES + 2 || size > MAX_LINE || memcmp(end + 1 - TAIL_BYTES, TAIL, 8) != 0 ||
        !as_unhex(end - 10, 8, stored, 4))
        return as_fail(err, ASSAY_ERR_FORMAT, "%s: line %llu is not a line of a journal",
                       r->file.path, (unsigned long long)r->line);
    crc = as_crc32c(0, from, size - TAIL_BYTES);
    if (crc != ((uint32_t)stored[0] << 24 | (uint32_t)stored[1] << 16 | (uint32_t)stored[2] << 8 |
                stored[3]))
        return as_fail(err, ASSAY_ERR_FORMAT, "%s: line %llu is damaged", r->file.path,
                       (unsigned long long)r->line);
    rc = as_json_tree_read(out, arena, from, size - 1, MAX_VALUES, err);
    if (rc < 0)
        return as_fail(err, rc, "%s: line %llu is not JSON", r->file.path,
                       (unsigned long long)r->line);
    r->at += size;
    return 1;
}

static int read_plan(struct reader *r, struct as_arena *arena, const struct as_json_value **plan,
                     struct assay_error *err)
{
    const struct as_json_value *line = NULL;
    const char *schema;
    int rc = next_line(r, arena, &line, err);

    if (rc < 0)
        return rc;
    schema = rc ? as_json_words(as_json_get(line, "schema")) : NULL;
    *plan = as_json_get(line, "plan");
    if (!schema || strcmp(schema, "assay.bench.journal") != 0 || !*plan)
        return as_fail(err, ASSAY_ERR_FORMAT, "%s is not a journal of a bench", r->file.path);
    if (as_json_number(as_json_get(line, "schema_version")) != 1)
        return as_fail(err, ASSAY_ERR_FORMAT, "%s was written by a later version of assay",
                       r->file.path);
    return ASSAY_OK;
}

static bool same_value(const struct as_json_value *a, const struct as_json_value *b)
{
    const struct as_json_value *x, *y;

    if (a->type != b->type || a->n != b->n || a->number != b->number)
        return false;
    /* Numbers by their digits: whole ones may be beyond what a double tells apart. */
    if ((a->type == AS_TYPE_TEXT || a->type == AS_TYPE_NUMBER) && strcmp(a->text, b->text) != 0)
        return false;
    if (a->type != AS_TYPE_ARRAY && a->type != AS_TYPE_OBJECT)
        return true;
    for (x = a->first, y = b->first; x && y; x = x->next, y = y->next)
        if ((x->key && strcmp(x->key, y->key) != 0) || !same_value(x, y))
            return false;
    return !x && !y;
}

static int compare_plans(const struct as_json_value *kept, const struct as_json_value *wanted,
                         const char *path, struct assay_error *err)
{
    for (const struct as_json_value *v = wanted->first; v; v = v->next) {
        const struct as_json_value *old = as_json_get(kept, v->key);

        if (!old || !same_value(old, v))
            return as_fail(err, ASSAY_ERR_STATE,
                           "%s was started with another value of %s; give the same options to "
                           "continue, or another folder",
                           path, v->key);
    }
    if (kept->n != wanted->n)
        return as_fail(err, ASSAY_ERR_STATE, "%s was started with other options", path);
    return ASSAY_OK;
}

static int read_samples(struct reader *r, as_journal_seen seen, void *user, struct assay_error *err)
{
    int rc = 1;

    while (rc > 0) {
        struct as_arena arena = {0};
        const struct as_json_value *line = NULL;
        struct as_bench_sample sample;
        const char *why;

        rc = next_line(r, &arena, &line, err);
        if (rc > 0) {
            int bad = as_bench_sample_read(&sample, line, err);

            why = as_json_words(as_json_get(line, "failed"));
            if (bad == ASSAY_OK)
                bad = seen(user, &sample, why, err);
            rc = bad < 0 ? bad : 1;
        }
        as_arena_fini(&arena);
    }
    return rc;
}

static int cut_tail(struct as_journal *journal, const struct reader *r, struct assay_error *err)
{
    journal->torn = r->at < r->file.size;
    if (journal->torn && as_truncate_fd(journal->fd, (off_t)r->at) != 0)
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot write %s", journal->path);
    return ASSAY_OK;
}

int as_journal_resume(struct as_journal *journal, const char *path, const char *plan,
                      as_journal_seen seen, void *user, struct assay_error *err)
{
    struct as_arena arena = {0};
    const struct as_json_value *kept = NULL, *wanted = NULL;
    struct reader r = {0};
    int rc;

    *journal = (struct as_journal){.path = path};
    journal->fd = as_open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK);
    if (journal->fd < 0)
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot continue %s", path);
    rc = lock(journal, err);
    if (rc == ASSAY_OK)
        rc = as_mapped_file_open(&r.file, path, err);
    if (rc == ASSAY_OK)
        rc = read_plan(&r, &arena, &kept, err);
    if (rc == ASSAY_OK)
        rc = as_json_tree_read(&wanted, &arena, plan, strlen(plan), MAX_VALUES, err);
    if (rc == ASSAY_OK)
        rc = compare_plans(kept, wanted, path, err);
    if (rc == ASSAY_OK)
        rc = read_samples(&r, seen, user, err);
    if (rc == ASSAY_OK)
        rc = cut_tail(journal, &r, err);
    as_mapped_file_close(&r.file);
    as_arena_fini(&arena);
    if (rc < 0)
        shut(journal);
    return rc;
}

int as_journal_read(const char *path, struct as_arena *arena, const struct as_json_value **plan,
                    as_journal_seen seen, void *user, struct assay_error *err)
{
    struct reader r = {0};
    int rc = as_mapped_file_open(&r.file, path, err);

    if (rc == ASSAY_OK)
        rc = read_plan(&r, arena, plan, err);
    if (rc == ASSAY_OK)
        rc = read_samples(&r, seen, user, err);
    if (rc == ASSAY_OK && r.at < r.file.size)
        rc = as_fail(err, ASSAY_ERR_FORMAT, "%s: line %llu is cut short", path,
                     (unsigned long long)r.line + 1);
    as_mapped_file_close(&r.file);
    return rc;
}

int as_journal_plan(const char *path, struct as_arena *arena, const struct as_json_value **plan,
                    struct assay_error *err)
{
    struct reader r = {0};
    int rc = as_mapped_file_open(&r.file, path, err);

    if (rc == ASSAY_OK)
        rc = read_plan(&r, arena, plan, err);
    as_mapped_file_close(&r.file);
    return rc;
}
