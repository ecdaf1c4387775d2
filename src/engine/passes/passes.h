/* engine/passes/passes.h - what the passes of the optimizer share: who makes a slot, who reads it,
 * and the few ways to change steps that keep both right. Belongs to optimize*.c. */
#ifndef AS_ENGINE_PASSES_PASSES_H
#define AS_ENGINE_PASSES_PASSES_H

#include "engine/exec_plan.h"
#include "model/patterns/patterns.h"

/* The most steps that one pattern takes together. */
enum { AS_OPT_PARTS = 24 };

struct as_pass_graph {
    struct as_exec_plan *p;
    struct assay_error *err;
    uint32_t plan; /* the one whose steps are being visited */
    /* By slot, for the first n_slots; those made since the pass began are constants. */
    uint32_t n_slots;
    struct as_step **maker; /* NULL: an input or a constant of the file */
    uint32_t *plan_of;      /* of the maker */
    uint32_t *n_uses;       /* inputs of live steps that read it */
    uint32_t *alias;        /* what to read instead; itself: nothing else */
    bool *kept;             /* an output of a graph: must be made under this number */
    bool any_alias;
};

/* One pass: `visit` sees every live step of every plan in order, `finish` comes after the last;
 * either may be NULL. */
struct as_pass {
    int (*visit)(struct as_pass_graph *o, struct as_step *step);
    int (*finish)(struct as_pass_graph *o);
};

extern const struct as_pass as_pass_noops;      /* what changes nothing goes */
extern const struct as_pass as_pass_cse;        /* what is computed twice is computed once */
extern const struct as_pass as_pass_qdq;        /* integers between (de)quantizations */
extern const struct as_pass as_pass_norm;       /* LayerNormalization from its pieces */
extern const struct as_pass as_pass_activation; /* Gelu, SiLU, HardSwish, Mish likewise */
extern const struct as_pass as_pass_neighbors;  /* Pad into Conv, Transpose into Gemm */
extern const struct as_pass as_pass_affine;     /* BatchNormalization, scale, bias into weights */
extern const struct as_pass as_pass_post_ops;   /* activations and second tensors as post-ops */

/* A pattern while it is matched: the steps found so far, the last of which stays. */
struct as_pass_match {
    struct as_step *parts[AS_OPT_PARTS];
    unsigned n;
};

/* False: too many. A step that is there already is not added again. */
bool as_pass_add(struct as_pass_match *m, struct as_step *step);
/* Whether nobody but `last` and the parts reads what the parts make. */
bool as_pass_closed(const struct as_pass_graph *o, const struct as_pass_match *m,
                    const struct as_step *last);

/* The live step of the plan being visited that makes `slot`; NULL: there is none. */
struct as_step *as_pass_maker(const struct as_pass_graph *o, uint32_t slot);
/* The same when one single input reads it and it is no output. */
struct as_step *as_pass_inner(const struct as_pass_graph *o, uint32_t slot);
uint32_t as_pass_uses(const struct as_pass_graph *o, uint32_t slot);
/* Input `i`, AS_NONE when left out or beyond the last. */
uint32_t as_pass_in(const struct as_step *step, uint32_t i);
/* Of a binary step, the input that is not `slot`; AS_NONE when neither is. */
uint32_t as_pass_other(const struct as_step *step, uint32_t slot);

/* Numbers of a constant of one element; of a small list of integers. False: it is none. */
bool as_pass_scalar(const struct as_pass_graph *o, uint32_t slot, double *out);
bool as_pass_list(const struct as_pass_graph *o, uint32_t slot, struct as_dims *out);
/* The bounds of a Clip of any opset, infinite where there is none; false: they are not known. */
bool as_pass_clip_bounds(const struct as_pass_graph *o, const struct as_step *clip, double *low,
                         double *high);
/* A constant with every number equal to `x`; AS_NONE: no memory. */
uint32_t as_pass_fill(struct as_pass_graph *o, const char *name, unsigned dtype,
                      const struct as_dims *dims, double x);

