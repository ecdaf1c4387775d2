/* tests/helpers/multiply_dnnl.c - a matmul and a product through oneDNN, opened for all.
 * usage: multiply_dnnl LIBRARY. Exit 77: the library is not here. */
#include <dlfcn.h>
#include <dnnl.h>
#include <stdio.h>
#include <string.h>

#define BATCH 3
#define M     4
#define K     5
#define N     6

typedef void (*any_call)(void);

static any_call find(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    any_call call;

    memcpy(&call, &found, sizeof call);
    return call;
}

/* As a program that is linked with the library would call it. */
#define CALL(name) ((__typeof__(dnnl_##name) *)find("dnnl_" #name))

static double sum(const float *v, int n)
{
    double total = 0;

    for (int i = 0; i < n; i++)
        total += (double)v[i] * (i % 7 + 1);
    return total;
}

static dnnl_memory_t tensor(dnnl_engine_t engine, dnnl_memory_desc_t *md, dnnl_dim_t rows,
                            dnnl_dim_t columns, float *data)
{
    dnnl_dims_t dims = {BATCH, rows, columns};
    dnnl_memory_t memory = NULL;

    if (CALL(memory_desc_init_by_tag)(md, 3, dims, dnnl_f32, dnnl_abc) != dnnl_success ||
        CALL(memory_create)(&memory, md, engine, data) != dnnl_success)
        return NULL;
    return memory;
}

static int run_matmul(float *a, float *b, float *c)
{
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_memory_desc_t a_md, b_md, c_md;
    dnnl_matmul_desc_t desc;
    dnnl_primitive_desc_t pd;
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t args[3] = {
        {.arg = DNNL_ARG_SRC}, {.arg = DNNL_ARG_WEIGHTS}, {.arg = DNNL_ARG_DST}};

    if (CALL(engine_create)(&engine, dnnl_cpu, 0) != dnnl_success ||
        CALL(stream_create)(&stream, engine, dnnl_stream_default_flags) != dnnl_success)
        return 3;
    args[0].memory = tensor(engine, &a_md, M, K, a);
    args[1].memory = tensor(engine, &b_md, K, N, b);
    args[2].memory = tensor(engine, &c_md, M, N, c);
    if (CALL(matmul_desc_init)(&desc, &a_md, &b_md, NULL, &c_md) != dnnl_success ||
        CALL(primitive_desc_create)(&pd, &desc, NULL, engine, NULL) != dnnl_success ||
        CALL(primitive_create)(&primitive, pd) != dnnl_success)
        return 3;
    for (int i = 0; i < 2; i++)
        if (CALL(primitive_execute)(primitive, stream, 3, args) != dnnl_success)
            return 3;
    if (CALL(stream_wait)(stream) != dnnl_success)
        return 3;
    CALL(primitive_destroy)(primitive);
    CALL(primitive_desc_destroy)(pd);
    for (int i = 0; i < 3; i++)
        CALL(memory_destroy)(args[i].memory);
    CALL(stream_destroy)(stream);
    CALL(engine_destroy)(engine);
    return 0;
}

int main(int argc, char **argv)
{
    static float a[BATCH * M * K], b[BATCH * K * N], c[BATCH * M * N];

    if (argc != 2)
        return 2;
    if (!dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL)) {
        fprintf(stderr, "%s\n", dlerror());
        return 77;
    }
    for (int i = 0; i < BATCH * M * K; i++)
        a[i] = (float)(i % 5) - 2;
    for (int i = 0; i < BATCH * K * N; i++)
        b[i] = (float)(i % 3) - 1;
    if (run_matmul(a, b, c) != 0)
        return 3;
    printf("matmul %.9g\n", sum(c, BATCH * M * N));
    if (CALL(sgemm)('N', 'T', M, N, K, 1, a, K, b, K, 0, c, N) != dnnl_success)
        return 3;
    printf("dnnl_sgemm %.9g\n", sum(c, M * N));
    return 0;
}
