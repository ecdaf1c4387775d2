"""check_graph.py FILE.svg|FILE.dot...: the pictures of a graph are well formed, and what a dot file says of blocks and shares."""
import re, sys, xml.dom.minidom

for path in sys.argv[1:]:
    text = open(path, encoding="utf-8").read()
    if path.endswith(".svg"):
        xml.dom.minidom.parseString(text)
        continue
    boxes = re.findall(r'^  b(\d+) \[fillcolor="(#[0-9a-f]{6})", label="((?:[^"\\]|\\.)*)"\];$', text, re.M)
    assert [int(b[0]) for b in boxes] == list(range(len(boxes))) and boxes, path
    for a, b in re.findall(r"^  b(\d+) -> b(\d+);$", text, re.M):
        assert int(a) < int(b) < len(boxes), (path, a, b)
    edges = re.findall(r"^  b\d+ -> b\d+;$", text, re.M)
    assert len(edges) == len(set(edges)), path
    shares = [float(x) for x in re.findall(r"\\n(?:all \d+: )?([0-9.]+) % of MACs", text)]
    if "left out" not in text:
        assert abs(sum(shares) - 100) < 0.05 * len(boxes) + 0.1, (path, sum(shares))
    hottest = max(boxes, key=lambda b: float((re.search(r"\\n(?:all \d+: )?([0-9.]+) % of", b[2]) or [0, 0])[1]))
    assert hottest[1] == "#e34a33", (path, hottest)
    # A box that stands for copies reports it, and its block their number and the sum of its boxes.
    times = []
    for members, label in [(m, l) for l, m in re.findall(r'label="([^"]*)"; style=dashed;\n((?:    b\d+;\n)+)', text)]:
        n, together = re.fullmatch(r"(\d+) \u00d7 this block(?:, ([0-9.]+) % of MACs together)?", label).groups()
        texts = [boxes[int(b)][2] for b in re.findall(r"b(\d+)", members)]
        parts = [re.search(r"\\nall (\d+): ([0-9.]+) % of MACs", x) for x in texts]
        assert all(p is None or p[1] == n for p in parts), (path, label, texts)
        assert abs(sum(float(p[2]) for p in parts if p) - float(together or 0)) < 0.05 * len(parts) + 0.1, (path, label)
        times.append(n)
    print(path, len(boxes), times)
