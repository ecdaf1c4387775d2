"""check_export.py FOLDER [LIMIT | live]: judges the six exports of one run in FOLDER, alone and against one another.

Of a live run each export sees more clock readings than the one before, so times may differ between them; names may not.

Prints the counts as NAME=VALUE, for the script to compare with what it knows."""
import csv
import io
import json
import os
import sys

sys.path.insert(0, os.path.dirname(__file__))
from perfetto_trace import Trace  # noqa: E402

folder, word = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ''
live, limit = word == 'live', int(word) if word.isdigit() else None


def read(name):
    with open(os.path.join(folder, name), 'rb') as f:
        data = f.read()
    assert limit is None or len(data) <= limit, '%s has %d bytes' % (name, len(data))
    return data


def load(name):
    return json.loads(read(name).decode('utf-8'), parse_constant=lambda c: 1 / 0)


CALLS = ('layer', 'function', 'timer')


def exact_ns(text):
    whole, dot, part = text.partition('.')
    assert dot and len(part) == 3
    return int(whole) * 1000 + int(part)


def chrome():
    data = json.loads(read('chrome-trace').decode('utf-8'), parse_float=str, parse_constant=lambda c: 1 / 0)
    assert data['displayTimeUnit'] == 'ns'
    rows, spans, iterations, samples, losses = {}, [], 0, 0, 0
    for e in data['traceEvents']:
        if e['ph'] == 'M':
            if e['name'] == 'thread_name':
                assert e['tid'] not in rows, 'two threads on one row'
                rows[e['tid']] = e['args']['name']
        elif e['ph'] == 'X' and e['cat'] == 'iteration':
            assert e['tid'] in rows
            iterations += 1
        elif e['ph'] == 'X':
            assert e['tid'] in rows
            start, ns = exact_ns(e['ts']), exact_ns(e['dur'])
            spans.append((e['tid'], start, start + ns, e['name'], e['cat'], e.get('args', {}).get('status', 'ok')))
        elif e['ph'] == 'C':
            samples += 1
        elif e['ph'] == 'i':
            losses += e['name'] == 'events lost'
        else:
            raise AssertionError(e)
    return spans, iterations, samples, losses, data['otherData']


def speedscope():
    data = load('speedscope')
    assert data['$schema'] == 'https://www.speedscope.app/file-format-schema.json'
    assert data['exporter'].startswith('assay ') and data['profiles']
    frames, spans = data['shared']['frames'], []
    for profile in data['profiles']:
        assert profile['type'] == 'evented' and profile['unit'] == 'nanoseconds'
        stack, last = [], profile['startValue']
        for e in profile['events']:
            assert e['at'] >= last, 'time runs backwards'
            last = e['at']
            if e['type'] == 'O':
                stack.append(e)
            else:
                assert e['type'] == 'C'
                begun = stack.pop()
                assert begun['frame'] == e['frame'], 'closed out of order'
                spans.append((begun['at'], last, frames[e['frame']]['name']))
        assert not stack and profile['endValue'] >= last
    return spans, data['name']


def folded():
    stacks, lines = {}, read('folded').decode('utf-8').split('\n')
    assert lines.pop() == ''
    for line in lines:
        stack, _, ns = line.rpartition(' ')
        assert stack and int(ns) > 0 and stack not in stacks, line
        assert all(c >= ' ' for c in line)
        stacks[stack] = int(ns)
    assert [s.split(';') for s in stacks] == sorted((s.split(';') for s in stacks), key=lambda s: [p.encode() for p in s])
    return stacks


def events():
    data = load('json')
    assert data['schema'] == 'assay.events' and data['schema_version'] == 1
    threads = {t['index'] for t in data['threads']}
    for s in data['spans']:
        assert s['thread'] in threads and s['start_ns'] + s['self_ns'] <= s['end_ns'] and s['site'] < len(data['sites'])
    return data


