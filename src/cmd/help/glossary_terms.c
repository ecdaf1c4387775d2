/* cmd/help/glossary_terms.c - the terms on assay's pages, in the groups of docs/glossary.md, which
 * is what `assay explain --format markdown` prints. */
#include "cmd/help/explain_words.h"

#include "base/units.h"

static const struct {
    const char *group, *word;
    const char *also; /* other names, separated by |; NULL: none */
    const char *meaning;
} terms[] = {
    {"Work", "inference", "iteration",
     "One execution of a model, or of the loop body of a program."},
    {"Work", "run", NULL,
     "A recording, in memory or as a .assay file, made by profile, sweep, run, bench or machine "
     "with -o and read by report, diff, export and verify."},
    {"Work", "target", NULL, "The process tree that assay run watches."},
    {"Work", "layer", NULL,
     "A named unit of work of a model: one step of the engine (one node, or several fused nodes), "
     "or a marked scope of a program."},
    {"Work", "op", NULL, "The operator of a layer: Conv, Gemm, Softmax."},
    {"Work", "span", NULL, "One timed occurrence of a layer."},
    {"Work", "site", NULL, "The place in the code that a span or an allocation comes from."},
    {"Work", "subgraph", NULL, "The nested graph of If, Loop or Scan."},
    {"Work", "post-op", "post-ops",
     "An operation fused behind a kernel: bias, activation, residual sum."},
    {"Work", "reorder", NULL, "A copy between the memory layouts of two kernels."},
    {"Work", "element", NULL, "One value of a tensor."},
    {"Work", "tolerance", "rtol|atol",
     "An element of an output agrees with the expected one when they differ by atol + rtol * "
     "|expected| or less; integers, booleans and strings must be equal."},
    {"Work", "top-1 agreement", "top-1",
     "The share of rows along the last axis of an output whose largest element has the same index "
     "as in the expected output."},
    {"Work", "softmax", NULL,
     "Exponentials of a vector divided by their sum; the normalization inside attention."},
    {"Counts", "MAC", "MACs",
     "One multiply and one add, of convolutions, GEMM, recurrent gates and attention only."},
    {"Counts", "elementwise", NULL, "One add, multiply, compare, round or select."},
    {"Counts", "transcendental", NULL, "One exp, log, sqrt, tanh, erf, sin ..."},
    {"Counts", "FLOPs", "FLOP", "2 x MACs + elementwise + transcendental."},
    {"Counts", "bytes", NULL,
     "Inputs read once + weights read once + outputs written once; tensors between fused nodes are "
     "not stored and do not count."},
    {"Counts", "arithmetic intensity", "FLOP/byte|FLOP/B", "FLOPs / bytes, in FLOP/byte."},
    {"Counts", "GEMM", "matrix multiplication", "General matrix multiplication."},
    {"Counts", "parameters", NULL, "Trained values; shared tensors are counted once."},
    {"Counts", "buffers", NULL, "Stored, but not trained: running mean and variance, tables."},
    {"Counts", "KV cache", NULL,
     "Keys and values of earlier tokens that attention keeps, so that they are not computed again; "
     "bytes per token = 2 x layers x KV heads x head_dim x bytes per element."},
    {"Time", "p50", "median",
     "Half of the iterations are faster; the first value of every latency line."},
    {"Time", "percentile", "p90|p95|p99",
     "The value below which q % of the iterations lie. Interpolated between the two neighboring "
     "order statistics at (n - 1) q / 100 (NumPy's default) in profile, report and sweep. Nearest "
     "rank (the smallest value with at least q % of the samples at or below it) in the CSV files "
     "of bench and in assay/latency.h."},
    {"Time", "~", NULL,
     "Marks a value that rests on fewer iterations than it needs: p90 100, p95 200, p99 1,000."},
    {"Time", "95 % CI", "CI|confidence interval",
     "The interval that contains the true value in 95 of 100 repetitions, as far as one machine "
     "and session can show. For the median: order statistics at the number of effective "
     "iterations. A dash means too few independent samples."},
    {"Time", "effective iterations", "effective samples",
     "Neighboring iterations are alike, so n of them carry the information of fewer: n_eff = n / "
     "(1 + 2 x sum of the autocorrelations)."},
    {"Time", "MAD", "median absolute deviation",
     "Median of abs(x - median); spread that outliers do not move."},
    {"Time", "CV", "coefficient of variation", "Standard deviation / mean."},
    {"Time", "outlier", NULL,
     "An iteration outside Tukey's fences: below Q1 - 1.5 IQR or above Q3 + 1.5 IQR. Outliers stay "
     "in the data; their causes are listed where they were seen."},
    {"Time", "steady", "unsteady",
     "No trend over the iterations (tested), and the CPU frequency did not change. Of an unsteady "
     "measurement p50 depends on when it was taken; recommendations that rest on times are "
     "withheld."},
    {"Time", "warm-up", NULL,
     "Iterations before timing, until two windows agree and do not drift. They are in no result."},
    {"Time", "self time", "total time",
     "Time in a layer without / with the layers inside it. Self times add up to the total."},
    {"Time", "throughput", NULL, "batch / p50, in samples/s; for decoders tokens/s."},
    {"Time", "prefill", "decode",
     "Processing the prompt, all its tokens at once; generating one token after another, usually "
     "memory-bound by the weights."},
    {"Time", "cost of profiling", NULL,
     "Profiled p50 / plain p50 - 1, measured interleaved; not in the latency."},
    {"Time", "steal", NULL,
     "Time that the hypervisor gave to other virtual machines while this one wanted to run."},
    {"Roofline", "peak compute", NULL,
     "The highest FLOP/s measured on this machine for a data type and thread count."},
    {"Roofline", "memory bandwidth", NULL,
     "The highest bytes/s measured from L1, L2, L3 or DRAM; bytes requested by the program (STREAM "
     "convention)."},
    {"Roofline", "roofline", NULL,
     "Attainable FLOP/s = min(peak compute, arithmetic intensity x memory bandwidth), with peaks "
     "measured on this machine: what a perfect kernel would reach."},
    {"Roofline", "least time", NULL,
     "max(FLOPs / peak compute, bytes / bandwidth of the level that holds them)."},
    {"Roofline", "% of roofline", NULL,
     "Least time / measured time. It may exceed 100 % when the CPU clocks higher than during the "
     "peak measurement."},
    {"Roofline", "ridge point", NULL,
     "Peak compute / memory bandwidth, in FLOP/byte: below it memory limits, above it compute."},
    {"Roofline", "compute-bound", "compute",
     "The arithmetic takes longer than the bytes. To gain: fewer FLOPs, lower precision, more "
     "threads."},
    {"Roofline", "memory-bound", "memory (L2)|memory (L3)|memory (DRAM)|memory (L1)",
     "The bytes take longer, mostly at the cache level or DRAM that is named. To gain: fewer bytes "
     "by fusion or quantization, or a larger batch that reuses weights."},
    {"Roofline", "latency-bound", "overhead-bound",
     "The kernels are so short that starting them and handing work to threads dominates. To gain: "
     "fewer and larger operators, fewer threads, a larger batch."},
    {"Roofline", "inefficient", NULL,
     "Neither compute nor memory explains the time and the kernel is not short: a kernel not made "
     "for this shape, plain C, or a disturbed machine."},
    {"Roofline", "spread", NULL, "machine: how far the median trial is below the best one."},
    {"Memory", "RSS", "peak RSS|resident set size",
     "Resident memory of a process now, and its maximum (VmHWM)."},
    {"Memory", "activations", "peak activations",
     "Tensors between layers. Planned: from lifetimes. Measured: counted while running. The peak "
     "is the most that is live at once."},
    {"Memory", "workspace", NULL, "Scratch memory of kernels."},
    {"Memory", "peak memory", NULL,
     "The maximum of weights + activations + workspace + state at one moment."},
    {"Memory", "live bytes", NULL, "Allocated and not yet freed."},
    {"Memory", "leak", NULL, "Memory that keeps growing and does not come back."},
    {"Memory", "MiB", "GiB",
     "2^20 and 2^30 bytes. Keys that end in _mb are MiB; every one has a key in bytes beside it."},
    {"Comparison", "baseline", NULL, "What the others are compared with."},
    {"Comparison", "interleaved", NULL,
     "A B B A instead of A A B B, so that a slow minute affects both."},
    {"Comparison", "paired", NULL,
     "The ratio of neighbors in time, not of two separate medians: each sample is divided by the "
     "baseline's sample taken next to it, so that drift of the machine cancels."},
    {"Comparison", "shift", "Hodges-Lehmann",
     "The median of all differences B - A (Hodges-Lehmann estimate), with its 95 % CI. It need not "
     "equal the difference of the two p50s."},
    {"Comparison", "p", "p-value",
     "Probability of a difference at least this large if there were none; adjusted for the number "
     "of layers (Benjamini-Hochberg)."},
    {"Comparison", "significant", NULL,
     "p adjusted is below 0.05, and the change reaches --threshold."},
    {"Comparison", "no significant difference", NULL,
     "Nothing can be concluded; it does not mean equal."},
    {"Comparison", "noise floor", NULL,
     "How much two equal measurements differ on this machine. Smaller differences are not "
     "significant."},
    {"Comparison", "minimum detectable difference", NULL,
     "The smallest change that so many pairs can show."},
    {"Comparison", "geometric mean", NULL, "exp(mean(log x)); the mean of ratios."},
    {"Comparison", "speedup", NULL, "Time of the reference over this time; above 1x is faster."},
    {"Comparison", "knee", NULL,
     "sweep: the setting beyond which doubling gains less than 10 % throughput."},
    {"Comparison", "best", NULL,
     "sweep: the setting with the most throughput within --max-latency and --fit."},
    {"Findings", "recommendation", NULL,
     "Rule, target, evidence, action, expected gain, confidence, severity."},
    {"Findings", "expected gain", NULL,
     "Upper bound on the fraction of the time that can be saved (Amdahl)."},
    {"Findings", "severity", NULL, "0 to 100; the expected gain in percent where it is known."},
    {"Findings", "confidence", NULL, "Low, medium or high: how sure it is that the action helps."},
    {"Findings", "unavailable", NULL,
     "A value that cannot be had: - on screen, null in JSON with the reason beside it, empty in "
     "CSV. Never 0."},
    {"Findings", "intact", "corrupt|incomplete",
     "A file with all of its data; with changed bytes; with missing data."},
    {"Findings", "witness", NULL,
     "Signed result log: one line per sample, chained by hashes, that 'assay verify' checks."},
    {"Programs", "CPU time", NULL, "user + system time of all threads."},
    {"Programs", "CPU utilization", NULL, "CPU time / wall time, in CPUs."},
    {"Programs", "preemption", "involuntary context switch",
     "An involuntary context switch: the scheduler gave the CPU to another thread."},
    {"Programs", "page fault", NULL, "Minor: a page was mapped. Major: it was read from disk."},
    {"Programs", "disk I/O", NULL, "Bytes read from and written to storage."},
    {"Programs", "rank", NULL, "One process of a distributed job."},
    {"Programs", "load imbalance", NULL, "(slowest - fastest) / mean time of the ranks."},
    {"Programs", "run delay", NULL,
     "Time in which a thread was runnable and waited for a CPU, as the scheduler counts it."},
    {"Programs", "PSS", NULL,
     "Proportional set size: resident memory in which a page shared by n processes counts as 1/n "
     "in each."},
};

const struct as_explained *as_glossary_at(size_t i, struct as_explained *space)
{
    if (i >= AS_COUNT_OF(terms))
        return NULL;
    *space = (struct as_explained){
        .word = terms[i].word,
        .kind = "term",
        .meaning = terms[i].meaning,
        .also = terms[i].also,
        .group = terms[i].group,
    };
    return space;
}
