/* preload/call_filter.h - notices that the program is about to filter its system calls (seccomp).
 * Calls of ours would end it then: what is known is written before, and nothing is done after. */
#ifndef AS_PRELOAD_CALL_FILTER_H
#define AS_PRELOAD_CALL_FILTER_H

/* Finds the functions behind ours. */
void as_call_filter_prepare(void);

#endif
