# tests/e2e/test_run_servers.sh - languages, servers and tools of every day behave under `assay run` as they do without it:
# the same output, exit status, descriptors and environment. Small packages always, the others with ASSAY_LONG
# (tools/setup more installs them); what is not here is named and passed over.
. "$(dirname "$0")/lib.sh"
if grep -q '^ASSAY_SANITIZE:STRING=.' "$build/CMakeCache.txt"; then
    echo 'skipped: a sanitizer wants to be the first library'
    exit 77
fi
cd "$tmp" || exit 1
export XDG_RUNTIME_DIR=$tmp/runtime HOME=$tmp
mkdir -m 700 runtime
compared=0 absent=

# compare COMMAND...: once without and once with. $filter takes out what differs from one to the next anyway.
compare() {
    command -v "$1" >/dev/null || { absent="$absent $1"; return; }
    compared=$((compared + 1))
    "$@" </dev/null >out.without 2>err.without
    without=$?
    "$assay" run -o run.assay $options -- "$@" </dev/null >out.with 2>err.with
    with=$?
    for stream in out err; do
        for how in without with; do sed -E "${filter:-;}" $stream.$how >$stream.$how.cut; done
        cmp -s $stream.without.cut $stream.with.cut ||
            fail "$* $options prints something else ($stream): $(diff $stream.without.cut $stream.with.cut | head -4)"
    done
    [ "$with" = "$without" ] || fail "$* $options ends with $with, not $without"
    [ -s run.assay ] || fail "$* $options leaves no run"
}

printf 'puts 6 * 7; exit 9\n' >six.rb
printf 'print(6 * 7) os.exit(9)\n' >six.lua
printf '<?php $a = range(1, 50000); echo array_sum($a), "\\n"; exit(9);\n' >six.php
printf 'console.log(6 * 7); process.exitCode = 9;\n' >six.js
printf '#include <stdio.h>\nint main(void) { puts("debugged"); return 9; }\n' >six.c
${CC:-cc} -g -o six six.c

for options in "" "--follow"; do
    compare perl -e 'print 6 * 7, "\n"; exit 9'
    compare perl -e 'fork or exit 3; wait; print $? >> 8, "\n"; system "true"; exec "echo", "last"'
    compare ruby six.rb
    compare ruby -e 'puts Dir.children("/proc/self/fd").size; puts fork { exit! 3 } ? Process.wait2[1].exitstatus : 0'
    compare lua5.4 six.lua
    compare lua5.4 -e 'local t = {} for i = 1, 100000 do t[i] = tostring(i) end print(#t) os.exit(9, true)'
    compare php six.php
    compare php -r 'echo 1;'
    compare php -r 'echo count(scandir("/proc/self/fd")); echo shell_exec("echo sub");'
    compare node six.js
    compare git init -q made
    compare git -C made status
    compare git -C made log
    compare "$build/tests/heap_filter" prctl
    compare "$build/tests/heap_filter" syscall
done
# Without --follow the environment is as it was, that of children too.
options=
compare perl -e 'print map { "$_=$ENV{$_}\n" } sort keys %ENV; print `env`'
compare ruby -e 'puts ENV.sort.map { |e| e.join("=") }'
compare node -e 'console.log(Object.entries(process.env).sort().join("\n"))'
compare node -e 'console.log(require("child_process").execSync("env").toString())'
compare php -r '$e = getenv(); ksort($e); print_r($e);'
filter='s/process [0-9]+|0x[0-9a-f]+/N/g' compare gdb -nx -q -batch -ex run -ex bt ./six

# A server on a socket of its own: started, asked, stopped.
redis() {
    command -v redis-server >/dev/null || { absent="$absent redis-server"; return; }
    for how in without with; do
        set -- redis-server --port 0 --unixsocket "$tmp/redis.sock" --save '' --appendonly no --dir "$tmp"
        [ $how = with ] && set -- "$assay" run -o run.assay $options -- "$@"
        "$@" >redis.log 2>&1 &
        server=$!
        until [ "$(redis-cli -s redis.sock ping 2>/dev/null)" = PONG ]; do kill -0 $server 2>/dev/null || break; done
        { redis-cli -s redis.sock set a 42; redis-cli -s redis.sock incr a; redis-cli -s redis.sock lrange none 0 1
            redis-cli -s redis.sock debug digest; redis-cli -s redis.sock client no-evict on; } >redis.$how 2>&1
        redis-cli -s redis.sock shutdown nosave >/dev/null 2>&1
        wait $server
        echo "status $?" >>redis.$how
    done
    compared=$((compared + 1))
    cmp -s redis.without redis.with || fail "redis $options: $(diff redis.without redis.with | head -4)"
    grep -q 43 redis.with || fail "redis $options did not run: $(tail -3 redis.log)"
}
for options in "" "--follow"; do redis; done
options=

