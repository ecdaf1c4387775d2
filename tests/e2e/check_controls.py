"""Whether text is safe to show, whatever reads it: check_controls.py KIND FILE...
KIND text: newlines alone; csv: newlines and tabs; styled: the styles of our own pages too."""
import re
import sys

UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]")
kind, bad = sys.argv[1], 0
for path in sys.argv[2:]:
    data = open(path, "rb").read()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        print(f"{path}: not UTF-8 at byte {error.start}: {data[max(0, error.start - 20):error.start + 20]!r}")
        bad = 1
        continue
    if kind == "styled":
        text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    found = UNSAFE.search(text) or (kind == "text" and re.search("\t", text))
    if found:
        print(f"{path}: U+{ord(found.group()):04X} at {found.start()}: {text[max(0, found.start() - 30):found.start() + 30]!r}")
        bad = 1
sys.exit(bad)
