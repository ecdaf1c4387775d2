"""check_flame_graph.py SVG [RUN.json]: a flame graph is one file that needs nothing else, frames lie on their callers, and it
shows what the report has."""
import json, re, sys
import xml.etree.ElementTree as tree

text = open(sys.argv[1], encoding="utf-8").read()
assert not re.search(r"<script|href|url\(|@import|<image|<foreignObject|<style|onclick|onload", text), "nothing is run or fetched"
assert re.findall(r"https?://[^\" ]*", text) == ["http://www.w3.org/2000/svg"], "no address but that of the format"
root = tree.fromstring(text)
SVG = "{http://www.w3.org/2000/svg}"
assert root.tag == SVG + "svg" and float(root.get("width")) == 1200, "1200 pixels wide"
if "nothing to draw" in text:
    assert not list(root.iter(SVG + "g"))
    sys.exit()
frames = []
for g in root.iter(SVG + "g"):
    rect, label = g.find(SVG + "rect"), g.find(SVG + "text")
    x, y, width = (float(rect.get(k)) for k in ("x", "y", "width"))
    frames.append((x, y, width, g.find(SVG + "title").text, label.text if label is not None else ""))
assert frames, "there are frames"
bottom = max(f[1] for f in frames)
(all_frames,) = [f for f in frames if f[1] == bottom]
assert all_frames[3].startswith("all: ") and " (100.0 %)" in all_frames[3]
for x, y, width, tip, label in frames:
    assert 10 <= x and x + width <= 1190.01 and 56 <= y < float(root.get("height")), (x, y, width)
    assert len(label) * 6.62 <= max(width, 0.5), ("a label stays in its frame", label, width)
    assert re.search(r": [\d.,]+ ?\S+ \([\d.]+ %\), itself ", tip), tip
    below = [f for f in frames if f[1] == y + 17 and f[0] <= x + 0.02 and f[0] + f[2] >= x + width - 0.52]
    assert y == bottom or below, ("a frame lies on its caller", tip)
rows = {}
for f in frames:
    rows.setdefault(f[1], []).append(f)
for row in rows.values():
    row.sort()
    assert all(a[0] + a[2] <= b[0] + 0.02 for a, b in zip(row, row[1:])), "frames of a row do not lie on each other"
if len(sys.argv) > 2:
    heap = json.load(open(sys.argv[2]))["program"]["heap"]
    table = heap["frame_table"]
    largest = max(heap["stacks"], key=lambda s: s["allocated_bytes_estimate"])
    names = {table[i]["function"].split("(")[0] for i in largest["frame_ids"] if table[i]["function"]}
    tips = " ".join(f[3] for f in frames)
    assert all(n in tips for n in names), names
print(len(frames), "frames in", len(rows), "rows")
