/* preload/gemm_dnnl.c - the primitives of oneDNN, passed on and timed.
 * Shapes are read from version 2 alone, whose descriptors are structs; of others calls and time are
 * counted. On a device other than the processor the time is that of handing over. */
#include <dnnl.h>
#include <stddef.h>
#include <stdint.h>

#include "gemm_next.h"
#include "gemm_record.h"

_Static_assert(DNNL_VERSION_MAJOR == 2, "the layout of descriptors is that of version 2");
_Static_assert((int)dnnl_convolution == AS_GEMM_KIND_CONVOLUTION, "oneDNN's numbers are kept");
_Static_assert((int)dnnl_deconvolution == AS_GEMM_KIND_DECONVOLUTION, "oneDNN's numbers are kept");
_Static_assert((int)dnnl_inner_product == AS_GEMM_KIND_INNER_PRODUCT, "oneDNN's numbers are kept");
_Static_assert((int)dnnl_matmul == AS_GEMM_KIND_MATMUL, "oneDNN's numbers are kept");
_Static_assert((int)dnnl_f16 == AS_GEMM_F16 && (int)dnnl_u8 == AS_GEMM_U8, "and its types");

/* Where a tensor is described: in backward passes as the gradient of it. */
static const struct {
    dnnl_query_t forward, backward;
} descriptor[AS_GEMM_TENSOR_COUNT] = {
    [AS_GEMM_SRC] = {dnnl_query_src_md, dnnl_query_diff_src_md},
    [AS_GEMM_WEIGHTS] = {dnnl_query_weights_md, dnnl_query_diff_weights_md},
    [AS_GEMM_DST] = {dnnl_query_dst_md, dnnl_query_diff_dst_md},
};

typedef __typeof__(dnnl_version) *version_call;
typedef __typeof__(dnnl_primitive_get_primitive_desc) *desc_call;
typedef __typeof__(dnnl_primitive_desc_query) *query_call;
typedef __typeof__(dnnl_primitive_desc_query_md) *query_md_call;
typedef __typeof__(dnnl_primitive_execute) *execute_call;
typedef __typeof__(dnnl_sgemm) *sgemm_call;

static int is_version_2(const void *caller)
{
    version_call version = (version_call)as_gemm_find(AS_GEMM_CALL_VERSION, "dnnl_version", caller);
    const dnnl_version_t *v = version ? version() : NULL;

    return v && v->major == 2;
}

static uint8_t pass_of(int propagation)
{
    switch (propagation) {
    case dnnl_backward:
        return AS_GEMM_BACKWARD;
    case dnnl_backward_data:
        return AS_GEMM_BACKWARD_DATA;
    case dnnl_backward_weights:
    case dnnl_backward_bias:
        return AS_GEMM_BACKWARD_WEIGHTS;
    default:
        return AS_GEMM_FORWARD;
    }
}

static void put_tensor(struct as_gemm_key *key, int tensor, const dnnl_memory_desc_t *md)
{
    if (!md || md->ndims <= 0 || md->ndims > DNNL_MAX_NDIMS)
        return;
    if (key->dtype == AS_GEMM_UNTYPED && md->data_type >= dnnl_f16 && md->data_type <= dnnl_u8)
        key->dtype = (uint16_t)md->data_type;
    key->n_dims[tensor] = (uint8_t)md->ndims;
    if ((unsigned)md->ndims > AS_GEMM_MAX_DIMS)
        return;
    for (int i = 0; i < md->ndims; i++)
        key->dims[tensor][i] = md->dims[i] < 0 ? AS_GEMM_DIM_LATE : (uint64_t)md->dims[i];
}

