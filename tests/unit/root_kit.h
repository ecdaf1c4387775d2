/* tests/unit/root_kit.h - a folder that stands for / with the files of /proc and /sys a test wants.
 * Everything in it goes with kit_root_fini(). */
#ifndef AS_TESTS_ROOT_KIT_H
#define AS_TESTS_ROOT_KIT_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "unit.h"

#include "base/output.h"

struct kit_root {
    char path[64];
};

static inline struct kit_root kit_root_new(void)
{
    struct kit_root root = {"/tmp/assay-root-XXXXXX"};

    assert_non_null(mkdtemp(root.path));
    return root;
}

/* Writes `text` to `path` beneath the root, and makes its folders. */
static inline void kit_root_put(const struct kit_root *root, const char *path, const char *text)
{
    char full[512];
    char *slash;
    FILE *f;

    assert_true(snprintf(full, sizeof full, "%s%s", root->path, path) < (int)sizeof full);
    slash = strrchr(full, '/');
    *slash = '\0';
    assert_int_equal(as_folder_make(full, 0700, NULL), ASSAY_OK);
    *slash = '/';
    f = fopen(full, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static inline int kit_remove(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path);
}

static inline void kit_root_fini(const struct kit_root *root)
{
    (void)nftw(root->path, kit_remove, 8, FTW_DEPTH | FTW_PHYS);
}

#endif
