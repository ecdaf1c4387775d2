/* bench/compiled_out.c - the same work with and without marks, compiled with ASSAY_DISABLE;
 * bench/run compares the code. */
#define ASSAY_DISABLE
#include <assay/session.h>

float plain(const float *x, int n);
float marked(const float *x, int n);

float plain(const float *x, int n)
{
    float sum = 0;

    for (int i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sum;
}

float marked(const float *x, int n)
{
    float sum = 0;

    ASSAY_FUNCTION_SCOPE();
    assay_iteration(1);
    for (int i = 0; i < n; i++) {
        ASSAY_SCOPE("layer");
        ASSAY_BEGIN("other");
        sum += x[i] * x[i];
        ASSAY_END("other");
        ASSAY_SWITCH("third");
    }
    ASSAY_SWITCH_END();
    return sum;
}
