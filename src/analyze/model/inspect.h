/* analyze/model/inspect.h - everything that is known of a model without running it, in one struct.
 * Reports only render this; each figure is made in model/ or here, once. */
#ifndef AS_ANALYZE_MODEL_INSPECT_H
#define AS_ANALYZE_MODEL_INSPECT_H

#include "base/finding.h"
#include "model/cost/cost.h"
#include "model/infer/infer.h"
#include "model/memory/fit.h"
#include "model/memory/memory_plan.h"
#include "model/memory/train_memory.h"
#include "model/weights/parameters.h"
#include "model/weights/weight_stats.h"

/* ---- inspect_scale.c ---- */

enum { AS_SCALE_MAX = 32 };

struct as_scale_row {
    int64_t value;
    uint64_t parameters, parameter_bytes, macs, flops, bytes_moved;
    uint64_t activation_bytes; /* planned peak */
    uint64_t training_bytes;   /* peak of a step; 0: not asked for */
    uint64_t samples;
    bool complete;
};

/* Fills one row from the model with these shapes; afterwards its shapes are those. `train` may be
 * NULL. */
AS_MUST_USE int as_scale_count(struct as_scale_row *row, struct as_model *model,
                               const struct as_infer_options *infer,
                               const struct as_train_options *train, struct assay_error *err);

/* ---- inspect.c ---- */

enum as_inspect_grouping {
    AS_GROUP_NONE,
    AS_GROUP_OP,    /* by operator */
    AS_GROUP_SCOPE, /* by all parts of the name but the last */
    AS_GROUP_DEPTH, /* by its first parts, as many as `depth` says */
    AS_GROUP_TREE,  /* by each of its first parts: groups hold groups, down to `depth` */
    AS_GROUP_COUNT
};

struct as_inspect_options {
    struct as_infer_options infer;
    bool look_into_weights; /* find tied tensors by their numbers */
    bool weights;           /* statistics of the weights, which are then read */
    bool training;
    struct as_train_options train;
    uint64_t fit_bytes; /* the largest batch or context for so much memory; 0: not asked */
    enum as_fit_what fit_what;
    const char *fit_symbol;
    unsigned kv_bits;    /* of a number in the cache; 0: 16 */
    double gflops, gbps; /* of a machine, as the user says; 0: not given */
    void (*progress)(void *user, uint64_t done, uint64_t of);
    void *user;
};

/* Sums over rows that belong together, or one row alone: what a table shows in a line. */
struct as_inspect_group {
    const char *name;
    unsigned depth; /* in a tree: 1 for the outermost; else 0 */
    size_t n_rows;
    uint64_t times;                   /* executions of its rows */
    struct as_cost forward, backward; /* with the rows' times */
    uint64_t parameters, parameter_bytes, output_bytes, saved_bytes;
    bool known; /* false: a row of it is not counted */
    bool times_known;
};

/* A layer whose weights are worth fewer bits, largest gain first. */
enum { AS_INSPECT_RECOMMENDATIONS = 24, AS_INSPECT_SHOWN = 5 };

struct as_quant_candidate {
    size_t row;
    uint64_t parameters, bytes; /* of its weights wider than 8 bits that no earlier layer uses */
    uint64_t saved_bytes;       /* with 8 bits each */
    double intensity;           /* FLOPs a byte moved: low means that bytes are what costs */
};

/* What the weights need at other widths, and the smallest common memory that holds a run. */
struct as_deployment {
    const char *dtype;
    double bits;
    uint64_t weight_bytes;
    uint64_t total_bytes; /* with the planned activations as they are, and the cache of a decoder
                             at its context */
    const char *device_class; /* "8 GiB"; NULL: larger than all we know */
};

/* What one inference of a text model with a cache costs: all tokens of the prompt, or one new one.
 */
struct as_inspect_phase {
    uint64_t tokens, past; /* of each sample: new ones, and in the cache before */
    uint64_t macs, flops, bytes_moved;
    uint64_t cache_bytes; /* that it leaves for the next, in the file's dtype */
    bool complete;        /* every operator that runs is counted */
};

enum { AS_INSPECT_PHASES = 2 };

enum { AS_DEPLOYMENTS = 4, AS_QUANT_CANDIDATES = 5 };

