/* trace/record/session_env.h - a session that the environment asks for, of a program that only has
 * marks. The one place of the recorder that reads the environment and that may print. */
#ifndef AS_TRACE_RECORD_SESSION_ENV_H
#define AS_TRACE_RECORD_SESSION_ENV_H

/* Defined by the assay command alone, which is started in shells where ASSAY_RUN is set for other
 * programs. */
extern __attribute__((weak, visibility("hidden"))) const char as_reads_runs;

/* Opens a session when ASSAY_RUN or ASSAY_REPORT is set; otherwise does nothing. Called once, when
 * the library is loaded. */
void as_session_from_environment(void);

#endif
