# tests/e2e/test_plugin_copy.sh - a plugin that has a copy of the recorder in it (the archive) records into the session of its
# host, and does not close that session when it is unloaded.
. "$(dirname "$0")/lib.sh"

root=$(cd "$(dirname "$0")/../.." && pwd)
if nm -D "$build/libassay-trace.so" | grep -qE '__(asan|tsan)_'; then
    echo "a library built with a sanitizer needs sanitized programs"
    exit 77
fi
unset ASSAY_RUN ASSAY_REPORT ASSAY_RUN_OWNER
cat >"$tmp/plugin.c" <<'EOF2'
#include <assay/session.h>
int plugin_work(void);
int plugin_work(void)
{
    ASSAY_SCOPE("plugin");
    return assay_session_is_open();
}
EOF2
cat >"$tmp/host.c" <<'EOF2'
#include <assay/session.h>
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    struct assay_error err = {0};
    void *plugin;
    int (*work)(void);

    if (argc == 3 && assay_session_open(argv[2], NULL, &err) < 0)
        return fprintf(stderr, "%s\n", err.msg), 1;
    plugin = dlopen(argv[1], RTLD_NOW);
    if (!plugin)
        return fprintf(stderr, "%s\n", dlerror()), 2;
    *(void **)&work = dlsym(plugin, "plugin_work");
    if (!work())
        return 3;
    dlclose(plugin);
    if (!assay_session_is_open())
        return fprintf(stderr, "the plugin closed the session\n"), 4;
    {
        ASSAY_SCOPE("after");
    }
    return argc == 3 ? -assay_session_close(&err) : 0;
}
EOF2
cc -O2 -fPIC -shared -I "$root/include" -o "$tmp/plugin.so" "$tmp/plugin.c" "$build/libassay-trace.a" -pthread &&
    cc -O2 -I "$root/include" -o "$tmp/trace" "$tmp/host.c" -L "$build" -lassay-trace "-Wl,-rpath,$build" -ldl &&
    cc -O2 -I "$root/include" -o "$tmp/whole" "$tmp/host.c" -L "$build" -lassay "-Wl,-rpath,$build" -ldl &&
    cc -O2 -rdynamic -I "$root/include" -o "$tmp/archive" "$tmp/host.c" "$build/libassay-trace.a" -pthread -ldl || exit 1
cd "$tmp" || exit 1
for host in trace whole archive; do
    exits 0 "$host: the session lives on" "./$host" ./plugin.so "$host.assay"
    exits 0 "$host: the run is whole" "$assay" verify "$host.assay"
    for layer in plugin after; do
        check "$host: $layer was recorded" sh -c "'$assay' report -s layers -c name,calls $host.assay | grep -Eq '^$layer +1\$'"
    done
    exits 0 "$host: the same when the environment opens it" env ASSAY_RUN="$host-env.assay" "./$host" ./plugin.so
    check "$host: without a run of the plugin's own" sh -c "test \$(ls | grep -c '^$host-env') = 1"
done
finish
