/* report/export/perfetto_fields.h - the numbers of the fields of Perfetto's trace format that we
 * write. From its protos/perfetto/trace: trace_packet, track_event/track_event, track_descriptor,
 * debug_annotation, and others. */
#ifndef AS_REPORT_EXPORT_PERFETTO_FIELDS_H
#define AS_REPORT_EXPORT_PERFETTO_FIELDS_H

enum { TRACE_PACKET = 1 };

enum {
    PACKET_CLOCK_SNAPSHOT = 6,
    PACKET_TIMESTAMP = 8, /* nanoseconds */
    PACKET_SEQUENCE_ID = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_INTERNED_DATA = 12,
    PACKET_SEQUENCE_FLAGS = 13,
    PACKET_DEFAULTS = 59,
    PACKET_TRACK_DESCRIPTOR = 60,
    PACKET_FIRST_ON_SEQUENCE = 87
};

enum { SEQUENCE_STATE_CLEARED = 1, SEQUENCE_NEEDS_STATE = 2 };

enum { DEFAULTS_TRACK_EVENT = 11, EVENT_DEFAULTS_TRACK = 11 };

enum { SNAPSHOT_CLOCK = 1, CLOCK_ID = 1, CLOCK_TIME = 2, CLOCK_IS_REAL = 1, CLOCK_IS_BOOT = 6 };

enum {
    INTERNED_CATEGORY = 1,
    INTERNED_NAME = 2,
    INTERNED_NOTE_NAME = 3,
    INTERNED_ID = 1,
    INTERNED_TEXT = 2
};

enum {
    EVENT_CATEGORY_ID = 3,
    EVENT_NOTE = 4,
    EVENT_TYPE = 9,
    EVENT_NAME_ID = 10,
    EVENT_TRACK = 11,
    EVENT_CATEGORY = 22,
    EVENT_NAME = 23,
    EVENT_DOUBLE_VALUE = 44,
    EVENT_FLOW = 47,    /* fixed64: the event is joined to the others with it */
    EVENT_FLOW_END = 48 /* the same, and it is the last */
};

enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };

enum { NOTE_NAME_ID = 1, NOTE_UINT = 3, NOTE_DOUBLE = 5, NOTE_TEXT = 6, NOTE_NAME = 10 };

enum {
    TRACK_ID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_THREAD = 4,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8
};

enum { PROCESS_PID = 1, PROCESS_NAME = 6 };

enum { THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5 };

enum { COUNTER_UNIT = 3, UNIT_TIME_NS = 1, UNIT_COUNT = 2, UNIT_BYTES = 3 };

#endif
