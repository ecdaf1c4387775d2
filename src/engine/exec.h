/* engine/exec.h - one execution of a plan: values come alive, kernels are called, values are
 * dropped. Belongs to engine.c; kernels only pass it on. */
#ifndef AS_ENGINE_EXEC_H
#define AS_ENGINE_EXEC_H

#include "engine/exec_plan.h"

struct as_work {
    struct as_work *next;
    void *block;
    uint64_t bytes;
};

struct as_exec {
    struct as_exec_plan *p;
    enum as_run_mode mode;
    struct as_step_sample *samples; /* by step; with AS_RUN_PROFILE */
    uint64_t inner_ns;              /* spent in bodies since the step around them began */
    unsigned forced; /* > 0: inside a body whose inputs are not those it was prepared for */
    unsigned depth;  /* of bodies */
    bool folds;      /* what is made becomes constants */
    uint64_t run;    /* how many were before: other random numbers in each */
    struct as_arena scratch;
    struct as_work *works;
    struct assay_error *err;
};

/* Frees the working memory that is kept for other kernels. */
void as_exec_drop_spares(struct as_exec_plan *p);

/* The types of a step's outputs by its shape rule, when its inputs are `ins`. */
AS_MUST_USE int as_exec_types(struct as_exec *x, const struct as_step *step,
                              const struct as_val *const *ins, struct as_type *out);

/* Gives static slots of the main plan their places in the arena, or (apart) leaves them empty. */
void as_exec_bind(struct as_exec_plan *p, bool apart);

/* One run of the main plan; inputs are set. Whatever fails, nothing stays that a later run would
 * stumble over. */
AS_MUST_USE int as_exec_run(struct as_exec *x);

/* Runs every step that has constant inputs alone, once; what it makes becomes a constant. Before
 * the program is prepared. */
AS_MUST_USE int as_exec_fold(struct as_exec_plan *p, struct assay_error *err);

#endif