struct as_inspection {
    struct as_model *model; /* borrowed */
    struct as_inspect_options options;
    struct as_bound_dims bound;
    struct as_costs *costs;
    struct as_params *params;
    struct as_memory_plan *plan;
    struct as_train_memory train;   /* when options.training */
    struct as_weight_stats weights; /* when options.weights and weights_rc is 0 */
    int weights_rc;
    struct assay_error weights_error; /* why there are none */
    struct as_fit_answer fit;         /* when options.fit_bytes */
    bool has_cache;                   /* keys and values go from inference to inference */
    struct as_inspect_phase phases[AS_INSPECT_PHASES]; /* of a text model with a cache: as it was
                                                          inferred, and one new token after it */
    size_t n_phases;
    uint64_t n_nodes;               /* with those of bodies */
    uint64_t flops, flops_backward; /* of one run */
    uint64_t bytes_moved;           /* read and written */
    double intensity;               /* FLOPs a byte moved; NaN: no bytes */
    bool complete;                  /* every operator that runs is counted */
    uint64_t kv_bytes_per_token;    /* 0: no decoder was found */
    bool projections_known;         /* of every block of attention */
    uint64_t attention_macs;        /* of all blocks: the two products and their projections */
    uint64_t recomputed;            /* a decoder without a cache: tokens computed again for each
                                       new one; 0: none */
    struct as_scale_row scale[AS_SCALE_MAX]; /* when the caller filled them */
    size_t n_scale;
    const char *scale_name;       /* what was varied */
    uint64_t streamed_bytes;      /* of parameters that a run reads whole: not those only
                                     looked up */
    uint64_t floor_bytes;         /* what any run must move: those, inputs and outputs */
    uint64_t kv_bytes;            /* of the cache at the decoder's context; 0: not known */
    double min_seconds;           /* of a run at options.gflops and gbps; NaN: not given */
    double max_tokens_per_second; /* one sequence, empty cache; NaN: not known */
    double max_tokens_at_context; /* the same with a full cache; NaN: not known */
    struct as_quant_candidate quant[AS_QUANT_CANDIDATES];
    size_t n_quant;
    struct assay_finding recommendations[AS_INSPECT_RECOMMENDATIONS]; /* ranked */
    size_t n_recommendations;
    struct as_deployment deployment[AS_DEPLOYMENTS];
    struct as_arena arena;
};

/* Infers, counts and plans. The model is borrowed and must live on; `options` is copied. */
AS_MUST_USE int as_inspection_new(struct as_inspection **inspection, struct as_model *model,
                                  const struct as_inspect_options *options,
                                  struct assay_error *err);
void as_inspection_free(struct as_inspection *inspection);

/* For inspect.c alone: the last step, inspect_recommend.c. */
void as_inspect_recommend(struct as_inspection *in);
/* For inspect_recommend.c: what the graph and a training step suggest. */
void as_inspect_recommend_more(struct as_inspection *in);

/* A row that is there only in the file: a Constant node, or one whose results are all constants. */
bool as_row_is_constant(const struct as_cost_row *row);

/* What to call a row in a sentence: the last part of a name that lists all parts of a fused layer,
 * or the whole where another row has the same last part. Looks at every row. */
const char *as_inspect_brief(const struct as_inspection *in, const struct as_cost_row *row);

/* Adds a row to a group that began as {.known = true, .times_known = true}. */
void as_group_add(struct as_inspect_group *group, const struct as_cost_row *row);

/* Groups in the order of their first row, in the inspection's memory. `depth`: of AS_GROUP_DEPTH
 * and AS_GROUP_TREE. In a tree a layer outside all scopes is a group of its own, and a group's
 * figures are in those of the groups around it. */
AS_MUST_USE int as_inspect_groups(struct as_inspection *inspection,
                                  enum as_inspect_grouping grouping, unsigned depth,
                                  struct as_inspect_group **groups, size_t *n_groups,
                                  struct assay_error *err);

/* FLOPs a byte moved; NaN when no byte is. */
double as_cost_intensity(const struct as_cost *cost);

/* The part of a node's name that says where it stands: all but the last part, or the first
 * `depth` parts (0: all but the last). Borrowed length. */
size_t as_name_scope(const char *name, unsigned depth);

/* ---- inspect_phases.c ---- */

/* "prefill" or "decode". */
const char *as_inspect_phase_name(const struct as_inspect_phase *phase);

/* After as_infer_shapes(), which it repeats when it looked at another phase: types are then as
 * before. */
AS_MUST_USE int as_inspect_decode(struct as_inspection *in, struct assay_error *err);
/* The phase that the model was inferred for; needs costs. */
AS_MUST_USE int as_inspect_prefill(struct as_inspection *in, struct assay_error *err);

/* ---- inspect_weights.c ---- */

/* Fills in->streamed_bytes and in->quant; needs costs and params. */
AS_MUST_USE int as_inspect_weight_use(struct as_inspection *in, struct assay_error *err);

#endif
