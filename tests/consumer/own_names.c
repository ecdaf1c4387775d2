/* tests/consumer/own_names.c - a program with functions of the names that the libraries use inside:
 * the archives must link with it, and never call them. */
#include <assay/session.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef WHOLE
#include <assay/assay.h>
#endif
#ifdef EXPERIMENT
#include <assay/experiment/witness.h>
#endif

int as_fail(void);
void as_free(void);
void *as_alloc_zero(void);

int as_fail(void)
{
    abort();
}

void as_free(void)
{
    abort();
}

void *as_alloc_zero(void)
{
    abort();
}

int main(int argc, char **argv)
{
    struct assay_error err;
#ifdef EXPERIMENT
    const float one = 1;
    char hex[ASSAY_WITNESS_HEX];

    if (assay_witness_hash_tensor(&one, 1, hex, &err) < 0 ||
        assay_witness_hash_tensor(NULL, 1, hex, &err) != ASSAY_ERR_USAGE)
        return 1;
#endif
#ifdef WHOLE
    struct assay_leak_detector *detector;

    if (assay_leak_detector_new(&detector, NULL, &err) < 0)
        return 1;
    assay_leak_detector_free(detector);
#endif
    if (argc < 2 || assay_session_open(NULL, NULL, &err) != ASSAY_ERR_USAGE ||
        assay_session_open(argv[1], NULL, &err) < 0)
        return 1;
    {
        ASSAY_SCOPE("inner");
    }
    return assay_session_close(&err) < 0;
}
