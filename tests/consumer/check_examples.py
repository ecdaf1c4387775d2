#!/usr/bin/env python3
"""Compiles every example in a comment of the public headers, as C11 and as C++17. usage: check_examples.py [FOLDER]

An example is a block of a comment that is indented by five spaces or more behind the star and holds a statement. Each becomes
a function whose parameters are what the example takes for granted (NEEDS). Examples with designated initializers are C alone,
those with `auto` C++ alone. The sources are left in FOLDER when one is given."""
import os
import re
import subprocess
import sys
import tempfile

from check_nulls import ROOT, headers

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
BEFORE = """#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <assay/assay.h>
#include <assay/experiment/attention.h>
#include <assay/experiment/bench_csv.h>
#include <assay/experiment/bundle.h>
#include <assay/experiment/fingerprint.h>
#include <assay/experiment/quality.h>
#include <assay/experiment/witness.h>

void work(void);
int conv(const float *x, int n);
int step(void *user, struct assay_error *err);
extern struct assay_manager *my_manager;
"""
# What an example takes for granted: a name in it, and the parameter that gives it.
NEEDS = {
    "err": "struct assay_error err", "seconds": "double seconds", "now": "double now", "bytes": "uint64_t bytes",
    "m": "struct assay_manager *m", "model": "struct assay_model *model", "state": "int state",
    "q": "const float *q", "k": "const float *k", "v": "const float *v", "out": "float *out", "x": "const float *x",
    "n": "int n", "d": "size_t d", "base": "const float *base", "gated": "const float *gated",
    "config": "struct assay_bench_config config", "n_samples": "uint64_t n_samples",
    "records": "const struct assay_latency_record *records",
}
# Where a name means something else.
OTHER = {
    "compare.h": {"seconds": "const double *seconds", "seconds2": "const double *seconds2", "n": "size_t n", "n2": "size_t n2"},
    "quality.h": {"n": "size_t n"}, "witness.h": {"n": "size_t n"}, "bench_csv.h": {"n": "size_t n"},
}


def examples():
    """(header, line, lines of code) of every example."""
    for path in headers():
        with open(path, encoding="utf-8") as f:
            lines = f.read().split("\n")
        i = 0
        while i < len(lines):
            if not re.match(r" \*( {5,8})\S", lines[i]):
                i += 1
                continue
            first, indent = i, len(re.match(r" \*( +)", lines[i]).group(1))
            block = []
            while re.match(r" \* {%d}" % indent, lines[i]) or (lines[i] == " *" and re.match(r" \* {%d}" % indent, lines[i + 1])):
                block.append(lines[i][2 + indent:].replace("*/", "").rstrip())
                i += 1
            if any(re.search(r"[;)}]$", line) for line in block) and not block[0].startswith(("0x", "#include")):
                yield os.path.relpath(path, os.path.join(ROOT, "include")), first + 1, block
            i += 1


def declares(code, name):
    """Whether the example declares the name itself."""
    return re.search(r"\b(struct \w+|char|int|double|uint64_t|int64_t|auto|const char \*|float) \**\(?%s\b" % name, code)


def function(number, header, line, block):
    code = "\n".join(block)
    plain = re.sub(r'"(?:[^"\\]|\\.)*"|//.*', "", code)
    if re.match(r"ASSAY_(MANAGER_)?WRAP\(", code): # defines a function itself
        return f'#line {line} "{header}"\n' + code.replace("timed_conv", f"timed_conv_{number}") + "\n"
    needs = {**NEEDS, **OTHER.get(os.path.basename(header), {})}
    parameters = [text for name, text in needs.items()
                  if re.search(r"(?<![.\w>])%s\b(?!\()" % name, plain) and not declares(plain, name)]
    head = f"int example_{number}({', '.join(parameters) or 'void'})"
    if not re.search(r"^int x|^int y", code, re.M):
        return f'{head};\n{head}\n{{\n#line {line} "{header}"\n{code}\n    return 0;\n}}\n'
    result = "x" if re.search(r"^int x", code, re.M) else "y"
    return f'{head};\n{head}\n{{\n#line {line} "{header}"\n{code}\n    return {result};\n}}\n'


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()
    parts = {("c11", "cc", "-std=c11"): [], ("cpp17", "c++", "-std=c++17"): []}
    found = list(examples())
    for number, (header, line, block) in enumerate(found):
        text = function(number, header, line, block)
        code = "\n".join(block)
        for (name, _, _), sources in parts.items():
            if "auto " in code and name == "c11":
                continue
            if re.search(r"\{\s*\.\w", code) and name == "cpp17":
                continue
            sources.append(text)
    failed = len(found) < 20
    for (name, compiler, standard), sources in parts.items():
        source = os.path.join(folder, name + (".c" if name == "c11" else ".cpp"))
        with open(source, "w", encoding="utf-8") as f:
            f.write(BEFORE + "\n" + "\n".join(sources))
        compiler = os.environ.get("CC" if compiler == "cc" else "CXX", compiler)
        done = subprocess.run([compiler, standard, *STRICT, "-fsyntax-only", "-I", os.path.join(ROOT, "include"), source],
                              capture_output=True, text=True, check=False)
        print(done.stderr, end="")
        failed |= done.returncode != 0
    print(f"{len(found)} examples of {len({f[0] for f in found})} headers")
    sys.exit(1 if failed else 0)


main()
