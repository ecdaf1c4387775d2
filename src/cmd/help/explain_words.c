/* cmd/help/explain_words.c - what the words on assay's pages mean: the terms of the glossary,
 * columns, and the rules behind recommendations. Columns of recorded layers are explained where
 * they are defined. */
#include "cmd/help/explain_words.h"

#include <string.h>

#include "base/units.h"
#include "report/run/layer_columns.h"

static const struct as_explained words[] = {
    /* Columns that recorded layers do not have. */
    {"activation", "column", "inspect: bytes of the tensors a layer writes.", NULL, NULL},
    {"backward_bytes", "column", "inspect: bytes moved by the backward pass of a layer.", NULL,
     NULL},
    {"backward_flops", "column", "inspect: FLOPs of the backward pass of a layer.", NULL, NULL},
    {"backward_macs", "column", "inspect: MACs of the backward pass of a layer.", NULL, NULL},
    {"bar", "column", "The share of the row, drawn.", NULL, NULL},
    {"dtype", "column", "inspect: element type of the output.", NULL, NULL},
    {"elementwise", "column", "inspect: additions, comparisons and the like that are not MACs.",
     NULL, NULL},
    {"executed", "column",
     "inspect: MACs without those in the padding of convolutions, which kernels skip.", NULL, NULL},
    {"graph", "column", "Sort key: the order of the graph.", NULL, NULL},
    {"inputs", "column", "inspect: shapes of the inputs.", NULL, NULL},
    {"intensity", "column", "Arithmetic intensity of a layer: FLOPs over bytes moved.", NULL, NULL},
    {"layers", "column", "inspect: how many layers a group has.", NULL, NULL},
    {"macs", "column", "inspect: multiply-accumulates of a layer.", NULL, NULL},
    {"memory", "column", "Sort key: bytes that are live while a layer runs.", NULL, NULL},
    {"output", "column", "inspect: shape of the output.", NULL, NULL},
    {"param_bytes", "column", "inspect: bytes of the weights of a layer as stored.", NULL, NULL},
    {"params", "column", "inspect: elements of the weights of a layer.", NULL, NULL},
    {"read", "column", "inspect: bytes a layer reads, weights included.", NULL, NULL},
    {"written", "column", "inspect: bytes a layer writes.", NULL, NULL},
    {"saved", "column", "inspect: bytes a training step keeps for the backward pass.", NULL, NULL},
    {"scope", "column", "inspect: the name without its last part.", NULL, NULL},
    {"times", "column", "inspect: how often a layer runs per inference, as in a loop.", NULL, NULL},
    {"transcendental", "column", "inspect: exponentials, logarithms, square roots and the like.",
     NULL, NULL},
    {"roof", "column", "Sort key: % of roofline.", NULL, NULL},
    {"time", "column", "Sort key: self time per inference.", NULL, NULL},
    {"before", "column", "diff: the value in A.", NULL, NULL},
    {"after", "column", "diff: the value in B.", NULL, NULL},
    {"change", "column", "diff: B minus A.", NULL, NULL},
    {"percent", "column", "diff: change relative to A.", NULL, NULL},
    {"p", "column",
     "diff: probability of such a shift without a difference (Mann-Whitney), adjusted for the "
     "number of rows (Benjamini-Hochberg).",
     NULL, NULL},
    {"bound by", "column",
     "What limits a layer: compute, memory at a cache level or DRAM, latency (the kernel is too "
     "short), or inefficient (neither explains the time).",
     NULL, NULL},
    {"latency", "column",
     "p50 of an inference. Under bound by: the kernel is so short that starting it dominates.",
     NULL, NULL},
    {"GFLOP/s", "column", "10^9 floating-point operations per second while the layer ran.", NULL,
     NULL},
    {"GB/s", "column", "10^9 bytes read and written per second while the layer ran.", NULL, NULL},
    {"self ms", "column",
     "Self time per inference in milliseconds: time in a layer without the layers it calls.", NULL,
     NULL},
    {"self us", "column",
     "Self time per inference in microseconds: time in a layer without the layers it calls.", NULL,
     NULL},
    {"cum.", "column", "Cumulative share from the top of the table.", NULL, NULL},
    {"vs baseline", "column",
     "bench: time relative to the baseline, paired sample by sample, with its 95 % CI; below 1x is "
     "faster.",
     NULL, NULL},
    {"outputs", "column", "bench: whether a setting printed the same as the baseline (--outputs).",
     NULL, NULL},
    {"verdict", "column",
     "diff: slower or faster when the difference is significant and reaches --threshold, otherwise "
     "not significant.",
     NULL, NULL},
    {"kernel", "column", "profile: the kernel that ran the layer, as oneDNN names it, or plain C.",
     NULL, NULL},
    {"fused", "column", "inspect: the operators that run in the kernel of this layer.", NULL, NULL},
    {"with activations", "column",
     "inspect: bytes of the weights at this type plus the peak of activations.", NULL, NULL},
    {"fits in", "column",
     "inspect: the smallest usual memory size that holds weights and activations.", NULL, NULL},
    {"peak act.", "column", "inspect: peak of live activations, as planned.", NULL, NULL},
    {"FLOPs", "column",
     "Operations of a layer per inference: 2 per MAC, plus elementwise and transcendental ones.",
     NULL, NULL},
    {"weights", "column", "inspect: bytes of the weights as stored.", NULL, NULL},
    {"transc.", "column", "inspect: exponentials, logarithms, square roots and the like.", NULL,
     NULL},
    {"p50 A", "column", "diff: p50 of a layer in A, the run that is given first.", NULL, NULL},
    {"p50 B", "column", "diff: p50 of a layer in B, the run that is given second.", NULL, NULL},
    {"of change", "column", "diff: what part of the whole difference this row accounts for.", NULL,
     NULL},
    {"samples/s", "column", "Throughput: the batch size over p50.", NULL, NULL},
    {"working set", "column",
     "inspect: inputs, weights and outputs of a layer together: what a cache must hold.", NULL,
     NULL},
    {"lifetime", "column", "inspect: the first and the last step at which a tensor is needed.",
     NULL, NULL},
    {"at peak", "column", "Whether, or how many bytes of it, are live when memory is at its peak.",
     NULL, NULL},
    {"growth/s", "column",
     "assay run: bytes that a site gains per second while its live bytes keep growing.", NULL,
     NULL},
    {"speedup to", "column",
     "Upper bound for the whole program if this layer took no time (Amdahl).", NULL, NULL},
    {"CI/2 ms", "column", "sweep: half the width of the 95 % CI of p50.", NULL, NULL},
    {"samples/s/MiB", "column", "sweep: throughput over peak memory.", NULL, NULL},
    {"speedup", "column", "sweep: throughput relative to the first setting.", NULL, NULL},
    {"head_dim", "column", "inspect: elements of one attention head.", NULL, NULL},
    {"unmasked", "column", "inspect: fraction of an attention's MACs that a causal mask leaves.",
     NULL, NULL},
    {"vs first", "column", "sweep: throughput relative to the first setting.", NULL, NULL},
    {"user", "column", "bench: CPU time in the program itself, mean per sample.", NULL, NULL},
    {"system", "column", "bench: CPU time in the kernel on behalf of the program, mean per sample.",
     NULL, NULL},
    {"CPU", "column", "CPU time over wall time, in CPUs.", NULL, NULL},
    /* Rules of recommendations. */
    {"duplicate-weights", "rule",
     "Tensors of different names hold equal content. Each counts as a parameter of its own: clones "
     "of an untrained model begin equal. Do: share one initializer where they are meant to be one.",
     NULL, NULL},
    {"no-kv-cache", "rule",
     "A decoder without a KV cache computes earlier tokens again for every new one. Do: export the "
     "model with past keys and values.",
     NULL, NULL},
    {"quantize-weights", "rule",
     "Weights are stored in 16 or 32 bits. Do: quantize them to int8 and compare accuracy.", NULL,
     NULL},
    {"memory-bound-weights", "rule",
     "Reading weights limits layers. Evidence: memory-bound by the roofline, most bytes are "
     "weights. Do: quantize to int8, or a larger batch.",
     NULL, NULL},
    {"quantize-dense-layers", "rule",
     "Dense layers and convolutions take most of the time in f32. Do: quantize to int8 as QDQ ONNX "
     "and compare.",
     NULL, NULL},
    {"float-fallback", "rule",
     "Layers of a quantized model run in f32. Evidence: dense f32 layers beside quantized ones. "
     "Do: QuantizeLinear and DequantizeLinear around each of them, activations per tensor; the "
     "recommendation names the reason of the slowest.",
     NULL, NULL},
    {"transpose-pairs", "rule",
     "Two Transposes with only elementwise operators between them undo each other. Do: export in "
     "one layout, or run a graph simplifier.",
     NULL, NULL},
    {"cast-chains", "rule",
     "Casts follow each other. Do: keep one type from the first to the last.", NULL, NULL},
    {"unfused-batch-norm", "rule",
     "Batch norms take time of their own, or are in the file behind the convolution they could be "
     "folded into. Do: fold them into its weights (export in inference mode).",
     NULL, NULL},
    {"slow-kernels", "rule",
     "Layers without MACs reach little of their roofline, though they take long. Do: compare with "
     "another engine, or give them another shape.",
     NULL, NULL},
    {"checkpoint-activations", "rule",
     "Activations kept for the backward pass are most of the memory of a training step. Do: keep "
     "those between segments only and compute the others again.",
     NULL, NULL},
    {"fused-attention", "rule",
     "Attention keeps its scores for the backward pass. Do: train with a fused attention, which "
     "computes them again.",
     NULL, NULL},
    {"transposes", "rule",
     "Transposes copy tensors and compute nothing. Do: cancel pairs, or export in the layout that "
     "the neighbors use.",
     NULL, NULL},
    {"lookup-tables", "rule",
     "Lookups in embedding tables take much of the time. Do: shrink or quantize the table.", NULL,
     NULL},
    {"plain-products", "rule",
     "Matrix multiplications run in plain C instead of a kernel library. Do: a build with oneDNN, "
     "or a type that it supports.",
     NULL, NULL},
    {"plain-kernels", "rule",
     "Operators run in plain C. Do: replace them by operators with fast kernels, or a build with "
     "oneDNN.",
     NULL, NULL},
    {"memory-bound-elementwise", "rule",
     "Elementwise layers move tensors through memory. Do: fuse them into the layer before.", NULL,
     NULL},
    {"far-below-roof", "rule",
     "Heavy layers reach less than half of their roofline. Do: look at kernel and shape, try "
     "another layout, batch or thread count.",
     NULL, NULL},
    {"more-threads", "rule",
     "Fewer threads are used than the machine has and the layers are large enough. Do: --threads "
     "N, or assay tune.",
     NULL, NULL},
    {"noisy-machine", "rule",
     "Iterations vary more than the differences of interest. Do: stop other work, pin the "
     "frequency, then measure again.",
     NULL, NULL},
    {"waits-for-processor", "rule",
     "assay run: threads were ready and waited for a CPU that other programs had. Do: fewer "
     "processes, or a quiet machine.",
     NULL, NULL},
    {"processor-wait", "rule",
     "Calls waited for a CPU. Do: fewer threads than CPUs, or a quiet machine.", NULL, NULL},
    {"program-waits", "rule",
     "assay run: the program mostly sleeps. Do: find what it waits for: network, locks, storage.",
     NULL, NULL},
    {"processors-idle", "rule", "assay run: not all CPUs are used. Do: more threads or processes.",
     NULL, NULL},
    {"storage-wait", "rule",
     "Time is spent waiting for disk I/O. Do: read ahead, cache, larger blocks.", NULL, NULL},
    {"page-faults", "rule",
     "Memory is requested from the system again and again. Do: reuse buffers, or an allocator that "
     "keeps memory.",
     NULL, NULL},
    {"major-faults", "rule",
     "Pages are read from disk while the program runs. Do: more memory, or load the file before.",
     NULL, NULL},
    {"involuntary-switches", "rule", "Threads are preempted. Do: fewer threads, or pin them.", NULL,
     NULL},
    {"gemm-below-roofline", "rule",
     "GEMM calls run far below peak compute. Do: larger matrices, another library, aligned shapes.",
     NULL, NULL},
    {"heap-churn", "rule",
     "Much memory is allocated only to be freed at once. Do: allocate once, outside of the loop.",
     NULL, NULL},
    {"device-idle", "rule",
     "The device waits for work. Do: larger batches, overlap of transfer and compute.", NULL, NULL},
    {"far-from-roof", "rule",
     "Neither arithmetic nor memory explains the time of a call. Do: look at the kernel, or record "
     "finer layers.",
     NULL, NULL},
    {"call-overhead", "rule",
     "Calls are so short that calling dominates. Do: fewer and larger calls.", NULL, NULL},
    {"uneven-calls", "rule",
     "Calls of one layer differ a lot. Do: look for shapes that vary, preemption, or garbage "
     "collection.",
     NULL, NULL},
    {"reorders", "rule",
     "Tensors are copied between memory layouts. Do: keep neighboring layers in one layout, or "
     "fuse them.",
     NULL, NULL},
    {"overhead", "rule",
     "Layers take microseconds each, so that starting them dominates. Do: a larger batch, fewer "
     "and larger operators.",
     NULL, NULL},
    {"cause-unknown", "rule",
     "The layer is slow, and nothing recorded explains it. Do: record FLOPs and bytes with the "
     "calls.",
     NULL, NULL},
    {"fewer-threads", "rule",
     "Layers are too short to share between threads: one thread, interleaved with those of the "
     "profile, was faster. Do: --threads 1, --threads auto, or assay tune.",
     NULL, NULL},
};

