/* trace/record/own_task.h - runs one function on a task that lives as long as the function does,
 * with a table of descriptors and a stack of its own, while the caller waits.
 *
 * The task is a thread of the process, made by a bare clone(): no wait() of the program sees it, it
 * has the same process id and ends with the process. It shares the caller's thread-local memory,
 * errno too, which is safe because the caller sleeps in the kernel meanwhile. When a call returns,
 * the task is gone, and so are its descriptors. */
#ifndef AS_TRACE_RECORD_OWN_TASK_H
#define AS_TRACE_RECORD_OWN_TASK_H

#include <stdbool.h>

/* Maps the stack; once, before anything else. False when there is no memory. */
bool as_own_task_prepare(void);

/* Runs `work` there. False when there is no such task to be had: nothing was run. One caller at a
 * time, with every signal held back. */
bool as_own_task_run(void (*work)(void *), void *argument);

/* Runs `work` on the calling thread and on that stack: the caller's may be small. Likewise. */
void as_own_stack_run(void (*work)(void *), void *argument);

/* Whether the caller is the only thread of the process: nobody replaces a descriptor meanwhile. */
bool as_is_only_thread(void);

#endif
