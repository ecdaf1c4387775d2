/* tests/fuzz/fuzz_safetensors_set.c - any bytes as a model of several safetensors files with its
 * config.json. Input: the index, the config and up to four shards, with a line "====" between; an
 * index that is none is a file of its own. Opened from a folder, as users have it. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/model_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { N_FILES = 6 };

static const char *const names[N_FILES] = {"model.safetensors.index.json",
                                           "config.json",
                                           "a.safetensors",
                                           "b.safetensors",
                                           "c.safetensors",
                                           "d.safetensors"};
static const char between[] = "\n====\n";
static char folder[] = "/dev/shm/fuzz-set-XXXXXX";
static int held = -1;

static void leave(void)
{
    for (size_t i = 0; i < N_FILES; i++)
        unlinkat(held, names[i], 0);
    rmdir(folder);
}

static void prepare(void)
{
    if (held >= 0)
        return;
    if (!mkdtemp(folder) || (held = open(folder, O_RDONLY | O_DIRECTORY)) < 0)
        exit(1);
    atexit(leave);
}

static void put_file(const char *name, const uint8_t *data, size_t size)
{
    int fd = openat(held, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        exit(1);
    close(fd);
}

static void put_files(const uint8_t *data, size_t size)
{
    const uint8_t *at = data, *end = data + size;

    for (size_t i = 0; i < N_FILES; i++) {
        const uint8_t *stop = at ? memmem(at, (size_t)(end - at), between, sizeof between - 1) : at;

        unlinkat(held, names[i], 0);
        if (!at)
            continue;
        put_file(names[i], at, (size_t)((stop ? stop : end) - at));
        at = stop ? stop + sizeof between - 1 : NULL;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct assay_error err = {0};
    struct as_model *model;
    char path[96];
    int rc;

    prepare();
    put_files(data, size);
    snprintf(path, sizeof path, "%s/%s", folder, names[0]);
    rc = as_model_open(&model, path, &err);
    if (rc < 0 && (model || err.code != rc || err.msg[0] == '\0'))
        abort();
    for (uint32_t i = 0; rc == ASSAY_OK && i < model->n_values; i++) {
        const struct as_data *constant = model->values[i].data;
        volatile uint8_t last;

        if (constant && constant->bytes && constant->stored_bytes && !constant->generated)
            last = constant->bytes[constant->stored_bytes - 1]; /* it lies in its shard */
        (void)last;
    }
    as_model_free(model);
    return 0;
}
