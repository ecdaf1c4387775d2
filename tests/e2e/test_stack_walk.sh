# tests/e2e/test_stack_walk.sh - the stacks that the injected library takes are those of the compiler's own unwinder, in real
# programs: at allocations of each the two are held against each other (tests/e2e/compare_stacks.c).
. "$(dirname "$0")/lib.sh"
if grep -q '^ASSAY_SANITIZE:STRING=.' "$build/CMakeCache.txt"; then
    echo 'skipped: a sanitizer wants to be the first library'
    exit 77
fi
[ "$(uname -m)" = x86_64 ] || { echo 'skipped: stacks are not walked here'; exit 77; }
source=$here/../..
cd "$tmp" || exit 1
cc -O2 -g -fPIC -shared -D_GNU_SOURCE -I"$source/preload" -I"$source/src" "$here/compare_stacks.c" \
    "$source/preload/stack_walk.c" "$source/preload/stack_rules.c" -static-libgcc -Wl,--exclude-libs,ALL -o compare.so || exit 1

# same NAME STACKS EVERY COMMAND...: that many stacks at least are compared, of its children too; none differs.
same() {
    name=$1 least=$2 every=$3
    shift 3
    rm -f found
    COMPARE_STACKS=$tmp/found COMPARE_STACKS_EVERY=$every LD_PRELOAD=$tmp/compare.so "$@" >out 2>err || fail "$name ends with $?: $(tail -3 err)"
    touch found
    awk '$1 == "equal" { n += $2; refused += $6; open += $8; bad += $10 } END { print n + 0, refused + 0, open + 0, bad + 0 }' found >sums
    read -r n refused open bad <sums
    echo "$name: $n equal, $refused not simple, $open unfinished, $bad different"
    [ "$bad" = 0 ] || fail "$name: $(grep differs found | head -3)"
    [ "$open" = 0 ] || fail "$name: $open stacks end too early"
    [ "$n" -ge "$least" ] || fail "$name: $n stacks, not $least"
    # Those that are not simple cost what they did; they must stay few.
    [ "$refused" -le $((n / 20 + allowed)) ] || fail "$name: $refused of $n stacks are not simple"
}
allowed=0

cat >cells.cpp <<'CPP'
#include <algorithm>
#include <map>
#include <string>
#include <thread>
#include <vector>
struct node { std::map<std::string, node> inner; };
static void grow(node &n, int depth, unsigned &r)
{
    for (int i = 0; i < 3 && depth; i++) {
        r = r * 1103515245 + 12345;
        grow(n.inner[std::string(r >> 16 & 63, 'x')], depth - 1, r);
    }
}
static void work(unsigned r)
{
    node root;
    grow(root, 7, r);
    std::vector<std::string> v;
    for (int i = 0; i < 3000; i++)
        v.push_back(std::string(20 + i % 50, 'a' + i % 26));
    std::sort(v.begin(), v.end(), [](const std::string &a, const std::string &b) { return a + "." < b + "."; });
    try {
        v.at(5000);
    } catch (const std::exception &e) {
        v.push_back(e.what());
    }
}
int main()
{
    std::thread a(work, 1), b(work, 2);
    a.join();
    b.join();
    work(3);
}
CPP
cat >odd.c <<'C'
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
static void *volatile sink;
__attribute__((noinline)) static int deep(int n)
{
    char pad[64] = {(char)n};
    sink = malloc(n % 40 + 1);
    free(sink);
    return n ? deep(n - 1) + pad[n % 64] : 0;
}
__attribute__((noinline)) static double aligned(int n)
{
    double v[8] __attribute__((aligned(64))) = {n};
    char *grown = __builtin_alloca(n % 100 + 16);
    memset(grown, n, n % 100 + 16);
    sink = malloc(grown[3] & 31);
    free(sink);
    return v[n % 8] + (n ? aligned(n - 1) : 0);
}
static void on_signal(int number)
{
    (void)number;
    deep(5);
}
static ucontext_t home, other;
static void coroutine(void)
{
    deep(20);
    swapcontext(&other, &home);
}
static int child(void *data)
{
    (void)data;
    deep(10);
    return 0;
}
int main(int argc, char **argv)
{
    static char stack[1 << 18] __attribute__((aligned(64))), alternate[1 << 18];
    char *mapped = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t ss = {.ss_sp = alternate, .ss_size = sizeof alternate};
    struct sigaction sa = {.sa_handler = on_signal};
    int status;
    (void)argv;
    deep(400);
    aligned(200);
    if (argc > 1) {
        sigaction(SIGUSR1, &sa, 0);
        raise(SIGUSR1);
        sigaltstack(&ss, 0);
        sa.sa_flags = SA_ONSTACK;
        sigaction(SIGUSR2, &sa, 0);
        raise(SIGUSR2);
        getcontext(&other);
        other.uc_stack.ss_sp = stack;
        other.uc_stack.ss_size = sizeof stack;
        makecontext(&other, coroutine, 0);
        swapcontext(&home, &other);
        waitpid(clone(child, mapped + (1 << 20), SIGCHLD, 0), &status, 0);
        if (status)
            return 1;
    }
    if (fork() == 0) {
        deep(30);
        _exit(0);
    }
    wait(&status);
    if (vfork() == 0) {
        deep(3);
        _exit(0);
    }
    wait(&status);
    return status;
}
C
g++ -O2 -fomit-frame-pointer -pthread cells.cpp -o cells && g++ -O0 -g -fno-omit-frame-pointer -pthread cells.cpp -o cells0 &&
    cc -O2 -fomit-frame-pointer odd.c -o odd && cc -O2 -no-pie -fcf-protection=none odd.c -o odd_fixed || exit 1
