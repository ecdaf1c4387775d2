#!/usr/bin/env python3
"""Checks the form of the public headers. usage: check_structs.py

- No tag equals the name of a function: `assay_x` is unambiguous in C++.
- Every assay_x_new() is int assay_x_new(struct assay_x **, const struct assay_x_options *, struct assay_error *).
- A function of an object begins with the object's tag.
- Structs that may grow begin with their size (assay/error.h): what programs fill in and what they get.
- Times end in their unit."""
import os
import re
import sys

from check_nulls import headers, prototypes, strip

# Structs without a size, and why they do not grow. Elements of arrays are found below.
FIXED = {
    "assay_error": "it is what reports that a size is wrong",
    "assay_record_": "an event in memory", "assay_lane_": "inlined", "assay_gate_": "inlined", "assay_site": "inlined",
    "assay_scope": "inlined", "assay_timed": "returned by value", "assay_manager_span": "returned by value",
    "assay_manager_scope": "inlined",
    "assay_attn_shape": "a shape", "assay_kv_cache": "a shape", "assay_edge": "a value", "assay_attention_graph": "a value",
    "assay_cut_result": "a value", "assay_bench_config": "its fields are those of a documented hash",
    "assay_witness_entry": "its fields are those of a file format",
}
TIME = re.compile(r"(^|_)(time|timestamp|duration|seconds|wait)$")
UNITS = ("_seconds", "_ms", "_us", "_ns", "seconds")
# Members that are arrays, and their counts where these are not called n_<member>.
COUNTED = {"backend_data": "n_backends", "by_operation_type": "n_operation_types", "by_sync_type": "n_sync_types",
           "slowest": "n_slowest", "files": "n_files", "cut_edges": "n_cut_edges"}


def structs():
    """(tag, list of (type, member)) of every struct with a body."""
    for path in headers():
        with open(path, encoding="utf-8") as f:
            text = strip(f.read())
        for match in re.finditer(r"\bstruct (assay_\w+)\s*\{([^{}]*)\}", text):
            yield match.group(1), members(match.group(2))


def members(body):
    found = []
    for line in body.split(";"):
        line = " ".join(line.split())
        line = re.sub(r"\bunsigned (char|int)\b", "unsigned", line)
        if not line or "(" in line or "##" in line:
            continue
        kind, names = re.match(r"((?:const )?(?:struct |enum )?\w+(?: int)?)\s*(.*)", line).groups()
        for name in names.split(","):
            found.append((kind + " *" * name.count("*"), re.search(r"(\w+)\s*(\[.*)?$", name.strip()).group(1)))
    return found


def array_elements(all_structs, functions):
    """Tags of structs that stand in arrays, or inside such ones."""
    elements = set()
    for _, fields in all_structs.items():
        names = {n for _, n in fields}
        for kind, name in fields:
            if "*" in kind and names & {f"n_{name}", COUNTED.get(name)}:
                elements.add(tag_of(kind))
    for _, result, name, arguments in functions:
        for a, b in zip(arguments, arguments[1:] + [""]):
            if "struct " in a and "*" in a and re.match(r"size_t (n|n_\w+|capacity)$", b):
                elements.add(tag_of(a))
        if "*" in result and "struct " in result and not name.endswith(("_find", "_new")):
            elements.add(tag_of(result))
        # Lists: the call returns how many, and `out` gets the first.
        for a in arguments:
            if re.match(r"const struct assay_\w+ \*\*(out|found)$", " ".join(a.split())) and list_call(name, result, arguments):
                elements.add(tag_of(a))
    grown = True
    while grown:
        inside = {tag_of(k) for t in elements if t in all_structs for k, _ in all_structs[t] if "struct " in k}
        grown = not inside <= elements
        elements |= inside
    return elements


def list_call(name, result, arguments):
    return result == "size_t" or name.endswith(("leaks", "incidents", "anomalies", "ranking", "_add"))


def tag_of(text):
    match = re.search(r"struct (assay_\w+)", text)
    return match.group(1) if match else None


def used_tags(functions):
    """Tags of structs that go in or come out by a pointer to one."""
    used = set()
    for _, _, _, arguments in functions:
        used |= {tag_of(a) for a in arguments if "*" in a and "struct " in a}
    return used


def check_sizes(all_structs, functions):
    elements = array_elements(all_structs, functions)
    for tag, fields in all_structs.items():
        if tag in FIXED or tag in elements or not fields:
            continue
        inside = not any(tag == t for t in used_tags(functions))
        if not inside and fields[0] != ("size_t", "size"):
            yield f"struct {tag} may grow and does not begin with size_t size"
    for tag in FIXED:
        if tag not in all_structs:
            yield f"struct {tag} is listed here, and no header has it"


def check_new(functions):
    for _, result, name, arguments in functions:
        if not name.endswith("_new"):
            continue
        tag = name[:-4]
        want = [f"struct {tag} **", f"const struct {tag}_options *", "struct assay_error *"]
        got = [re.sub(r"\s*\w+$", "", " ".join(a.split())).replace("* *", "**") for a in arguments]
        got = [g.replace(" **", " **").strip() for g in got]
        if result != "int" or [g.replace(" ", "") for g in got] != [w.replace(" ", "") for w in want]:
            yield f"{name}: {result} ({', '.join(got)})"


def check_prefixes(all_structs, functions):
    """The functions that take an object made by assay_x_new() first are called assay_x_..."""
    objects = {f[2][:-4] for f in functions if f[2].endswith("_new")}
    for _, _, name, arguments in functions:
        tag = tag_of(arguments[0]) if arguments and "*" in arguments[0] else None
        if tag in objects and not name.startswith(tag + "_"):
            yield f"{name} is a function of struct {tag}"


def check_units(all_structs):
    for tag, fields in all_structs.items():
        for kind, name in fields:
            if kind.startswith("double") and TIME.search(name) and not name.endswith(UNITS):
                yield f"struct {tag}: {name} has no unit"


def main():
    functions = list(prototypes())
    all_structs = dict(structs())
    names = {f[2] for f in functions}
    wrong = [f"assay_x is ambiguous in C++: {t} is a tag and a function" for t in all_structs if t in names]
    wrong += [*check_sizes(all_structs, functions), *check_new(functions), *check_prefixes(all_structs, functions),
              *check_units(all_structs)]
    for path in headers():
        with open(path, encoding="utf-8") as f:
            if re.search(r"^#define X\b", f.read(), re.M):
                wrong.append(f"{os.path.basename(path)}: defines X")
    if len(all_structs) < 90:
        wrong.append(f"only {len(all_structs)} structs were found")
    print("\n".join(wrong + [f"{len(all_structs)} structs, {len(functions)} functions, {len(wrong)} wrong"]))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
