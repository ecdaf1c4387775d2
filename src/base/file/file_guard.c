/* base/file/file_guard.c - what no output may replace: a file that the command reads, and, unless
 * the user says so, a recorded run or a model. */
#include "base/file/file_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/file/file_open.h"
#include "base/file/file_read.h"
#include "base/file/new_file.h"
#include "base/units.h"

/* Files beyond these are not remembered; no command reads as many from its command line. */
#define MAX_KNOWN 4096

struct known {
    dev_t dev;
    ino_t ino;
    bool ours;    /* written by this program */
    bool renewed; /* by an earlier part of its work: may be replaced, whatever it is */
};

/* Set while the program starts; the list only grows. */
static atomic_bool guarding, replacing;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct known known[MAX_KNOWN];
static size_t n_known;

void as_guard_inputs(void)
{
    atomic_store(&guarding, true);
}

void as_guard_allow_replacing(void)
{
    atomic_store(&replacing, true);
}

static struct known *find(const struct stat *st)
{
    for (size_t i = 0; i < n_known; i++)
        if (known[i].dev == st->st_dev && known[i].ino == st->st_ino)
            return &known[i];
    return NULL;
}

static void remember(const struct stat *st, bool ours)
{
    struct known *at;

    if (!S_ISREG(st->st_mode))
        return;
    pthread_mutex_lock(&lock);
    at = find(st);
    if (at && ours)
        at->ours = true; /* the number of a file that has gone, given again */
    else if (!at && n_known < MAX_KNOWN)
        known[n_known++] = (struct known){st->st_dev, st->st_ino, ours, false};
    pthread_mutex_unlock(&lock);
}

static bool is_guarding(void)
{
    return atomic_load_explicit(&guarding, memory_order_relaxed);
}

void as_guard_input(int fd)
{
    struct stat st;

    if (is_guarding() && fd >= 0 && fstat(fd, &st) == 0)
        remember(&st, false);
}

void as_guard_input_path(const char *path)
{
    struct stat st;

    if (is_guarding() && stat(path, &st) == 0)
        remember(&st, false);
}

void as_guard_output(int fd)
{
    struct stat st;

    if (is_guarding() && fstat(fd, &st) == 0)
        remember(&st, true);
}

void as_guard_renew_path(const char *path)
{
    struct known *at;
    struct stat st;

    if (!is_guarding() || lstat(path, &st) != 0)
        return;
    remember(&st, true);
    pthread_mutex_lock(&lock);
    at = find(&st);
    if (at)
        at->renewed = true;
    pthread_mutex_unlock(&lock);
}

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);

    return n > m && strcasecmp(name + n - m, end) == 0;
}

/* By the name alone, whatever is in it. */
static bool is_named_model(const char *name)
{
    static const char *const ends[] = {
        ".onnx",
        ".onnx.data",
        ".onnx_data",
        ".ort",
        ".gguf",
        ".safetensors",
        ".safetensors.index.json",
        ".tflite",
        ".pt",
        ".pth",
        ".ckpt",
        ".h5",
        ".keras",
        ".mlmodel",
    };

    for (size_t i = 0; i < AS_COUNT_OF(ends); i++)
        if (ends_in(name, ends[i]))
            return true;
    return false;
}

/* ONNX has no magic: a small version number comes first, then another field of the outermost
 * message. */
static bool begins_as_onnx(const uint8_t *head, size_t n)
{
    static const uint8_t second[] = {0x12, 0x1a, 0x22, 0x28, 0x32, 0x3a, 0x42, 0x72, 0xa2, 0xca};

    return n > 2 && head[0] == 0x08 && head[1] > 0 && head[1] < 0x80 &&
           memchr(second, head[2], sizeof second);
}

static const char *kind_of(const uint8_t *head, size_t n)
{
    if (n >= 8 && memcmp(head, "ASSAYRUN", 8) == 0)
        return "a recorded run";
    if (n >= 8 && memcmp(head, "ASSAYRNG", 8) == 0)
        return "the ring of a recorded run";
    if ((n >= 4 && memcmp(head, "GGUF", 4) == 0) || (n >= 8 && memcmp(head + 4, "TFL3", 4) == 0) ||
        (n >= 10 && head[8] == '{' && (head[9] == '"' || head[9] == '}') && head[7] == 0) ||
        begins_as_onnx(head, n))
        return "a model";
    return NULL;
}

/* NULL: nothing that needs asking. What cannot be read is not known to be anything. */
static const char *precious(int folder, const char *name, const struct stat *st)
{
    uint8_t head[16];
    ssize_t n;
    int fd;

    if (st->st_size == 0)
        return NULL;
    if (is_named_model(name))
        return "a model";
    fd = as_open_at(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    n = fd < 0 ? -1 : as_pread_some(fd, head, sizeof head, 0);
    if (fd >= 0)
        (void)close(fd);
    return n > 0 ? kind_of(head, (size_t)n) : NULL;
}

int as_guard_check(int folder, const char *name, const struct stat *st, const char *path,
                   struct assay_error *err)
{
    const struct known *at;
    const char *what;
    bool input, renewed;

    pthread_mutex_lock(&lock);
    at = find(st);
    input = at && !at->ours;
    renewed = at && at->renewed;
    pthread_mutex_unlock(&lock);
    if (input)
        return as_fail(err, ASSAY_ERR_STATE,
                       "cannot write %s: this command reads that file; choose another name", path);
    if (renewed || atomic_load(&replacing))
        return ASSAY_OK;
    what = precious(folder, name, st);
    if (!what)
        return ASSAY_OK;
    return as_fail(err, ASSAY_ERR_STATE,
                   atomic_load(&guarding)
                       ? "cannot write %s: %s is there; choose another name, or --force replaces it"
                       : "cannot write %s: %s is there; remove it, or choose another name",
                   path, what);
}

int as_guard_check_path(const char *path, struct assay_error *err)
{
    struct stat st;

    if (fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
        return ASSAY_OK; /* writing says what else is wrong */
    return as_guard_check(AT_FDCWD, path, &st, path, err);
}
