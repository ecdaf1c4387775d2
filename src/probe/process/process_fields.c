/* probe/process/process_fields.c - load and memory of the machine as a run keeps them. */
#include "probe/process/process_memory.h"
#include "probe/system/system_load.h"

static const struct as_json_field load_fields[] = {
    AS_FIELD(struct as_system_load, load_1),      AS_FIELD(struct as_system_load, load_5),
    AS_FIELD(struct as_system_load, load_15),     AS_FIELD(struct as_system_load, runnable),
    AS_FIELD(struct as_system_load, tasks),       AS_FIELD(struct as_system_load, busy_ticks),
    AS_FIELD(struct as_system_load, steal_ticks), AS_FIELD(struct as_system_load, total_ticks),
};
const struct as_json_shape as_system_load_shape = AS_SHAPE(struct as_system_load, load_fields);

static const struct as_json_field headroom_fields[] = {
    AS_FIELD(struct as_memory_headroom, available),
    AS_FIELD(struct as_memory_headroom, left),
    AS_FIELD(struct as_memory_headroom, swap_total),
    AS_FIELD(struct as_memory_headroom, swap_used),
};
const struct as_json_shape as_memory_headroom_shape =
    AS_SHAPE(struct as_memory_headroom, headroom_fields);
