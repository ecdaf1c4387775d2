/* engine/exec_plan.h - a network made ready to run: steps over slots, one plan for each graph.
 * build_plan.c makes it from the graph, passes/ change it, prepare.c chooses kernels and
 * places. */
#ifndef AS_ENGINE_EXEC_PLAN_H
#define AS_ENGINE_EXEC_PLAN_H

#include "engine/engine.h"
#include "engine/kernel.h"
#include "engine/layout.h"
#include "engine/thread_pool.h"
#include "model/infer/infer_rules.h"

struct as_provider;

enum { AS_MAX_POST_OPS = 4 };

/* One tensor: a value of the model, or one that the engine made (folded weights, reorders). */
struct as_slot {
    const char *name;
    uint32_t value;                 /* of the model; AS_NONE: made by the engine */
    struct as_type type;            /* by the rules alone; dims live as long as the program */
    bool is_static;                 /* a tensor of known shape in every run */
    bool is_const;                  /* its numbers never change: `data` or `val` has them */
    bool is_input, is_output;       /* of the main graph */
    bool is_state;                  /* a cache that goes out of one run and into the next */
    const struct as_data *data;     /* of a constant that is not loaded yet */
    const struct as_layout *layout; /* NULL: plain */
    uint64_t bytes;                 /* of a static one, in its layout */
    uint32_t n_uses;                /* steps that read it, those of bodies through their owner */
    uint32_t view_of;    /* the slot whose memory it shares, or AS_NONE; static ones only */
    uint64_t offset;     /* in the arena; UINT64_MAX: none */
    uint32_t alt;        /* the same tensor in another layout (a reorder's output), or AS_NONE */
    uint32_t n_waiting;  /* of a constant: steps that have not been prepared yet */
    struct as_type seen; /* what it was in the last run, when only runs can tell */
    int64_t *seen_dims;  /* those of `seen` */
    uint64_t seen_run;   /* the run that `seen` is of */
    bool seen_varies;    /* that run made it in more than one shape */
    struct as_val val;   /* of a constant once loaded; of others while running */
};

/* Something done to the output of a step before it is stored: an activation, or a second tensor
 * of the same shape added, multiplied or taken away. post_ops.c has the list; those of
 * com.microsoft are MS_QuickGelu, x * sigmoid(alpha * x), and MS_FastGelu, Gelu by tanh; Gelu is by
 * erf. */
struct as_post_op {
    enum as_op op;     /* Relu, Clip, Sigmoid ...; Add, Mul, Sub with a second tensor */
    float alpha, beta; /* of the activation; of Clip: low and high */
    uint32_t in;       /* index in the step's inputs of the second tensor; AS_NONE: none */
};

enum as_step_kind { AS_STEP_NODE, AS_STEP_VIEW, AS_STEP_REORDER };

struct as_step {
    enum as_step_kind kind;
    const struct as_graph *graph;
    const struct as_node *node; /* the one whose work it is; of a reorder: that it is done for */
    const struct as_node *spec; /* the one whose attributes count: `node`, or one the engine made */
    enum as_op op;
    int64_t opset;
    uint32_t n_in, n_out;
    uint32_t *in, *out;             /* slots; AS_NONE where one is left out */
    uint32_t *captures, n_captures; /* slots from outside that its bodies read */
    const struct as_node **sources; /* every node of the file whose work is done here */
    uint32_t n_sources;
    struct as_post_op post_ops[AS_MAX_POST_OPS];
    uint32_t n_post_ops;
    bool dead;                      /* taken away by the optimizer */
    bool is_static;                 /* all shapes known: outputs are placed beforehand */
    bool is_quantized;              /* values of its node have scales (kern_quant_floats.c) */
    bool knows_types;               /* those of its floats were found to go together */
    bool is_free;                   /* a view of what is placed: there is nothing to do in a run */
    const struct as_kernel *kernel; /* in plain C; NULL for a reorder */
    const struct as_provider *provider; /* NULL: plain C */
    void *state;                        /* the provider's */
    const char *impl;                   /* which kernel of the library, or "plain C" */
    const char *why;  /* of a reorder: what needs it; of a GEMM or convolution between quantized
                         tensors: why it runs in f32; else NULL */
    unsigned threads; /* it runs on; of one whose shapes are open: in the last run */
    uint32_t index;   /* among all steps of the program: for samples */
    uint32_t *drops;  /* slots that nobody needs after it */
    uint32_t n_drops;
    const struct as_val **ins; /* for kernels: the slots' values; NULL where left out */
    struct as_val **outs;
};