same 'containers and threads' 400 13 ./cells
same 'the same, not optimized' 400 13 ./cells0
same 'recursion, aligned frames, fork and vfork' 600 1 ./odd
same 'the same at a fixed address' 600 1 ./odd_fixed
allowed=200
same 'signal handlers and stacks of its own' 600 1 ./odd odd
allowed=0
same 'gcc' 400 7 gcc -O2 -c odd.c -o odd.o
same 'python3' 2000 1 /usr/bin/python3 -c 'import json, re, email.parser; print(len(json.dumps([re.compile("a*" * i).pattern for i in range(50)])))'
/usr/bin/python3 -c 'import numpy' 2>err && same 'numpy' 2000 3 /usr/bin/python3 -c 'import numpy; print(numpy.linalg.svd(numpy.ones((40, 40)))[1][0])'
/usr/bin/python3 -c 'import torch' 2>err && same 'torch' 2000 199 /usr/bin/python3 -c 'import torch; x = torch.ones(30, 30, requires_grad=True); (x @ x).sum().backward()'
command -v sqlite3 >/dev/null && same 'sqlite3' 200 1 sqlite3 :memory: 'create table t(a,b); with recursive c(x) as (select 1 union all select x+1 from c where x<3000) insert into t select x, hex(x) from c; select count(distinct b), max(a) from t group by a % 7;'
command -v perl >/dev/null && same 'perl' 200 11 perl -e 'my %h; for (1..20000) { $h{$_} = "x" x ($_ % 100); } print scalar(keys %h);'

# A library that comes to the place of another one has frames of other sizes at the same addresses.
for size in 24 88; do
    cat >plugin.c <<C
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) void *inner(int n) { char pad[$size]; void *volatile p = malloc((size_t)n); memset(pad, n, sizeof pad); __asm__ volatile("" : : "r"(pad) : "memory"); return p; }
void *outer(int n) { char pad[$size]; void *p = inner(n); memset(pad, n, sizeof pad); __asm__ volatile("" : : "r"(pad) : "memory"); return p; }
C
    cc -O1 -fPIC -shared -fno-stack-protector plugin.c -o plugin$size.so || exit 1
done
cat >host.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
    void *seen[2];
    Dl_info info;
    for (int i = 0; i < 40; i++) {
        void *library = dlopen(i % 2 ? "./plugin24.so" : "./plugin88.so", RTLD_NOW), *(*outer)(int);
        if (!library)
            return 1;
        outer = (void *(*)(int))dlsym(library, "outer");
        dladdr((void *)outer, &info);
        seen[i % 2] = info.dli_fbase;
        free(outer(i + 1));
        dlclose(library);
    }
    printf("%s\n", seen[0] == seen[1] ? "same place" : "other place");
    return 0;
}
C
cc -O1 host.c -o host || exit 1
same 'libraries that come and go' 80 1 ./host
grep -q 'same place' out || echo 'note: the libraries came to different places'

# Call frame information that is damaged: the walk may end anywhere, the program must not.
cat >damage.py <<'PY'
import random, re, subprocess, sys
data = bytearray(open("odd", "rb").read())
found = re.findall(r"\] (\.eh_frame\w*)\s+PROGBITS\s+\w+ (\w+) (\w+)", subprocess.run(["readelf", "-SW", "odd"], capture_output=True, text=True).stdout)
assert len(found) == 2, found
random.seed(int(sys.argv[1]))
for _, offset, size in found:
    for _ in range(random.choice([1, 5, 100])):
        data[int(offset, 16) + random.randrange(int(size, 16))] = random.choice([0, 255, random.randrange(256)])
open("bad", "wb").write(data)
PY
cp odd bad
for seed in $(seq 60); do
    "$python" damage.py "$seed"
    COMPARE_STACKS_ALONE=1 COMPARE_STACKS=$tmp/found COMPARE_STACKS_EVERY=1 LD_PRELOAD=$tmp/compare.so ./bad >out 2>err ||
        fail "damaged call frame information ($seed) ends the program with $?"
done
finish