/* A tensor whose shape is the same in every run and round. */
bool as_pass_is_static(const struct as_pass_graph *o, uint32_t slot);
/* Two of them, of equal shape and dtype. */
bool as_pass_same_type(const struct as_pass_graph *o, uint32_t a, uint32_t b);
/* A tensor of f32, f64, f16 or bf16. */
bool as_pass_is_float(const struct as_pass_graph *o, uint32_t slot);
/* Its last dimension, or AS_DIM_UNKNOWN. */
int64_t as_pass_last_dim(const struct as_pass_graph *o, uint32_t slot);

/* ---- pass_patterns.c ---- */
/* The plan being visited as the patterns see it, a step of it (false: it does more than its
 * operator), and the steps of a match. */
struct as_pattern_graph as_pass_pattern_graph(const struct as_pass_graph *o);
bool as_pass_pattern_op(struct as_step *step, struct as_pattern_op *op);
struct as_pass_match as_pass_pattern_parts(const struct as_pattern_match *pattern);

/* ---- changes; NOMEM is the one failure ---- */
/* The step reads these from now on. */
AS_MUST_USE int as_pass_inputs(struct as_pass_graph *o, struct as_step *step, const uint32_t *in,
                               uint32_t n);
/* The same for one input. */
void as_pass_replace(struct as_pass_graph *o, struct as_step *step, uint32_t i, uint32_t slot);
/* Takes the step away. */
void as_pass_kill(struct as_pass_graph *o, struct as_step *step);
/* Readers of `slot` read `instead` once the pass is over; as_pass_resolve() is for the step's
 * inputs now. */
void as_pass_alias(struct as_pass_graph *o, uint32_t slot, uint32_t instead);
void as_pass_resolve(struct as_pass_graph *o, struct as_step *step);
/* Readers of output 0 read input 0 of the step, which goes; nothing when that cannot be. */
void as_pass_bypass(struct as_pass_graph *o, struct as_step *step);
/* The parts go, and their sources are those of `last` too, in order. */
AS_MUST_USE int as_pass_take(struct as_pass_graph *o, struct as_step *last,
                             const struct as_pass_match *m);
/* `first` comes to the place of `last`, which alone reads it, and makes what that made. */
AS_MUST_USE int as_pass_absorb(struct as_pass_graph *o, struct as_step *first,
                               struct as_step *last);
/* The sources of `from` come before those of `step`. */
AS_MUST_USE int as_pass_sources(struct as_pass_graph *o, struct as_step *step,
                                const struct as_step *from);
/* Those of `last` come after those of `step`, and are its own no more. */
AS_MUST_USE int as_pass_append(struct as_pass_graph *o, struct as_step *step, struct as_step *last);

/* The step does `op` of that opset with these attributes, whatever its node says; its inputs are
 * set already, and there is a kernel for it. */
AS_MUST_USE int as_pass_become(struct as_pass_graph *o, struct as_step *step, enum as_op op,
                               int64_t opset, const struct as_attr *attrs, uint32_t n_attrs);
/* The step's attributes with one of integers set anew. */
AS_MUST_USE int as_pass_set_ints(struct as_pass_graph *o, struct as_step *step, const char *name,
                                 const int64_t *at, uint32_t n);
AS_MUST_USE int as_pass_set_text(struct as_pass_graph *o, struct as_step *step, const char *name,
                                 const char *text);
AS_MUST_USE int as_pass_set_int(struct as_pass_graph *o, struct as_step *step, const char *name,
                                int64_t value);

static inline struct as_attr as_pass_float_attr(const char *name, double f)
{
    return (struct as_attr){.name = name, .kind = AS_ATTR_FLOAT, .f = f};
}

static inline struct as_attr as_pass_int_attr(const char *name, int64_t i)
{
    return (struct as_attr){.name = name, .kind = AS_ATTR_INT, .i = i};
}

#endif