struct as_plan {
    struct as_graph *graph;
    struct as_step *steps;
    uint32_t n_steps;
    size_t capacity;
    uint32_t *in, *out; /* slots of the graph's inputs and outputs */
    int64_t n_ran;      /* how often the last run ran it, ... */
    int64_t n_before;   /* ... and the one before */
    bool ran_varies;    /* not as often in every run */
};

/* Working memory that a kernel gave back, for the next that wants as much: taken from the system
 * and given back in each run it would cost more than many kernels do. Not counted while it is here.
 */
struct as_spare {
    void *block;
    uint64_t bytes;
};
enum { AS_SPARES = 8 };

struct as_exec_plan {
    struct as_model *model;
    const struct as_engine_options *options;
    struct as_slot *slots; /* the first model->n_values are the model's values, by number */
    uint32_t n_slots;
    size_t capacity_slots;
    struct as_plan *plans; /* the main one first, then one for each body that is run */
    uint32_t n_plans;
    struct as_step **steps; /* all of them, by index */
    uint32_t n_steps;
    uint64_t shapes_ns;        /* of the last profile: spent on shapes that were open */
    struct as_widened widened; /* constants of fewer bits that are kept as f32 */
    struct as_mem mem;
    struct as_arena arena; /* small things that live as long */
    struct as_op_rule rules[AS_OP_COUNT];
    const struct as_kernel *kernels[AS_OP_COUNT];
    uint8_t *space; /* the planned arena of the main plan */
    uint64_t space_bytes;
    uint64_t planned_peak_bytes; /* of activations, when `planned` */
    uint32_t planned_peak_step;
    bool planned; /* every tensor of the main plan has a known size and no body is run */
    uint64_t workspace_bytes; /* the largest that a provider's step asked for */
    void *workspace;
    uint64_t *live_bytes; /* by step: of the last run with AS_RUN_MEMORY */
    uint32_t *sites;      /* by step: for the recorder; NULL: it is not asked to record */
    bool apart;           /* slots hold what a run with AS_RUN_MEMORY left */
    bool has_library;
    char why_not[200]; /* why there is no library */
    char library_name[80];
    void *library; /* the provider's, for all its steps */
    /* The processor adds pairs of 8-bit products in 16 bits: with weights beyond
     * AS_NARROW_WEIGHT they do not fit and would be cut off without a word. */
    bool narrow_products;
    struct as_thread_pool *pool;
    struct as_spare spares[AS_SPARES];
    uint32_t next_spare; /* the one to be replaced next */
    /* What handing work over costs now: to the pool, to the threads of the library. 0: one thread.
     */
    double pool_hand_over_ns, library_hand_over_ns;
    uint64_t constant_bytes;
};

/* A library of fast kernels. */
struct as_provider {
    const char *name; /* "oneDNN" */
    /* Once per program, and at its end. UNSUPPORTED: the library is not there; its steps are then
     * left to plain C. */
    int (*open)(struct as_exec_plan *p, struct assay_error *err);
    void (*close)(struct as_exec_plan *p);
    void (*begin)(struct as_exec_plan *p); /* before each run: threads; or NULL */
    void (*end)(struct as_exec_plan *p); /* after it: those of the last step are not left behind */
    /* Hands its threads a piece of work that is nothing; NULL: it has none. */
    void (*hand_over)(struct as_exec_plan *p);
    /* Takes a static step of the plan that is being prepared: sets state, impl, and the layouts and
     * bytes of its output slots; asks for reorders of its inputs by as_exec_plan_reorder(). 1:
     * taken, 0: not mine (nothing changed but reorders that are then unused), negative: failed. */
    int (*prepare)(struct as_exec_plan *p, struct as_plan *plan, struct as_step *step,
                   struct assay_error *err);
    /* The step that turns slot in[0] into out[0], whose layouts differ. */
    int (*prepare_reorder)(struct as_exec_plan *p, struct as_step *step, struct assay_error *err);
    bool (*same)(const struct as_layout *a, const struct as_layout *b); /* either may be NULL */
    /* The slots' values have data; workspace is p->workspace. */
    int (*run)(struct as_exec_plan *p, const struct as_step *step, struct assay_error *err);
    /* A step whose shapes are known only now, in `k`: 1: done, 0: plain C shall; or NULL. */
    int (*run_now)(struct as_exec_plan *p, struct as_step *step, struct as_kernel_ctx *k);
    void (*drop)(void *state);
};

