/* tests/unit/witness_made.h - witnesses for tests: the same entries for the same seed.
 * Files stand in a folder of the test's own, which is removed at the end. */
#ifndef AS_TESTS_WITNESS_MADE_H
#define AS_TESTS_WITNESS_MADE_H

#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <assay/experiment/witness.h>

#define MADE_MASK_MAX 32768

/* {0} with a seed gives entries that differ from each other in every field. */
struct made {
    uint64_t seed;
    uint64_t started_ns; /* timestamps count from here */
    uint64_t bits;       /* of a mask; 0: some that vary */
    uint8_t mask[MADE_MASK_MAX];
};

static inline uint64_t made_number(struct made *m)
{
    m->seed = m->seed * 6364136223846793005u + 1442695040888963407u;
    return m->seed >> 33 ^ m->seed >> 17;
}

static inline void made_hash(struct made *m, char hex[ASSAY_WITNESS_HEX])
{
    const float numbers[2] = {(float)made_number(m), (float)made_number(m)};

    assert_int_equal(assay_witness_hash_tensor(numbers, 2, hex, NULL), ASSAY_OK);
}

static inline struct assay_witness_entry made_entry(struct made *m, uint64_t i)
{
    struct assay_witness_entry e = {.sample_id = i * 3, .seq_len = 16 + i, .tau = (uint32_t)i % 4};

    made_hash(m, e.q_hash);
    made_hash(m, e.k_hash);
    made_hash(m, e.v_hash);
    made_hash(m, e.output_hash);
    memset(e.config_hash, 'c', sizeof e.config_hash - 1);
    e.cut_cost = (float)made_number(m) / 1000;
    e.lambda = 0.5f;
    e.eps = 0.01f;
    e.timestamp_ns = m->started_ns + i * 1000003;
    e.mask_bits = m->bits ? m->bits : made_number(m) % 200;
    for (size_t k = 0; k < (e.mask_bits + 7) / 8; k++)
        m->mask[k] = (uint8_t)made_number(m);
    if (e.mask_bits % 8)
        m->mask[e.mask_bits / 8] &= (uint8_t)((1u << e.mask_bits % 8) - 1);
    e.mask = m->mask;
    return e;
}

/* Adds entries `from` to `to` as if all before were made too. */
static inline void made_add(struct made *m, struct assay_witness *w, uint64_t from, uint64_t to)
{
    for (uint64_t i = 0; i < to; i++) {
        struct assay_witness_entry e = made_entry(m, i);
        struct assay_error err;

        if (i < from)
            continue;
        if (assay_witness_add(w, &e, &err) < 0)
            fail_msg("%s", err.msg);
        assert_int_equal(e.index, i);
    }
}

static inline void made_file(const char *path, struct made m, uint64_t n,
                             enum assay_witness_mask how)
{
    struct assay_witness *w = NULL;

    (void)unlink(path);
    assert_int_equal(assay_witness_open(&w, path, how, NULL), ASSAY_OK);
    made_add(&m, w, 0, n);
    assert_int_equal(assay_witness_close(w, NULL), ASSAY_OK);
}

/* The bytes of a file, to be freed. */
static inline char *made_read(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    struct stat st;
    char *bytes;

    assert_non_null(f);
    assert_int_equal(fstat(fileno(f), &st), 0);
    *size = (size_t)st.st_size;
    bytes = malloc(*size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, f), *size);
    fclose(f);
    return bytes;
}

static inline void made_write(const char *path, const void *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

/* A folder of the test's own, and a path in it that the next call overwrites. */
static char made_folder[64];
static inline const char *made_path(const char *name)
{
    static char path[4][160];
    static unsigned next;

    if (made_folder[0] == '\0') {
        (void)snprintf(made_folder, sizeof made_folder, "/tmp/assay-witness-XXXXXX");
        assert_non_null(mkdtemp(made_folder));
    }
    next = (next + 1) % 4;
    (void)snprintf(path[next], sizeof path[next], "%s/%s", made_folder, name);
    return path[next];
}

/* Removes the folder and the files in it. */
static inline int made_tidy(void **state)
{
    DIR *folder = made_folder[0] ? opendir(made_folder) : NULL;

    (void)state;
    for (struct dirent *e; folder && (e = readdir(folder)) != NULL;)
        if (e->d_name[0] != '.')
            (void)unlinkat(dirfd(folder), e->d_name, 0);
    if (folder)
        closedir(folder);
    (void)rmdir(made_folder);
    return 0;
}

#endif