static void put_shape(struct as_gemm_key *key, const_dnnl_primitive_t primitive, const void *caller)
{
    desc_call get_desc =
        (desc_call)as_gemm_find(AS_GEMM_CALL_DESC, "dnnl_primitive_get_primitive_desc", caller);
    query_call query =
        (query_call)as_gemm_find(AS_GEMM_CALL_QUERY, "dnnl_primitive_desc_query", caller);
    query_md_call query_md =
        (query_md_call)as_gemm_find(AS_GEMM_CALL_QUERY_MD, "dnnl_primitive_desc_query_md", caller);
    const_dnnl_primitive_desc_t desc = NULL;
    dnnl_primitive_kind_t kind = dnnl_undefined_primitive;
    dnnl_prop_kind_t propagation = dnnl_prop_kind_undef;

    if (!get_desc || !query || !query_md || get_desc(primitive, &desc) != dnnl_success || !desc)
        return;
    if (query(desc, dnnl_query_primitive_kind, 0, &kind) == dnnl_success &&
        (unsigned)kind < AS_GEMM_KIND_COUNT)
        key->kind = (uint16_t)kind;
    if (query(desc, dnnl_query_prop_kind, 0, &propagation) == dnnl_success)
        key->pass = pass_of((int)propagation);
    for (int t = 0; t < AS_GEMM_TENSOR_COUNT; t++) {
        const dnnl_memory_desc_t *md = query_md(desc, descriptor[t].forward, 0);

        if (!md || md->ndims == 0)
            md = query_md(desc, descriptor[t].backward, 0);
        put_tensor(key, t, md);
    }
}

AS_GEMM_EXPORT dnnl_status_t dnnl_primitive_execute(const_dnnl_primitive_t primitive,
                                                    dnnl_stream_t stream, int nargs,
                                                    const dnnl_exec_arg_t *args)
{
    const void *caller = AS_GEMM_CALLER;
    execute_call next =
        (execute_call)as_gemm_next(AS_GEMM_DNNL_PRIMITIVE, "dnnl_primitive_execute", caller);
    struct as_gemm_key key = {.function = AS_GEMM_DNNL_PRIMITIVE};
    uint64_t start_ns;
    dnnl_status_t status;

    if (!as_gemm_enter(AS_GEMM_FRAME))
        return next(primitive, stream, nargs, args);
    /* Before the call: the primitive may be gone after it. */
    if (primitive && is_version_2(caller))
        put_shape(&key, primitive, caller);
    start_ns = as_gemm_now_ns();
    status = next(primitive, stream, nargs, args);
    as_gemm_leave(start_ns, &key);
    return status;
}

static int transposes(char letter)
{
    return letter == 'T' || letter == 't';
}

AS_GEMM_EXPORT dnnl_status_t dnnl_sgemm(char transa, char transb, dnnl_dim_t M, dnnl_dim_t N,
                                        dnnl_dim_t K, float alpha, const float *A, dnnl_dim_t lda,
                                        const float *B, dnnl_dim_t ldb, float beta, float *C,
                                        dnnl_dim_t ldc)
{
    sgemm_call next = (sgemm_call)as_gemm_next(AS_GEMM_DNNL_SGEMM, "dnnl_sgemm", AS_GEMM_CALLER);
    struct as_gemm_key key = {
        .function = AS_GEMM_DNNL_SGEMM,
        .dtype = AS_GEMM_F32,
        .transposed = (uint8_t)((transposes(transa) ? AS_GEMM_A_TRANSPOSED : 0) |
                                (transposes(transb) ? AS_GEMM_B_TRANSPOSED : 0)),
        .m = M > 0 ? (uint64_t)M : 0,
        .n = N > 0 ? (uint64_t)N : 0,
        .k = K > 0 ? (uint64_t)K : 0,
        .batch = 1,
    };
    uint64_t start_ns;
    dnnl_status_t status;

    if (!as_gemm_enter(AS_GEMM_FRAME))
        return next(transa, transb, M, N, K, alpha, A, lda, B, ldb, beta, C, ldc);
    start_ns = as_gemm_now_ns();
    status = next(transa, transb, M, N, K, alpha, A, lda, B, ldb, beta, C, ldc);
    as_gemm_leave(start_ns, &key);
    return status;
}