extern const struct as_provider as_provider_onednn;

/* ---- build_plan.c ---- */
/* Slots and steps of every graph that runs; bodies of an If whose side is known become part of the
 * plan around it. Checks that every operator can be run, before anything is. */
AS_MUST_USE int as_exec_plan_build(struct as_exec_plan *p, struct assay_error *err);

/* A new slot; AS_NONE without memory. Pointers to slots are void afterwards. */
uint32_t as_exec_plan_slot(struct as_exec_plan *p, const char *name, const struct as_type *type);

/* Whether the slot holds numbers that are known before the run. */
static inline bool as_slot_is_const(const struct as_exec_plan *p, uint32_t slot)
{
    return slot != AS_NONE && p->slots[slot].is_const;
}

/* Counts uses of slots anew over all plans; after steps were changed. */
void as_exec_plan_count_uses(struct as_exec_plan *p);

/* The plan of a body; NULL when it is not run. */
struct as_plan *as_exec_plan_plan_of(const struct as_exec_plan *p, const struct as_graph *graph);

/* Adds a step to a plan, with room for its slots; NULL without memory. */
struct as_step *as_plan_add(struct as_exec_plan *p, struct as_plan *plan, uint32_t n_in,
                            uint32_t n_out);

/* ---- constants.c ---- */
/* A constant of the engine's own, f32 or whatever `val` is; takes the value. */
uint32_t as_exec_plan_constant_slot(struct as_exec_plan *p, const char *name, struct as_val *val);

/* The numbers of a constant slot, loaded; NULL with an error. */
const struct as_val *as_exec_plan_constant(struct as_exec_plan *p, uint32_t slot,
                                           struct assay_error *err);
/* Its numbers in a value that the caller drops; those in the file are read without staying. No
 * texts. */
AS_MUST_USE int as_exec_plan_copy(struct as_exec_plan *p, uint32_t slot, struct as_val *val,
                                  struct assay_error *err);
/* Numbers [first, first + n) of one that has `data`, as as_exec_plan_constant() would have them;
 * from the start of a byte or block on. */
AS_MUST_USE int as_exec_plan_read(const struct as_exec_plan *p, uint32_t slot, uint64_t first,
                                  uint64_t n, void *out, struct assay_error *err);
/* One of the steps that use it needs the plain numbers no more; they go when all have said so. */
void as_exec_plan_constant_done(struct as_exec_plan *p, uint32_t slot);

/* ---- passes.c ---- */
AS_MUST_USE int as_exec_plan_optimize(struct as_exec_plan *p, struct assay_error *err);

/* ---- prepare.c ---- */
AS_MUST_USE int as_exec_plan_prepare(struct as_exec_plan *p, struct assay_error *err);

/* A slot with the tensor of `slot` in `layout` (NULL: plain): the slot itself when it is so
 * already, one made before, or the output of a reorder added to the plan now. AS_NONE: failed. */
uint32_t as_exec_plan_reorder(struct as_exec_plan *p, struct as_plan *plan,
                              const struct as_step *user, uint32_t slot,
                              const struct as_layout *layout, struct assay_error *err);

/* ---- post_ops.c ---- */
/* A MatMul step may have a bias as its third input, a vector along the last axis, which is added
 * before the post-ops. */
static inline bool as_step_has_bias(const struct as_step *step)
{
    return step->op == AS_OP_MatMul && step->n_in > 2 && step->in[2] != AS_NONE;
}

/* Whether as_post_ops_apply() has something to do after the kernel in plain C. */
static inline bool as_step_has_post_ops(const struct as_step *step)
{
    return step->n_post_ops > 0 || as_step_has_bias(step);
}

/* What the bias and the post-ops make of a plain output 0; for steps run in plain C. */
AS_MUST_USE int as_post_ops_apply(struct as_kernel_ctx *k, const struct as_step *step);
#endif