static const struct as_explained *column_at(size_t i, struct as_explained *space)
{
    const char *name = as_layer_metric_name_at(i);

    if (!name)
        return NULL;
    *space = (struct as_explained){
        .word = name, .kind = "column", .meaning = as_layer_metric_help_at(i)};
    return space;
}

const struct as_explained *as_explained_at(size_t i, struct as_explained *space)
{
    size_t n = 0;

    if (as_glossary_at(i, space))
        return space;
    while (as_glossary_at(n, space))
        n++;
    i -= n;
    return i < AS_COUNT_OF(words) ? &words[i] : column_at(i - AS_COUNT_OF(words), space);
}

static bool is_filler(char c)
{
    return c == ' ' || c == '-' || c == '_';
}

static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

/* Whether the word that ends at `end` is the one that is asked for. */
static bool is_word(const char *word, const char *end, const char *asked)
{
    for (;; word++, asked++) {
        while (word < end && is_filler(*word))
            word++;
        while (is_filler(*asked))
            asked++;
        if (word == end || !*asked)
            return word == end && !*asked;
        if (lower(*word) != lower(*asked))
            return false;
    }
}

bool as_explains(const struct as_explained *e, const char *asked)
{
    if (is_word(e->word, e->word + strlen(e->word), asked))
        return true;
    for (const char *at = e->also; at;) {
        const char *end = strchr(at, '|');

        if (is_word(at, end ? end : at + strlen(at), asked))
            return true;
        at = end ? end + 1 : NULL;
    }
    return false;
}

bool as_is_explained(const char *asked)
{
    struct as_explained space;
    const struct as_explained *e;

    for (size_t i = 0; (e = as_explained_at(i, &space)) != NULL; i++)
        if (as_explains(e, asked))
            return true;
    return false;
}
