# tests/e2e/check_fields.py - every JSON key and CSV column that is printed is in docs/fields.md. usage: check_fields.py FIELDS.md FILE...
import csv
import json
import re
import sys

known = set()
with open(sys.argv[1], encoding="utf-8") as f:
    for line in f:
        if line.startswith("| `"):
            known.update(re.findall(r"`([^`]+)`", line.split("|")[1]))
# Below these keys the keys are names that somebody chose: of layers, settings, data types.
NAMED = {"layer_stats", "by_layer", "by_dtype", "by_role", "by_kind", "extensions", "bottleneck_types", "values", "self_ns_by_phase",
         "fingerprint", "attributes", "categories", "outlier_causes", "lost", "metadata", "facts", "isa", "words"}
# What stands beside a key.
BESIDE = re.compile(r"_(reason|why|unavailable)$")
missing = {}


def look(key, where):
    plain = BESIDE.sub("", key)
    if key not in known and plain not in known and not re.sub(r"_mb$", "_bytes", plain) in known:
        missing.setdefault(key, where)


def schema_keys(schema, where):
    if isinstance(schema, dict):
        for key, inner in schema.get("properties", {}).items():
            look(key, where)
            schema_keys(inner, where)
        for inner in schema.get("anyOf", []):
            schema_keys(inner, where)
        schema_keys(schema.get("items"), where)
        schema_keys(schema.get("additionalProperties"), where)


def document_keys(document, where, named=False):
    if isinstance(document, dict):
        for key, inner in document.items():
            if not named:
                look(key, where)
            document_keys(inner, where, key in NAMED)
    elif isinstance(document, list):
        for inner in document:
            document_keys(inner, where)


for path in sys.argv[2:]:
    with open(path, encoding="utf-8") as f:
        if path.endswith(".csv"):
            for column in next(csv.reader(f)):
                look(column, path)
            continue
        document = json.load(f)
    schema_keys(document, path) if "$schema" in document and "properties" in document else document_keys(document, path)
for key in sorted(missing):
    print(f"docs/fields.md lacks {key} ({missing[key]})")
print(f"{len(known)} keys are described")
sys.exit(bool(missing))
