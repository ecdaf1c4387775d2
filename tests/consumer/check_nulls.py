#!/usr/bin/env python3
"""Calls every public function with NULL and 0, each in a process of its own. usage: check_nulls.py BUILD

The rule of the library: a call without a pointer that it needs returns ASSAY_ERR_USAGE when it returns int; NULL, 0, false or
NaN when it returns something else; and does nothing when it returns nothing. Functions of an object that assay_x_new() makes are
called once more with such an object and NULL and 0 for all else: whatever they return, they do not crash, and the object can be
freed. The prototypes are read from the headers, so a new function is tested without a new line here."""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
USAGE = -5

# Functions whose documented answer to NULL differs: the answer and the reason.
EXPECTED = {
    "assay_csv_rows_schema": (6, "ASSAY_CSV_SCHEMA_COUNT, as documented: 0 is a schema"),
    "assay_mincut_gate": (0, "no pointer is needed for 0 tokens"),
    "assay_latency_groups": (0, "no pointer is needed for 0 records and 0 groups"),
    "assay_memory_tracker_peak": (-1, "ASSAY_UNKNOWN"),
    "assay_power_tracker_label": (1, "an empty text can be printed"),
    "assay_manager_layer_end": (0, "a manager that is NULL is switched off"),
    "assay_manager_layer_fail": (0, "a manager that is NULL is switched off"),
    "assay_layer": (1, "marks of a layer without a name belong to an unnamed layer"),
    "assay_site_named": (1, "as above"),
    "assay_channel": (1, "as above"),
    "assay_witness_close": (0, "close accepts NULL, as documented"),
}

# Functions that build or measure a model: a model that is NULL is one for which assay_model_new() found no memory.
NOMEM = -1
MODEL = re.compile(r"assay_model_\w+|assay_count_(parameters|flops)|assay_model_profile_layers|assay_model_profile_quick")


def headers():
    for folder, _, names in sorted(os.walk(os.path.join(ROOT, "include"))):
        for name in sorted(names):
            if name.endswith(".h"):
                yield os.path.join(folder, name)


def strip(text):
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = text.replace("\\\n", " ")
    return re.sub(r"^\s*#.*$", "", text, flags=re.M)


def split_arguments(text):
    parts, depth, part = [], 0, ""
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += c
    return [p.strip() for p in parts + [part] if p.strip() not in ("", "void")]


def prototypes():
    """(header, return type, name, arguments) of every function."""
    for path in headers():
        with open(path, encoding="utf-8") as f:
            text = strip(f.read())
        for match in re.finditer(r"ASSAY_API\s+([^;{()]*?[\s*])(assay_\w+)\s*\(([^;{]*)\)\s*([^;{()]*(\([^;{]*\))?)\s*;", text):
            result = " ".join(re.sub(r"__attribute__\s*\(\(.*?\)\)", "", match.group(1)).split())
            yield os.path.relpath(path, os.path.join(ROOT, "include")), result, match.group(2), split_arguments(match.group(3))


def type_of(argument):
    """The type of a parameter that is not a pointer; parameters always have a name."""
    return re.match(r"(.*\S)\s+\w+$", argument, re.S).group(1)


def is_pointer(argument):
    return "*" in argument or "[" in argument


def value_of(argument):
    if is_pointer(argument):
        return "NULL"
    t = type_of(argument)
    return f"({t}){{0}}" if t.startswith(("struct ", "const struct ")) else f"({t})0"


def needs_pointer(arguments):
    return any(is_pointer(a) and "assay_error" not in a for a in arguments)


def object_of(arguments, made):
    """The tag of the object that a function is of, when the constructor form makes it."""
    match = re.match(r"(?:const )?struct (assay_\w+) \*\w+$", " ".join(arguments[0].split())) if arguments else None
    return match.group(1) if match and match.group(1) in made else None


def with_object(tag, result, name, arguments, names):
    """The call on an object that is good, which is then freed unless the call has done that."""
    free = "" if name == f"{tag}_free" or f"{tag}_free" not in names else f" {tag}_free(o);"
    make = f"struct {tag} *o = NULL; if ({tag}_new(&o, NULL, NULL) < 0 || !o) {{ say(\"unmade\", 0); return; }}"
    return f"{make} {call_of(result, name, arguments, 'o')}{free}"


def call_of(result, name, arguments, first=None):
    values = [value_of(a) for a in arguments if a != "..."]
    call = f"{name}({', '.join([first, *values[1:]] if first else values)})"
    if result == "void":
        return f"{call}; say(\"nothing\", 0);"
    if "*" in result:
        return f"say(\"pointer\", {call} != NULL);"
    if result.startswith("struct "):
        return f"(void){call}; say(\"struct\", 0);"
    if result in ("double", "float"):
        return f"double v = {call}; say(\"real\", v == v && v != 0);"
    kind = "code" if result == "int" else "number"
    return f"say(\"{kind}\", (long long){call});"


