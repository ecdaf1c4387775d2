/* tests/guest/guest_plugin.c - a plugin of a program of tests/unit/guest_programs.h: it brings the
 * recorder with it, as a shared library that nothing else of the program needs. */
#include <assay/session.h>

ASSAY_API int plugin_open(const char *path);
ASSAY_API void plugin_work(int times);

int plugin_open(const char *path)
{
    return assay_session_open(path, NULL, NULL);
}

void plugin_work(int times)
{
    for (int i = 0; i < times; i++) {
        ASSAY_SCOPE("work");
    }
}
