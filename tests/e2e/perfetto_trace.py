"""Reads a Perfetto trace as its own reader would: packets, sequences, interned names, tracks. Refuses what is not valid."""
import struct


def fields(data):
    at, end = 0, len(data)

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                assert value < 1 << 64
                return value
            shift += 7
            assert shift < 70

    while at < end:
        tag = varint()
        number, wire = tag >> 3, tag & 7
        assert number
        if wire == 0:
            yield number, varint()
        elif wire == 1:
            yield number, data[at:at + 8]
            at += 8
        elif wire == 2:
            size = varint()
            assert at + size <= end, 'a field longer than its message'
            yield number, data[at:at + size]
            at += size
        else:
            raise AssertionError('wire type %d' % wire)
    assert at == end


def one(data):
    found = {}
    for number, value in fields(data):
        found.setdefault(number, []).append(value)
    return found


def text(data):
    return bytes(data).decode('utf-8')  # strict


def first(message, number, default=None):
    return message[number][0] if number in message else default


class Trace:
    def __init__(self, data):
        self.tracks, self.sequences = {}, {}
        self.spans, self.samples, self.iterations, self.instants = [], [], [], []
        self.stack = {}
        for number, packet in fields(data):
            assert number == 1
            self.packet(one(packet))
        assert not any(self.stack.values()), 'a slice was left open'

    def packet(self, p):
        sequence = first(p, 10)
        flags = first(p, 13, 0)
        assert sequence, 'a packet without a sequence'
        if flags & 1:
            self.sequences[sequence] = {'names': {}, 'categories': {}, 'notes': {}, 'track': None, 'last': {}}
        assert sequence in self.sequences, 'incremental state is missing'
        state = self.sequences[sequence]
        if 12 in p:
            interned = one(first(p, 12))
            for number, table in ((1, 'categories'), (2, 'names'), (3, 'notes')):
                for entry in interned.get(number, []):
                    entry = one(entry)
                    iid = first(entry, 1)
                    assert iid and iid not in state[table], 'interned twice'
                    state[table][iid] = text(first(entry, 2))
        if 59 in p:
            state['track'] = first(one(first(one(first(p, 59)), 11)), 11)
        if 60 in p:
            self.track(one(first(p, 60)))
        if 11 in p:
            assert flags & 2
            self.event(first(p, 8), one(first(p, 11)), state)

    def track(self, t):
        uuid = first(t, 1)
        assert uuid and uuid not in self.tracks
        parent = first(t, 5)
        assert parent is None or parent in self.tracks
        kind = 'process' if 3 in t else 'thread' if 4 in t else 'counter' if 8 in t else 'other'
        self.tracks[uuid] = {'kind': kind, 'name': text(first(t, 2, b''))}
        if kind == 'thread':
            thread = one(first(t, 4))
            self.tracks[uuid].update(tid=first(thread, 2), name=text(first(thread, 5)))

    def event(self, ns, e, state):
        track = first(e, 11, state['track'])
        assert track in self.tracks, 'an event on no track'
        kind, type_ = self.tracks[track]['kind'], first(e, 9)
        notes = {}
        for note in e.get(4, []):
            note = one(note)
            key = state['notes'][first(note, 1)] if 1 in note else text(first(note, 10))
            notes[key] = (struct.unpack('<d', first(note, 5))[0] if 5 in note else
                          first(note, 3) if 3 in note else text(first(note, 6)))
        name = state['names'][first(e, 10)] if 10 in e else text(first(e, 23, b''))
        category = state['categories'][first(e, 3)] if 3 in e else text(first(e, 22, b''))
        if type_ == 4:
            assert kind == 'counter'
            self.samples.append((track, ns, struct.unpack('<d', first(e, 44))[0]))
            return
        assert kind != 'counter'
        if type_ == 3:
            self.instants.append((track, ns, name, notes))
            return
        assert ns >= state['last'].get(track, 0), 'time runs backwards'
        state['last'][track] = ns
        stack = self.stack.setdefault(track, [])
        if type_ == 1:
            stack.append((ns, name, category, notes))
            return
        assert type_ == 2 and stack, 'an end without a begin'
        start, name, category, begun = stack.pop()
        begun.update(notes)
        row = (track, start, ns, name, category, begun)
        (self.spans if kind == 'thread' else self.iterations).append(row)
