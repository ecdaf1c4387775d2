# tests/e2e/check_markdown.py - every table of a Markdown file has as many cells in each row as in its title.
import re, sys

text = open(sys.argv[1], encoding="utf-8").read()
assert "\x1b" not in text, "an escape"
tables = rows = 0
width = None
for number, line in enumerate(text.split("\n"), 1):
    if not line.startswith("|"):
        width = None
        continue
    cells = len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) - 1
    if width is None:
        width, tables = cells, tables + 1
    assert cells == width, f"line {number}: {cells} cells, the title has {width}: {line}"
    rows += 1
assert tables > 0 and rows > 2 * tables, f"{tables} tables, {rows} rows"
assert len(re.findall(r"(?m)^# ", text)) <= 1, "two titles"
