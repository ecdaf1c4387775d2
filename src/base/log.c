/* base/log.c - lines for whoever wants them; the library itself never prints.
 * Without a sink set by the program, every line is dropped. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/units.h"

static struct {
    as_log_sink sink;
    void *user;
    int level;
} sink_state;

void as_log_set(as_log_sink sink, void *user, int level)
{
    sink_state.sink = sink;
    sink_state.user = user;
    sink_state.level = level;
}

const char *as_log_level_name(int level)
{
    static const char *const name[] = {
        [AS_LOG_ERROR] = "error",
        [AS_LOG_WARN] = "warn",
        [AS_LOG_INFO] = "info",
        [AS_LOG_DEBUG] = "debug",
    };
    _Static_assert(AS_COUNT_OF(name) == AS_LOG_COUNT, "name every level");

    return level >= 0 && level < AS_LOG_COUNT ? name[level] : "?";
}

void as_log(int level, const char *module, const char *fmt, ...)
{
    char line[512];
    va_list args;

    if (!sink_state.sink || level > sink_state.level)
        return;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    sink_state.sink(sink_state.user, level, module, line);
}
