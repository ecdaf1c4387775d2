/* base/log.h - lines for whoever wants them; the library itself never prints.
 * Without a sink set by the program, every line is dropped. */
#ifndef AS_BASE_LOG_H
#define AS_BASE_LOG_H

#include "base/error.h"

enum as_log_level { AS_LOG_ERROR, AS_LOG_WARN, AS_LOG_INFO, AS_LOG_DEBUG, AS_LOG_COUNT };

typedef void (*as_log_sink)(void *user, int level, const char *module, const char *line);

/* Sets where lines go and the least important level wanted; once, before threads start. */
void as_log_set(as_log_sink sink, void *user, int level);

const char *as_log_level_name(int level);

/* One line without a newline. Costs a comparison when the level is not wanted. */
AS_PRINTF(3, 4) void as_log(int level, const char *module, const char *fmt, ...);

#endif
