/* tests/consumer/plugin.c - marks layers from a library that is loaded later. */
#include <assay/scope.h>

int plugin_work(int x);

int plugin_work(int x)
{
    ASSAY_SCOPE("plugin");
    return x + 1;
}
