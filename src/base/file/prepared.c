/* base/file/prepared.c - outputs that are opened while the process still may make files. */
#include "base/file/prepared.h"

#include <string.h>

enum { MOST_PREPARED = 16 }; /* options that name files */

static struct {
    struct as_new_file file[MOST_PREPARED];
    bool taken[MOST_PREPARED];
    size_t n;
    int (*ask)(size_t i, struct assay_error *err);
} prepared;

bool as_prepared_add(const char *path)
{
    struct as_new_file *file = &prepared.file[prepared.n];

    if (prepared.n == MOST_PREPARED || as_new_file_open(file, path, NULL) < 0)
        return false;
    if (file->folder < 0) {
        as_new_file_drop(file);
        return false;
    }
    file->prepared = ++prepared.n;
    return true;
}

size_t as_prepared_count(void)
{
    return prepared.n;
}

void as_prepared_use(int (*ask)(size_t i, struct assay_error *err))
{
    prepared.ask = ask;
}

int as_prepared_publish(size_t i, struct assay_error *err)
{
    struct as_new_file *file = &prepared.file[i];

    if (i >= prepared.n || prepared.taken[i])
        return as_fail(err, ASSAY_ERR_STATE, "that output is written already");
    prepared.taken[i] = true;
    file->prepared = 0;
    return as_new_file_publish(file, err);
}

void as_prepared_drop(void)
{
    for (size_t i = 0; i < prepared.n; i++)
        if (!prepared.taken[i])
            as_new_file_drop(&prepared.file[i]);
}

bool as_prepared_take(struct as_new_file *file, const char *path)
{
    for (size_t i = 0; prepared.ask && i < prepared.n; i++)
        if (!prepared.taken[i] && strcmp(prepared.file[i].path, path) == 0) {
            *file = prepared.file[i];
            prepared.taken[i] = true;
            return true;
        }
    return false;
}

int as_prepared_ask(size_t i, struct assay_error *err)
{
    return prepared.ask(i, err);
}
