/* cmd/help/explain_words.c - what the words on assay's pages mean: terms, columns and the rules
 * behind recommendations. Columns of recorded layers are explained where they are defined. */
#include "cmd/help/explain_words.h"

#include "base/units.h"
#include "report/run/layer_columns.h"

static const struct as_explained words[] = {
    /* Terms. */
    {"CI", "term",
     "95 % CI: the interval that contains the true value in 95 of 100 repetitions of the "
     "measurement. It accounts for samples that resemble their neighbors. A dash means too few "
     "independent samples."},
    {"MAC", "term",
     "Multiply-accumulate: one multiplication and one addition, counted as 2 FLOP. Only those of "
     "convolutions and matrix multiplications are counted as MACs."},
    {"FLOP", "term",
     "One floating-point operation. FLOPs of a layer are 2 per MAC plus its elementwise "
     "operations."},
    {"GEMM", "term",
     "General matrix multiplication, the kernel behind dense layers, attention and many "
     "convolutions."},
    {"roofline", "term",
     "The least time a layer can take here: the larger of its FLOPs over the measured peak compute "
     "and its bytes over the measured memory bandwidth. % of roofline is that time over the "
     "measured time; 100 % cannot be improved on this machine."},
    {"arithmetic-intensity", "term",
     "FLOPs over bytes moved (FLOP/byte). Below the ridge point of the machine memory limits a "
     "layer, above it compute does."},
    {"ridge-point", "term",
     "The arithmetic intensity at which peak compute and memory bandwidth take equally long."},
    {"compute-bound", "term",
     "Arithmetic is the larger part of the roofline time. To gain: fewer FLOPs, lower precision, "
     "more threads."},
    {"memory-bound", "term",
     "Bytes are the larger part of the roofline time, at the cache level or DRAM that is named. To "
     "gain: fewer bytes by fusion, quantization or a larger batch that reuses weights."},
    {"latency-bound", "term",
     "The kernel is so short that starting it and handing work to threads dominates. To gain: "
     "fewer and larger operators, fewer threads, a larger batch."},
    {"overhead-bound", "term",
     "Neither arithmetic nor bytes explain the time: latency-bound or inefficient."},
    {"inefficient", "term",
     "Neither arithmetic nor bytes explain the time and the kernel is not short: the kernel uses "
     "the machine badly, or the machine was disturbed."},
    {"inference", "term",
     "One execution of a model; also called an iteration while it is measured."},
    {"run", "term",
     "A recording: a file that ends in .assay, made by profile, sweep, run, bench or machine with "
     "-o, and read by report, diff, export and verify."},
    {"layer", "term", "A named unit of work of a model. Fused operators are one layer."},
    {"self-time", "term",
     "Time inside a layer without the layers it calls. Self times add up to the total."},
    {"total-time", "term", "Time from begin to end of a layer, with everything it calls."},
    {"throughput", "term", "Samples per second: the batch size over p50."},
    {"warm-up", "term",
     "Iterations before timing, until caches, clocks and allocations are steady. They are not in "
     "any result."},
    {"outlier", "term",
     "An iteration far above the others (Tukey's fences). Outliers stay in the data; their causes "
     "are listed where they were seen."},
    {"effective-samples", "term",
     "How many independent samples carry as much information as those taken: samples of a "
     "disturbed machine resemble their neighbors."},
    {"noise-floor", "term",
     "How much two equal measurements differ here. Smaller differences are not significant."},
    {"interleaved", "term",
     "Settings are measured in alternating order (A B B A), so that drift of the machine hits all "
     "of them equally."},
    {"RSS", "term", "Resident set size: physical memory of a process. Peak RSS is its maximum."},
    {"activations", "term",
     "Tensors between layers. Peak activations is the most that must be live at once."},
    {"KV-cache", "term",
     "Keys and values of earlier tokens that attention keeps, so that they are not computed "
     "again."},
    {"prefill", "term", "Processing of the prompt of a text model, all its tokens at once."},
    {"decode", "term",
     "Generation of a text model, one token at a time; usually memory-bound by the weights."},
    {"witness", "term",
     "Signed result log: one line per sample, chained by hashes, that 'assay verify' checks."},
    {"significant", "term",
     "Shown beyond noise: the adjusted p is below 0.05 and the change reaches --threshold. "
     "Otherwise: no significant difference."},
    /* Columns of inspect, profile, sweep and diff that recorded layers do not have. */
    {"activation", "column", "inspect: bytes of the tensors a layer writes."},
    {"backward_bytes", "column", "inspect: bytes moved by the backward pass of a layer."},
    {"backward_flops", "column", "inspect: FLOPs of the backward pass of a layer."},
    {"backward_macs", "column", "inspect: MACs of the backward pass of a layer."},
    {"bar", "column", "The share of the row, drawn."},
    {"dtype", "column", "inspect: element type of the output."},
    {"elementwise", "column", "inspect: additions, comparisons and the like that are not MACs."},
    {"graph", "column", "Sort key: the order of the graph."},
    {"inputs", "column", "inspect: shapes of the inputs."},
    {"intensity", "column", "Arithmetic intensity of a layer: FLOPs over bytes moved."},
    {"layers", "column", "inspect: how many layers a group has."},
    {"macs", "column", "inspect: multiply-accumulates of a layer."},
    {"memory", "column", "Sort key: bytes that are live while a layer runs."},
    {"output", "column", "inspect: shape of the output."},
    {"param_bytes", "column", "inspect: bytes of the weights of a layer as stored."},
    {"params", "column", "inspect: elements of the weights of a layer."},
    {"read", "column", "inspect: bytes a layer reads, weights included."},
    {"written", "column", "inspect: bytes a layer writes."},
    {"saved", "column", "inspect: bytes a training step keeps for the backward pass."},
    {"scope", "column", "inspect: the name without its last part."},
    {"times", "column", "inspect: how often a layer runs per inference, as in a loop."},
    {"transcendental", "column", "inspect: exponentials, logarithms, square roots and the like."},
    {"roof", "column", "Sort key: % of roofline."},
    {"time", "column", "Sort key: self time per inference."},
    {"before", "column", "diff: the value in A."},
    {"after", "column", "diff: the value in B."},
    {"change", "column", "diff: B minus A."},
    {"percent", "column", "diff: change relative to A."},
    {"p", "column",
     "diff: probability of such a shift without a difference (Mann-Whitney), adjusted for the "
     "number of rows (Benjamini-Hochberg)."},
    /* Rules of recommendations. */
    {"duplicate-weights", "rule",
     "The file stores equal weights more than once. Evidence: equal content of constants. Do: "
     "share one initializer."},
    {"no-kv-cache", "rule",
     "A decoder without a KV cache computes earlier tokens again for every new one. Do: export the "
     "model with past keys and values."},
    {"quantize-weights", "rule",
     "Weights are stored in 16 or 32 bits. Do: quantize them to int8 and compare accuracy."},
    {"memory-bound-weights", "rule",
     "Reading weights limits layers. Evidence: memory-bound by the roofline, most bytes are "
     "weights. Do: quantize to int8, or a larger batch."},
    {"quantize-dense-layers", "rule",
     "Dense layers and convolutions take most of the time in f32. Do: quantize to int8 as QDQ ONNX "
     "and compare."},
    {"plain-products", "rule",
     "Matrix multiplications run in plain C instead of a kernel library. Do: a build with oneDNN, "
     "or a type that it supports."},
    {"plain-kernels", "rule",
     "Operators run in plain C. Do: replace them by operators with fast kernels, or a build with "
     "oneDNN."},
    {"memory-bound-elementwise", "rule",
     "Elementwise layers move tensors through memory. Do: fuse them into the layer before."},
    {"far-below-roof", "rule",
     "Heavy layers reach less than half of their roofline. Do: look at kernel and shape, try "
     "another layout, batch or thread count."},
    {"more-threads", "rule",
     "Fewer threads are used than the machine has and the layers are large enough. Do: --threads "
     "N, or assay sweep --threads 1,2,..."},
    {"noisy-machine", "rule",
     "Iterations vary more than the differences of interest. Do: stop other work, pin the "
     "frequency, then measure again."},
    {"waits-for-processor", "rule",
     "assay run: threads were ready and waited for a CPU that other programs had. Do: fewer "
     "processes, or a quiet machine."},
    {"processor-wait", "rule",
     "Calls waited for a CPU. Do: fewer threads than CPUs, or a quiet machine."},
    {"program-waits", "rule",
     "assay run: the program mostly sleeps. Do: find what it waits for: network, locks, storage."},
    {"processors-idle", "rule", "assay run: not all CPUs are used. Do: more threads or processes."},
    {"storage-wait", "rule",
     "Time is spent waiting for disk I/O. Do: read ahead, cache, larger blocks."},
    {"page-faults", "rule",
     "Memory is requested from the system again and again. Do: reuse buffers, or an allocator that "
     "keeps memory."},
    {"major-faults", "rule",
     "Pages are read from disk while the program runs. Do: more memory, or load the file before."},
    {"involuntary-switches", "rule", "Threads are preempted. Do: fewer threads, or pin them."},
    {"gemm-below-roofline", "rule",
     "GEMM calls run far below peak compute. Do: larger matrices, another library, aligned "
     "shapes."},
    {"heap-churn", "rule",
     "Much memory is allocated only to be freed at once. Do: allocate once, outside of the loop."},
    {"device-idle", "rule",
     "The device waits for work. Do: larger batches, overlap of transfer and compute."},
    {"far-from-roof", "rule",
     "Neither arithmetic nor memory explains the time of a call. Do: look at the kernel, or record "
     "finer layers."},
    {"call-overhead", "rule",
     "Calls are so short that calling dominates. Do: fewer and larger calls."},
    {"uneven-calls", "rule",
     "Calls of one layer differ a lot. Do: look for shapes that vary, preemption, or garbage "
     "collection."},
    {"reorders", "rule",
     "Tensors are copied between memory layouts. Do: keep neighboring layers in one layout, or "
     "fuse "
     "them."},
    {"overhead", "rule",
     "Layers are too short for their work to dominate. Do: fewer threads, a larger batch, fewer "
     "and larger operators."},
    {"cause-unknown", "rule",
     "The layer is slow, and nothing recorded explains it. Do: record FLOPs and bytes with the "
     "calls."},
    {"95 % CI", "term",
     "See CI: the interval that contains the true value in 95 of 100 repetitions of the "
     "measurement."},
    {"p50", "term",
     "Median: half of the samples are shorter. p90, p95 and p99 are the other percentiles; ~ marks "
     "one that rests on few samples."},
    {"softmax", "term",
     "Exponentials of a vector divided by their sum; the normalization inside attention."},
    {"post-ops", "term",
     "Extra operations fused behind a kernel, such as a bias, an activation or a residual "
     "addition."},
    {"paired", "term",
     "Each sample is divided by the baseline's sample taken next to it, so that drift of the "
     "machine cancels. vs baseline is the geometric mean of these ratios with its 95 % CI."},
    {"shift", "term",
     "diff: Hodges-Lehmann estimate of how far the times of B lie from those of A, relative to p50 "
     "of A, with its 95 % CI."},
    {"unsteady", "term",
     "The times drifted during the measurement, so p50 depends on when it was taken. "
     "Recommendations are withheld."},
    {"knee", "term", "sweep: the setting beyond which doubling gains less than 10 % throughput."},
    {"best", "term", "sweep: the setting with the most throughput within --max-latency and --fit."},
    {"steal", "term",
     "Time that the hypervisor gave to other virtual machines while this one wanted to run."},
    {"workspace", "term", "Scratch memory of kernels while they run."},
    {"spread", "term", "machine: how far the median trial is below the best one."},
    {"minimum-detectable-difference", "term",
     "The smallest change that this many samples can show at this noise."},
    {"bound by", "column",
     "What limits a layer: compute, memory at a cache level or DRAM, latency (the kernel is too "
     "short), or inefficient (neither explains the time)."},
    {"memory (L1)", "column", "bound by: the bytes, at the bandwidth of the L1 cache."},
    {"memory (L2)", "column", "bound by: the bytes, at the bandwidth of the L2 cache."},
    {"memory (L3)", "column", "bound by: the bytes, at the bandwidth of the L3 cache."},
    {"memory (DRAM)", "column", "bound by: the bytes, at the bandwidth of main memory."},
    {"latency", "column",
     "p50 of an inference. Under bound by: the kernel is so short that starting it dominates."},
    {"GFLOP/s", "column", "10^9 floating-point operations per second while the layer ran."},
    {"GB/s", "column", "10^9 bytes read and written per second while the layer ran."},
    {"FLOP/B", "column", "Arithmetic intensity: FLOPs over bytes moved."},
    {"FLOP/byte", "column", "Arithmetic intensity: FLOPs over bytes moved."},
    {"MACs", "column", "inspect: multiply-accumulates of a layer."},
    {"self ms", "column",
     "Self time per inference in milliseconds: time in a layer without the layers it calls."},
    {"self us", "column",
     "Self time per inference in microseconds: time in a layer without the layers it calls."},
    {"cum.", "column", "Cumulative share from the top of the table."},
    {"vs baseline", "column",
     "bench: time relative to the baseline, paired sample by sample, with its 95 % CI; below 1x is "
     "faster."},
    {"outputs", "column", "bench: whether a setting printed the same as the baseline (--outputs)."},
    {"verdict", "column",
     "diff: slower or faster when the difference is significant and reaches --threshold, otherwise "
     "not significant."},
    {"kernel", "column", "profile: the kernel that ran the layer, as oneDNN names it, or plain C."},
    {"fused", "column", "inspect: the operators that run in the kernel of this layer."},
    {"speedup", "column", "Time of the reference over this time; above 1x is faster."},
    {"with activations", "column",
     "inspect: bytes of the weights at this type plus the peak of activations."},
    {"fits in", "column",
     "inspect: the smallest usual memory size that holds weights and activations."},
    {"peak act.", "column", "inspect: peak of live activations, as planned."},
    {"fewer-threads", "rule",
     "Layers are too short to share between threads. Do: --threads 1, or assay sweep --threads "
     "1,2."},
};

const struct as_explained *as_explained_at(size_t i, struct as_explained *space)
{
    const char *name;

    if (i < AS_COUNT_OF(words))
        return &words[i];
    name = as_layer_metric_name_at(i - AS_COUNT_OF(words));
    if (!name)
        return NULL;
    *space = (struct as_explained){name, "column", as_layer_metric_help_at(i - AS_COUNT_OF(words))};
    return space;
}
