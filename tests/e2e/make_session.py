"""Writes the JSON of a session: a parent that works for PARENT ms itself and calls a child of CHILD ms, 200 times.
Usage: make_session.py PARENT CHILD FILE [old]; old: without the times of the parent alone, as older files are."""
import json
import sys

parent, child = float(sys.argv[1]) * 1e-3, float(sys.argv[2]) * 1e-3
calls = 200
jitter = [1 + 0.05 * (i * 37 % 100) / 100 for i in range(calls)]
jitter_child = [1 + 0.05 * (i * 53 % 100) / 100 for i in range(calls)]


def layer(own, inner):
    whole = [a + b for a, b in zip(own, inner)]
    mean = sum(whole) / calls
    stats = {"call_count": calls, "failed_count": 0, "total_time": sum(whole), "min_time": min(whole),
             "max_time": max(whole), "mean_time": mean,
             "std_time": (sum((x - mean) ** 2 for x in whole) / calls) ** 0.5, "self_time": sum(own),
             "execution_times": whole}
    if any(inner) and "old" not in sys.argv[4:]:
        stats["self_times"] = own
    return stats


outer = layer([parent * x for x in jitter], [child * x for x in jitter_child])
inside = layer([child * x for x in jitter_child], [0] * calls)
session = {"schema": "assay.session", "schema_version": 1,
           "profiling_session": {"start_time": 1, "end_time": 2, "duration_seconds": 1, "sessions": 1},
           "layer_profiling": {"layer_stats": {"parent": outer, "child": inside}}}
json.dump(session, open(sys.argv[3], "w"))