if [ "${ASSAY_LONG:-}" ]; then
    for options in "" "--follow"; do
        compare java -version
        compare go version
        printf 'package main\nimport ("fmt"; "os")\nfunc main() { fmt.Println(len(os.Args)); os.Exit(9) }\n' >six.go
        command -v go >/dev/null && GOFLAGS=-mod=mod go build -o six.go.out six.go && compare ./six.go.out a b
        printf 'fn main() { let v: Vec<u64> = (0..100000).collect(); println!("{}", v.iter().sum::<u64>()); std::process::exit(9) }\n' >six.rs
        command -v rustc >/dev/null && rustc -o six.rs.out six.rs 2>/dev/null && compare ./six.rs.out
        compare ffmpeg -hide_banner -loglevel error -f lavfi -i testsrc=duration=0.2:size=64x64:rate=10 -f framemd5 -
    done
    options=
    printf 'public class Six { public static void main(String[] a) { System.out.println(6 * 7); System.exit(9); } }\n' >Six.java
    command -v javac >/dev/null && javac Six.java && compare java -cp . Six
    # Its workers are made by fork and change their user.
    if command -v nginx >/dev/null; then
        mkdir -p logs
        printf 'daemon off; pid %s/nginx.pid; error_log stderr; events {} http { access_log off; server { listen unix:%s/nginx.sock; location / { return 200 "served\\n"; } } }\n' "$tmp" "$tmp" >nginx.conf
        chmod 755 "$tmp"
        for how in without with; do
            set -- nginx -p "$tmp" -c "$tmp/nginx.conf"
            [ $how = with ] && set -- "$assay" run --follow -o run.assay -- "$@"
            "$@" >nginx.log 2>&1 &
            server=$!
            until [ -S nginx.sock ]; do kill -0 $server 2>/dev/null || break; done
            "$python" -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect("nginx.sock"); s.sendall(b"GET / HTTP/1.0\r\n\r\n"); print(s.makefile().read().splitlines()[-1])' >nginx.$how 2>&1
            kill -QUIT "$(cat nginx.pid)"
            wait $server
            echo "status $?" >>nginx.$how
            rm -f nginx.sock
        done
        compared=$((compared + 1))
        cmp -s nginx.without nginx.with || fail "nginx: $(diff nginx.without nginx.with) $(tail -3 nginx.log)"
        grep -q served nginx.with || fail "nginx did not serve: $(cat nginx.with nginx.log)"
    else
        absent="$absent nginx"
    fi
    # A database in a folder of its own, one process a connection; it does not run as root.
    postgres=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -1)
    if [ -x "$postgres/postgres" ] && [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
        mkdir -m 700 pg
        chown 65534:65534 pg
        chmod 755 "$tmp"
        as="setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=$tmp/pg LC_ALL=C XDG_RUNTIME_DIR=$tmp/pg"
        $as "$postgres/initdb" -D "$tmp/pg/data" -U me -A trust -N >pg.log 2>&1 || fail "initdb: $(tail -3 pg.log)"
        for how in without with; do
            set -- "$postgres/postgres" -D "$tmp/pg/data" -k "$tmp/pg" -c listen_addresses= -c fsync=off
            [ $how = with ] && set -- "$assay" run --follow -o "$tmp/pg/run.assay" -- "$@"
            (cd pg && exec $as "$@") >pg.log 2>&1 &
            server=$!
            until "$postgres/pg_isready" -q -h "$tmp/pg"; do kill -0 $server 2>/dev/null || break; done
            "$postgres/psql" -h "$tmp/pg" -U me -d postgres -At -c 'select sum(i) from generate_series(1, 100000) i' \
                -c 'create table t as select i, md5(i::text) from generate_series(1, 5000) i' -c 'select count(*) from t' \
                -c 'drop table t' >pg.$how 2>&1
            kill -INT "$(head -1 pg/data/postmaster.pid)"
            wait $server
            echo "status $?" >>pg.$how
        done
        compared=$((compared + 1))
        cmp -s pg.without pg.with || fail "postgres: $(diff pg.without pg.with) $(tail -3 pg.log)"
        grep -q 5000050000 pg.with || fail "postgres did not answer: $(cat pg.with) $(tail -3 pg.log)"
    else
        absent="$absent postgres"
    fi
fi
[ -z "$absent" ] || echo "skipped, not installed:$(printf '%s\n' $absent | sort -u | tr '\n' ' ' | sed 's/^/ /')"
[ $compared -ge 8 ] || fail "only $compared comparisons were made"
left=$(ls "$XDG_RUNTIME_DIR")
[ -z "$left" ] || fail "folders stay: $left"
finish
