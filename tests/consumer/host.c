/* tests/consumer/host.c - opens a session, then loads a library that marks layers. */
#include <assay/assay.h>
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    struct assay_error err;
    int (*work)(int);
    void *plugin;

    if (argc != 3 || assay_session_open(argv[1], NULL, &err) < 0)
        return 1;
    plugin = dlopen(argv[2], RTLD_NOW);
    if (!plugin) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    *(void **)&work = dlsym(plugin, "plugin_work");
    for (int i = 0; i < 5; i++)
        work(i);
    return assay_session_close(&err) < 0;
}
