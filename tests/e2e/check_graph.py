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
    shares = [float(x) for x in re.findall(r"\\n([0-9.]+) % of MACs", text)]
    if "left out" not in text:
        assert abs(sum(shares) - 100) < 0.05 * len(boxes) + 0.1, (path, sum(shares))
    hottest = max(boxes, key=lambda b: float((re.search(r"\\n([0-9.]+) % of", b[2]) or [0, 0])[1]))
    assert hottest[1] == "#e34a33", (path, hottest)
    print(path, len(boxes), re.findall(r'label="x(\d+)"', text))
