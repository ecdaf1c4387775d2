/* tests/helpers/model_witness.c - writes a witness of made-up samples for the scripts.
 * usage: model_witness PATH ENTRIES FORM STARTED_NS SEED, where FORM is packed, hash or full; with
 * "kill" after them it stops without the seal, with "resume N" it goes on after N entries. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <assay/experiment/witness.h>

#define TOKENS 20

static uint64_t next_number(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

static int hash(uint64_t *seed, char hex[ASSAY_WITNESS_HEX], struct assay_error *err)
{
    float data[64];

    for (size_t i = 0; i < 64; i++)
        data[i] = (float)next_number(seed) / 2147483648.0f - 0.5f;
    return assay_witness_hash_tensor(data, 64, hex, err);
}

static int make(struct assay_witness_entry *e, uint8_t *mask, uint64_t *seed, uint64_t i,
                struct assay_error *err)
{
    static const float floats[] = {0.5f, 1e-6f, 3.4e38f, 1e-45f, 0.1f, 16777216.0f, 1e13f, -0.0f};

    *e = (struct assay_witness_entry){.sample_id = i, .seq_len = TOKENS, .tau = 2, .mask = mask};
    e->lambda = 0.5f;
    e->eps = floats[i % 8];
    e->cut_cost = (float)next_number(seed) / 777;
    e->mask_bits = (uint64_t)TOKENS * TOKENS - i % 9;
    for (size_t k = 0; k < (e->mask_bits + 7) / 8; k++)
        mask[k] = (uint8_t)next_number(seed);
    if (e->mask_bits % 8)
        mask[e->mask_bits / 8] &= (uint8_t)((1u << e->mask_bits % 8) - 1);
    memset(e->config_hash, '7', sizeof e->config_hash - 1);
    return hash(seed, e->q_hash, err) < 0 || hash(seed, e->k_hash, err) < 0 ||
                   hash(seed, e->v_hash, err) < 0 || hash(seed, e->output_hash, err) < 0
               ? err->code
               : ASSAY_OK;
}

static enum assay_witness_mask form_of(const char *word)
{
    if (strcmp(word, "full") == 0)
        return ASSAY_WITNESS_MASK_FULL;
    return strcmp(word, "hash") == 0 ? ASSAY_WITNESS_MASK_HASH : ASSAY_WITNESS_MASK_PACKED;
}

int main(int argc, char **argv)
{
    struct assay_witness *w = NULL;
    struct assay_witness_entry e;
    struct assay_error err = {0};
    uint8_t mask[TOKENS * TOKENS / 8];
    uint64_t n, started, seed, skip = 0;
    bool kill_it;
    int rc;

    if (argc < 6)
        return 2;
    n = strtoull(argv[2], NULL, 10);
    started = strtoull(argv[4], NULL, 10);
    seed = strtoull(argv[5], NULL, 10);
    kill_it = argc > 6 && strcmp(argv[6], "kill") == 0;
    if (argc > 7)
        skip = strtoull(argv[7], NULL, 10);
    if (argc > 7)
        rc = assay_witness_resume(&w, argv[1], form_of(argv[3]), skip, &err);
    else
        rc = assay_witness_open(&w, argv[1], form_of(argv[3]), &err);
    for (uint64_t i = 0; rc == ASSAY_OK && i < n; i++) {
        rc = make(&e, mask, &seed, i, &err);
        e.timestamp_ns = started + i * 1000;
        if (rc == ASSAY_OK && i >= skip)
            rc = assay_witness_add(w, &e, &err);
    }
    if (rc == ASSAY_OK && !kill_it)
        rc = assay_witness_close(w, &err);
    else
        assay_witness_abandon(w);
    if (rc < 0)
        fprintf(stderr, "model_witness: %s\n", err.msg);
    return rc < 0;
}