UNSAFE = [(0, 0x1f), (0x7f, 0x9f), (0xad, 0xad), (0x61c, 0x61c), (0x115f, 0x1160), (0x180e, 0x180e), (0x200b, 0x200b), (0x200e, 0x200f),
          (0x2028, 0x202e), (0x2060, 0x206f), (0x3164, 0x3164), (0xfe00, 0xfe0f), (0xfeff, 0xfeff), (0xfff9, 0xfffb),
          (0xe0000, 0xe007f), (0xe0100, 0xe01ef)]


def shown(name, kept='\n\t'):
    """As tables write a name: what a terminal must not get is spelled out, but for newline and TAB."""
    def one(c):
        code = ord(c)
        if c in kept or not any(first <= code <= last for first, last in UNSAFE):
            return c
        known = {'\r': '\\r', '\n': '\\n', '\t': '\\t'}
        return known.get(c) or (f'\\x{code:02x}' if code < 0x100 else f'\\u{code:04x}' if code < 0x10000 else f'\\U{code:08x}')
    return ''.join(map(one, name))


def table():
    text = read('csv').decode('utf-8')
    rows = list(csv.DictReader(io.StringIO(text, newline=''), strict=True))
    total, before = 0, 0
    for row in rows:
        end = int(row['start_ns']) + int(row['duration_ns'])
        assert None not in row and row['category'] in CALLS
        assert end >= before and int(row['self_ns']) <= int(row['duration_ns'])
        before = end
        if row['status'] in ('ok', 'failed'):
            total += int(row['duration_ns'])
        assert int(row['cumulative_ns']) == total
    return rows


spans, iterations, samples, losses, other = chrome()
trace = Trace(read('perfetto'))
scoped, title = speedscope()
stacks = folded()
data = events()
rows = table()


def listing(spans):
    return sorted(name if live else (start, end, name) for start, end, name in spans)


if limit is None:
    listed = listing((s['start_ns'], s['end_ns'], data['sites'][s['site']]['name']) for s in data['spans'])
    assert listing(s[1:4] for s in spans) == listed
    assert listing(s[1:4] for s in trace.spans) == sorted(shown(s, '') if live else (*s[:2], shown(s[2], '')) for s in listed)
    assert listing(scoped) == listed
    states = sorted(s['status'] for s in data['spans'])
    assert sorted(s[5] for s in spans) == states
    assert sorted(s[5].get('status', 'ok') for s in trace.spans) == states
    assert live or sum(stacks.values()) == sum(s['self_ns'] for s in data['spans'])
    calls = [s for s in data['spans'] if data['sites'][s['site']]['category'] in CALLS]
    assert len(rows) == len(calls)
    assert sorted(r['layer'] for r in rows) == sorted(shown(data['sites'][s['site']]['name']) for s in calls)
    assert iterations == len(data['iterations']) == len(trace.iterations)
    assert samples == len(data['samples']) == len(trace.samples)
    assert losses == len(data['losses']) == sum(i[2] == 'events lost' for i in trace.instants)
    assert other['spans'] == len(spans) and not other['left_out'] and not data['left_out']
    noted = sum(len(s.get('notes', ())) for s in data['spans'])
    assert noted == sum(len([k for k in s[5] if k != 'status']) for s in trace.spans)
    assert noted == sum(r['notes'].count('=') for r in rows)
else:
    cut = other['left_out']
    assert not cut or cut['spans']['of'] == cut['spans']['left_out'] + len(spans)
    assert not cut or cut['samples']['of'] == cut['samples']['left_out'] + samples
    assert not cut or cut['iterations']['of'] == cut['iterations']['left_out'] + iterations
    cut = data['left_out']
    for kind in ('spans', 'samples', 'iterations', 'losses'):
        assert not cut or cut[kind]['of'] == cut[kind]['left_out'] + len(data[kind])
    told = [i[3] for i in trace.instants if 'spans_left_out' in i[3]]
    assert not told or told[0]['spans'] == told[0]['spans_left_out'] + len(trace.spans)
    assert not told or told[0]['samples'] == told[0]['samples_left_out'] + len(trace.samples)
    assert not told or told[0]['iterations'] == told[0]['iterations_left_out'] + len(trace.iterations)

print('spans=%d calls=%d iterations=%d samples=%d losses=%d threads=%d' %
      (len(spans), len(rows), iterations, samples, losses, len(data['threads'])))
