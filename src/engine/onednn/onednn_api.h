/* engine/onednn/onednn_api.h - the functions of oneDNN that are used, found by name in the library.
 * The program is never linked with it: it starts without and works without. */
#ifndef AS_ENGINE_ONEDNN_ONEDNN_API_H
#define AS_ENGINE_ONEDNN_ONEDNN_API_H

#include <dnnl.h>

/* Each as dnnl_<name>. */
#define AS_ONEDNN_CALLS(X)                                                                         \
    X(version)                                                                                     \
    X(set_max_cpu_isa)                                                                             \
    X(get_effective_cpu_isa)                                                                       \
    X(engine_create)                                                                               \
    X(engine_destroy)                                                                              \
    X(stream_create)                                                                               \
    X(stream_wait)                                                                                 \
    X(stream_destroy)                                                                              \
    X(memory_desc_init_by_strides)                                                                 \
    X(memory_desc_init_by_tag)                                                                     \
    X(memory_desc_init_submemory)                                                                  \
    X(memory_desc_equal)                                                                           \
    X(memory_desc_get_size)                                                                        \
    X(memory_create)                                                                               \
    X(memory_set_data_handle)                                                                      \
    X(memory_destroy)                                                                              \
    X(primitive_attr_create)                                                                       \
    X(primitive_attr_destroy)                                                                      \
    X(primitive_attr_set_scratchpad_mode)                                                          \
    X(primitive_attr_set_scales)                                                                   \
    X(primitive_attr_set_output_scales)                                                            \
    X(primitive_attr_set_zero_points)                                                              \
    X(primitive_attr_set_post_ops)                                                                 \
    X(post_ops_create)                                                                             \
    X(post_ops_destroy)                                                                            \
    X(post_ops_append_eltwise)                                                                     \
    X(post_ops_append_binary)                                                                      \
    X(primitive_desc_iterator_create)                                                              \
    X(primitive_desc_iterator_next)                                                                \
    X(primitive_desc_iterator_fetch)                                                               \
    X(primitive_desc_iterator_destroy)                                                             \
    X(primitive_desc_destroy)                                                                      \
    X(primitive_desc_query)                                                                        \
    X(primitive_desc_query_md)                                                                     \
    X(primitive_create)                                                                            \
    X(primitive_execute)                                                                           \
    X(primitive_destroy)                                                                           \
    X(reorder_primitive_desc_create)                                                               \
    X(concat_primitive_desc_create)                                                                \
    X(binary_desc_init)                                                                            \
    X(dilated_convolution_forward_desc_init)                                                       \
    X(dilated_deconvolution_forward_desc_init)                                                     \
    X(eltwise_forward_desc_init)                                                                   \
    X(softmax_v2_forward_desc_init)                                                                \
    X(pooling_v2_forward_desc_init)                                                                \
    X(prelu_forward_desc_init)                                                                     \
    X(lrn_forward_desc_init)                                                                       \
    X(batch_normalization_forward_desc_init)                                                       \
    X(layer_normalization_forward_desc_init)                                                       \
    X(matmul_desc_init)                                                                            \
    X(resampling_forward_desc_init)

struct as_onednn_api {
#define X(name) __typeof__(dnnl_##name) *name; /* NOLINT(bugprone-macro-parentheses): a name */
    AS_ONEDNN_CALLS(X)
#undef X
};

#endif
