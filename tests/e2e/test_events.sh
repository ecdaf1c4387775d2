# tests/e2e/test_events.sh - messages, instant events, spans across threads, flows and locks in reports and exports.
. "$(dirname "$0")/lib.sh"

root=$(cd "$(dirname "$0")/../.." && pwd)
if nm -D "$build/libassay-trace.so" | grep -qE '__(asan|tsan)_'; then
    echo "a library built with a sanitizer needs sanitized programs"
    exit 77
fi
cat >"$tmp/events.c" <<'EOF2'
#include <assay/lock.h>
#include <assay/session.h>
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *consume(void *unused)
{
    for (uint64_t id = 1; id <= 3; id++) {
        ASSAY_SCOPE("consume");
        ASSAY_LOCK(&mutex, "queue");
        assay_flow_end("job", id);
        assay_async_end("request", id);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;

    if (argc != 2 || assay_session_open(argv[1], NULL, NULL) < 0)
        return 1;
    assay_message("epoch 1 <b>\n\x1b[31m \xff end");
    for (uint64_t id = 1; id <= 4; id++) {
        ASSAY_SCOPE("produce");
        ASSAY_INSTANT("tick");
        assay_async_begin("request", id);
        assay_flow_begin("job", id);
        ASSAY_LOCK_WAIT("queue");
        ASSAY_LOCK_HELD_SCOPE("queue");
    }
    pthread_create(&thread, NULL, consume, NULL);
    pthread_join(thread, NULL);
    return assay_session_close(NULL) < 0;
}
EOF2
cc -O2 -I "$root/include" -o "$tmp/events" "$tmp/events.c" "$build/libassay-trace.a" -pthread || exit 1
cd "$tmp" || exit 1
check "it records" ./events run.assay
exits 0 "the run is whole" "$assay" verify run.assay

exits 0 "a page" "$assay" report run.assay
for line in 'Messages  *1' '^Instant events' '^tick +4 ' '^Async spans' '^request +3 .* 3 +1 +0$' '^Flows' \
    '^job +3 .* 3 +1 +0 +0$' '^Locks' '^queue +7 +4 +57.1 % '; do
    check "the page has '$line'" grep -Eq "$line" out
done
check "no control character reaches the terminal" sh -c "! LC_ALL=C grep -q '$(printf '\033')' out"
exits 0 "one section" "$assay" report -s locks run.assay
check "has locks alone" sh -c "grep -q '^queue' out && ! grep -q '^Messages' out"
exits 0 "Markdown" "$assay" report --format=markdown run.assay
check "has the locks" grep -q '^| *queue' out

"$assay" report --json run.assay >report.json && for format in chrome-trace json perfetto; do
    "$assay" export --to $format -o "$format" run.assay || fail "export to $format"
done
check "JSON and exports hold all of it" env PYTHONPATH="$here" "$python" - <<'EOF2'
import collections, json
from perfetto_trace import fields, first, one, text

d = json.load(open("report.json"))
assert d["messages"]["count"] == 1 and d["messages"]["last"][0]["text"].startswith("epoch 1 <b>\n\x1b[31m"), d["messages"]
assert [(i["name"], i["count"]) for i in d["instants"]] == [("tick", 4)]
(request,), (job,), (queue,) = d["async_spans"], d["flows"], d["locks"]
assert (request["count"], request["open"], request["stray"], request["crossed"]) == (3, 1, 0, 3), request
assert 0 < request["min_ns"] <= request["p50_ns"] <= request["p95_ns"] <= request["max_ns"], request
assert (job["count"], job["open"], job["steps"]) == (3, 1, 0), job
assert (queue["acquisitions"], queue["contended"], queue["open"], queue["n_threads"]) == (7, 4, 0, 2), queue
assert sorted(l["name"] for l in d["layers"]) == ["consume", "produce"]

chrome = json.load(open("chrome-trace"))["traceEvents"]
kinds = collections.Counter((e["ph"], e.get("cat")) for e in chrome)
wanted = {("i", "message"): 1, ("i", "instant"): 4, ("b", "async"): 4, ("e", "async"): 3, ("s", "flow"): 4, ("f", "flow"): 3,
          ("b", "lock"): 7, ("e", "lock"): 7, ("b", "lock_wait"): 4, ("e", "lock_wait"): 4, ("X", "layer"): 7}
assert {k: kinds[k] for k in wanted} == wanted, kinds
begun = {e["id"]: e for e in chrome if e["ph"] == "b" and e["cat"] == "async"}
for e in chrome:
    if e["ph"] == "e" and e["cat"] == "async":
        assert e["ts"] >= begun[e["id"]]["ts"] and e["tid"] != begun[e["id"]]["tid"], e

events = json.load(open("json"))
roles = collections.Counter(p["role"] for p in events["points"])
assert roles == {"message": 1, "instant": 4, "async_begin": 4, "async_end": 3, "flow_begin": 4, "flow_end": 3}, roles
assert len(events["locks"]) == 7 and sum(l["wait_ns"] is not None for l in events["locks"]) == 4, events["locks"]
assert events["left_out"] == {}

tracks, opened, flows, names = {}, collections.Counter(), collections.defaultdict(list), collections.Counter()
for _, packet in fields(open("perfetto", "rb").read()):
    p = one(packet)
    if 60 in p:
        t = one(first(p, 60))
        tracks[first(t, 1)] = text(first(t, 2, b""))
    if 11 in p:
        e = one(first(p, 11))
        kind, track = first(e, 9), first(e, 11)
        if track and kind in (1, 2):
            opened[track] += 1 if kind == 1 else -1
            assert track in tracks
        if kind == 3:
            names[text(first(e, 22, b""))] += 1
        for number in (47, 48):
            for flow in e.get(number, []):
                flows[bytes(flow)].append(number)
assert sorted(opened.values()).count(1) == 1 and set(opened.values()) <= {0, 1}, opened  # the request that did not end
assert sorted(flows.values()) == [[47], [47, 48], [47, 48], [47, 48]], flows
assert names == {"message": 1, "instant": 4, "flow": 7}, names
EOF2

# A limit on the size leaves a file that is valid and says what is missing.
"$assay" export --to chrome-trace --max-size 2000 -o small run.assay 2>said || fail "a small file"
check "it is valid and counts what is missing" "$python" -c '
import json
d = json.load(open("small"))
cut = d["otherData"]["left_out"]
assert cut["points"]["of"] == 19 and cut["locks"]["of"] == 7 and cut["points"]["left_out"] > 0, cut'
check "it is said" grep -q ' of 19 points' said
finish
