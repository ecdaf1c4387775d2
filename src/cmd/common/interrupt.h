/* cmd/common/interrupt.h - Ctrl-C while something is measured: the first one ends the measurement
 * and keeps what there is, the second one ends the program at once. SIGTERM does the same. */
#ifndef AS_CMD_COMMON_INTERRUPT_H
#define AS_CMD_COMMON_INTERRUPT_H

#include <signal.h>

#include "base/error.h"
#include "measure/stop.h"

/* From now on the first signal only sets the flag, once something looks at it: before the first
 * iteration has ended a signal ends the program as usual. A signal that the parent ignores stays
 * ignored. */
void as_interrupt_watch(void);

/* The process that runs for us gets the signal too; NULL: there is none. The pid is the caller's
 * and 0 while nothing runs. */
void as_interrupt_child(const volatile sig_atomic_t *pid);

/* Sends it a signal, with all that it started. For signal handlers, too. */
void as_interrupt_pass_on(int number);

/* The flag that measurements look at. */
const struct as_stop *as_interrupt_flag(void);
bool as_interrupted(void);

/* What the command returns: `rc` itself when nobody interrupted; otherwise the exit status of the
 * signal, 130 for Ctrl-C, after the sentence of a measurement that has nothing to show. Other
 * failures stay what they are. */
int as_interrupt_result(int rc, const struct assay_error *err);

#endif
