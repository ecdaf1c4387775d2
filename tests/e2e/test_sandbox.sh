# tests/e2e/test_sandbox.sh - what inspect and profile give up, seen from inside: a library put into them tries at their end.
# And the limits of time and memory. usage: test_sandbox.sh BUILD
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1
sanitized=$(sed -n 's/^ASSAY_SANITIZE:STRING=//p' "$build/CMakeCache.txt")

cat >probe.c <<'END'
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static void tell(const char *what, int allowed)
{
    dprintf(STDERR_FILENO, "%s %s\n", what, allowed ? "allowed" : strerror(errno));
}

__attribute__((destructor)) static void probe(void)
{
    char path[4096], *argv[] = {"true", NULL}, *environment[] = {NULL};
    void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    snprintf(path, sizeof path, "%s/secret", getenv("PROBE_FOLDER"));
    tell("read", open(path, O_RDONLY) >= 0);
    snprintf(path, sizeof path, "%s/made", getenv("PROBE_FOLDER"));
    tell("write", open(path, O_CREAT | O_WRONLY, 0600) >= 0);
    tell("socket", socket(AF_INET, SOCK_STREAM, 0) >= 0);
    tell("code", code != MAP_FAILED);
    execve("/bin/true", argv, environment);
    tell("exec", 0);
}
END
have() { "$python" -c '
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
sys.exit(libc.syscall(444, None, 0, 1) < 1)'; }
if [ -n "$sanitized" ]; then
    echo "not checked from inside: a sanitizer cannot be joined by such a library"
elif ! have; then
    echo "not checked from inside: this kernel has no Landlock"
else
    mkdir elsewhere work && echo words >elsewhere/secret
    cc -shared -fPIC -o probe.so probe.c || fail "the probe cannot be built"
    export PROBE_FOLDER=$tmp/elsewhere
    for command in "inspect zoo:mlp" "profile zoo:mlp --iterations 2 --warmup 0 --no-roofline --no-history" "sweep zoo:mlp --batch 1,2 --iterations 2 --warmup 0 --no-roofline"; do
        # shellcheck disable=SC2086
        (cd work && LD_PRELOAD=$tmp/probe.so "$assay" $command -q >/dev/null 2>"$tmp/err")
        printf 'read Permission denied\nwrite Permission denied\nsocket Operation not permitted\ncode allowed\nexec Operation not permitted\n' >"$tmp/wanted"
        grep -E '^(read|write|socket|code|exec) ' "$tmp/err" >"$tmp/got"
        check "$command: nothing but its own files" diff "$tmp/wanted" "$tmp/got"
        check "$command: nothing is made elsewhere" test ! -e elsewhere/made
        # shellcheck disable=SC2086
        (cd work && LD_PRELOAD=$tmp/probe.so "$assay" $command -q --no-sandbox >/dev/null 2>"$tmp/err")
        check "$command: --no-sandbox" grep -q '^read allowed' "$tmp/err"
        rm -f elsewhere/made
    done
fi

# Inputs and outputs in folders of their own still work.
mkdir in results
"$assay" zoo mlp -o in/model.onnx || fail "a model"
exits 0 "an input and outputs elsewhere" "$assay" profile "$tmp/in/model.onnx" -q --iterations 3 --warmup 0 --no-history --no-roofline \
    -o "$tmp/results/run.assay" --export-json "$tmp/results/a.json" --export-csv "$tmp/results/new/csv" --trace "$tmp/results/trace.json"
for file in run.assay a.json new/csv/layers.csv trace.json; do
    check "$file is written" test -s "results/$file"
done
ln -s in/model.onnx link.onnx
exits 0 "a model behind a link" "$assay" inspect link.onnx

# Limits.
exits 3 "too little time" "$assay" profile zoo:mlp --time 60 --iterations 200000 --no-roofline --no-history --timeout 1 -q
says "stopped after 1 s: --timeout"
check "nothing is left" sh -c "! ls -a | grep -q '^[.]assay-'"
exits 0 "time enough" "$assay" inspect zoo:mlp --timeout 100
exits 3 "a command that takes too long" "$assay" bench --timeout 1 --iterations 2 --output-dir over -- sh -c 'echo $$ >pid; exec sleep 1000'
says "stopped after 1 s: --timeout"
check "it has ended" sh -c 'while kill -0 "$(cat pid)" 2>/dev/null; do :; done'
exits 3 "a model that takes too long" "$assay" bench --timeout 1 --iterations 500000 -g threads=1 --output-dir slow zoo:mlp
says "stopped after 1 s: --timeout"
exits 2 "a time that is none" "$assay" inspect zoo:mlp --timeout soon
exits 2 "a size that is none" "$assay" inspect zoo:mlp --max-memory much
says "--max-memory is an amount"
if [ -z "$sanitized" ]; then
    exits 3 "too little memory" "$assay" profile zoo:vgg16 --iterations 1 --warmup 0 --no-roofline --no-history -q --max-memory 64MiB
    says "memory"
    exits 0 "memory enough" "$assay" inspect zoo:vgg16 --max-memory 64MiB
fi
finish
