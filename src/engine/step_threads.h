/* engine/step_threads.h - on how many threads a step runs: as many as the run has where its work is
 * worth what handing it over costs on this machine now, else the caller's alone. */
#ifndef AS_ENGINE_STEP_THREADS_H
#define AS_ENGINE_STEP_THREADS_H

#include "engine/exec_plan.h"

/* Measures what handing work over costs, to the threads of the pool and to those of the kernel
 * library. Once per plan, when both are there; costs about 2 ms with more than one thread. */
void as_step_threads_measure(struct as_exec_plan *p);

/* Of a step whose shapes are known; `library`: a kernel of the library does it. */
unsigned as_step_threads(const struct as_exec_plan *p, const struct as_step *step, bool library);

/* The same by the tensors that are there, when shapes are known only in the run. */
unsigned as_step_threads_now(const struct as_exec_plan *p, const struct as_step *step,
                             bool library);

#endif
