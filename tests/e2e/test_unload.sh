# tests/e2e/test_unload.sh - a plugin that brings the recorder with it may be unloaded while threads that marked live on.
# The recorder's library stays: its thread, its keys and its fork handlers point into it.
. "$(dirname "$0")/lib.sh"

root=$(cd "$(dirname "$0")/../.." && pwd)
if nm -D "$build/libassay-trace.so" | grep -qE '__(asan|tsan)_'; then
    echo "a library built with a sanitizer cannot be loaded late"
    exit 77
fi
cat >"$tmp/plugin.c" <<'EOF'
#include <assay/session.h>
int plugin_open(const char *path);
void plugin_work(void);
int plugin_open(const char *path)
{
    return assay_session_open(path, NULL, NULL);
}
void plugin_work(void)
{
    ASSAY_SCOPE("plugin");
}
EOF
cat >"$tmp/host.c" <<'EOF'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static void (*work)(void);
static pthread_barrier_t barrier;
static void *mark(void *unused)
{
    work();
    pthread_barrier_wait(&barrier); /* marked */
    pthread_barrier_wait(&barrier); /* unloaded */
    return unused;
}
int main(int argc, char **argv)
{
    void *plugin = dlopen(argv[1], RTLD_NOW);
    int (*start)(const char *);
    pthread_t thread;
    int status;
    pid_t pid;

    if (argc != 3 || !plugin)
        return fprintf(stderr, "%s\n", dlerror()), 1;
    *(void **)&start = dlsym(plugin, "plugin_open");
    *(void **)&work = dlsym(plugin, "plugin_work");
    if (start(argv[2]) < 0)
        return 2;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, mark, NULL);
    pthread_barrier_wait(&barrier);
    dlclose(plugin);
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    pid = fork();
    if (pid == 0)
        _exit(0);
    waitpid(pid, &status, 0);
    return status;
}
EOF
cc -O2 -fPIC -shared -I "$root/include" -o "$tmp/plugin.so" "$tmp/plugin.c" -L "$build" -lassay-trace "-Wl,-rpath,$build" &&
    cc -O2 -o "$tmp/host" "$tmp/host.c" -ldl -lpthread || exit 1
exits 0 "the host lives on" "$tmp/host" "$tmp/plugin.so" "$tmp/run.assay"
exits 0 "the run is whole" "$assay" verify "$tmp/run.assay"
check "the mark is there" sh -c "'$assay' report -s layers -c name,calls '$tmp/run.assay' | grep -Eq '^plugin +1\$'"
finish