def program(functions, included):
    lines = ["#include <stdio.h>", "#include <stdlib.h>", "#include <string.h>", "#include <sys/wait.h>", "#include <unistd.h>"]
    lines += [f"#include <{h}>" for h in included]
    lines.append('static void say(const char *kind, long long v) { printf("%s %lld", kind, v); fflush(stdout); }')
    names = {f[2] for f in functions}
    made = {n[:-4] for n in names if n.endswith("_new")}
    table = []
    for i, (_, result, name, arguments) in enumerate(functions):
        lines.append(f"static void call_{i}(void) {{ {call_of(result, name, arguments)} }}")
        table.append(f'    {{"{name}", call_{i}}},')
        tag = object_of(arguments, made)
        if tag:
            lines.append(f"static void object_{i}(void) {{ {with_object(tag, result, name, arguments, names)} }}")
            table.append(f'    {{"{name}+{tag}", object_{i}}},')
    lines.append("static const struct { const char *name; void (*call)(void); } function[] = {")
    lines += table
    lines += [
        "};",
        "int main(void) {",
        "    for (size_t i = 0; i < sizeof function / sizeof *function; i++) {",
        "        int status; pid_t child;",
        '        printf("%s ", function[i].name); fflush(stdout);',
        "        child = fork();",
        "        if (child == 0) { alarm(20); function[i].call(); fflush(stdout); _exit(0); }",
        "        if (child < 0 || waitpid(child, &status, 0) < 0) return 2;",
        '        printf(" %d\\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);',
        "    }",
        "    return 0;",
        "}",
    ]
    return "\n".join(lines) + "\n"


def judge(name, kind, value, arguments):
    """None, or what is wrong with an answer."""
    if not needs_pointer(arguments):
        return None
    wanted = EXPECTED.get(name, (USAGE if kind == "code" else 0, ""))[0]
    if value == NOMEM and MODEL.fullmatch(name):
        return None
    return None if value == wanted else f"{name}: {kind} {value}, not {wanted}"


def call_all(build, functions, included):
    """The lines of the program that calls them: name, kind, value, signal."""
    with tempfile.TemporaryDirectory() as work:
        source, binary = os.path.join(work, "nulls.c"), os.path.join(work, "nulls")
        with open(source, "w", encoding="utf-8") as f:
            f.write(program(functions, included))
        subprocess.run([os.environ.get("CC", "cc"), "-std=gnu11", "-Wall", "-Werror", "-Wno-nonnull", "-I",
                        os.path.join(ROOT, "include"), source, "-o", binary, "-L", build, "-lassay-experiment", "-lassay",
                        f"-Wl,-rpath,{build}"], check=True)
        out = subprocess.run([binary], cwd=work, check=True, capture_output=True, text=True, timeout=300).stdout
    return [line.split() for line in out.splitlines()]


def main():
    build = os.path.abspath(sys.argv[1])
    with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as f:
        if re.search(r"^ASSAY_SANITIZE:STRING=.", f.read(), re.M):
            print("skipped: a sanitized library needs sanitized consumers")
            sys.exit(77)
    functions = list(prototypes())
    arguments = {f[2]: f[3] for f in functions}
    if len(arguments) < 200:
        sys.exit(f"only {len(arguments)} prototypes were found: the headers are written in another way than this script expects")
    wrong = {n: f"{n}: listed here, but no header declares it" for n in EXPECTED if n not in arguments}
    lines = call_all(build, functions, sorted({f[0] for f in functions}))
    of_objects = [words for words in lines if "+" in words[0]]
    if len(lines) - len(of_objects) != len(functions):
        wrong[""] = f"{len(lines) - len(of_objects)} of {len(functions)} functions were called"
    if len(of_objects) < 100:
        wrong["+"] = f"only {len(of_objects)} functions were called with an object"
    for words in lines:
        if words[-1] != "0" or len(words) != 4:
            wrong[words[0]] = f"{words[0]}: ended by signal {words[-1]}"
        elif words[1] == "unmade":
            wrong[words[0]] = f"{words[0]}: its constructor fails without options"
        elif "+" in words[0]:
            continue
        elif judge(words[0], words[1], int(words[2]), arguments[words[0]]):
            wrong[words[0]] = judge(words[0], words[1], int(words[2]), arguments[words[0]])
    print("\n".join([*wrong.values(), f"{len(functions)} functions called, {len(of_objects)} of them with an object too, {len(wrong)} wrong"]))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
