/* probe/system/topology_fields.c - what the machine is, as a run keeps it. */
#include <string.h>

#include "probe/system/topology.h"

static const struct as_json_field cpu_fields[] = {
    AS_FIELD(struct as_cpu_info, model),       AS_FIELD(struct as_cpu_info, vendor),
    AS_FIELD(struct as_cpu_info, family),      AS_FIELD(struct as_cpu_info, model_number),
    AS_FIELD(struct as_cpu_info, stepping),    AS_FIELD(struct as_cpu_info, microcode),
    AS_FIELD(struct as_cpu_info, flags),       AS_FIELD(struct as_cpu_info, isa),
    AS_FIELD(struct as_cpu_info, flags_known), AS_FIELD(struct as_cpu_info, virtual_machine),
};
static const struct as_json_shape cpu_shape = AS_SHAPE(struct as_cpu_info, cpu_fields);

static const struct as_json_field isa_fields[] = {
    AS_FIELD_ENUM(struct as_isa_choice, effective, AS_ISA_COUNT),
    AS_FIELD_ENUM(struct as_isa_choice, hardware, AS_ISA_COUNT),
    AS_FIELD(struct as_isa_choice, capped_by),
};
static const struct as_json_shape isa_shape = AS_SHAPE(struct as_isa_choice, isa_fields);

static const struct as_json_field cache_fields[] = {
    AS_FIELD(struct as_cache, level),
    AS_FIELD_ENUM(struct as_cache, kind, AS_CACHE_INSTRUCTION + 1),
    AS_FIELD(struct as_cache, size_bytes),
    AS_FIELD(struct as_cache, line_bytes),
    AS_FIELD(struct as_cache, n),
    AS_FIELD(struct as_cache, shared_by),
};
static const struct as_json_shape cache_shape = AS_SHAPE(struct as_cache, cache_fields);

static const struct as_json_field container_fields[] = {
    AS_FIELD(struct as_container, version),      AS_FIELD(struct as_container, cpu_quota),
    AS_FIELD(struct as_container, memory_bytes), AS_FIELD(struct as_container, memory_used),
    AS_FIELD(struct as_container, throttled),
};
static const struct as_json_shape container_shape = AS_SHAPE(struct as_container, container_fields);

static const struct as_json_field frequency_fields[] = {
    AS_FIELD(struct as_cpu_frequency, governor),
    AS_FIELD(struct as_cpu_frequency, governor_why),
    AS_FIELD(struct as_cpu_frequency, governors_differ),
    AS_FIELD_ENUM(struct as_cpu_frequency, turbo, AS_TURBO_ON + 1),
    AS_FIELD(struct as_cpu_frequency, turbo_why),
    AS_FIELD(struct as_cpu_frequency, min_hz),
    AS_FIELD(struct as_cpu_frequency, max_hz),
    AS_FIELD(struct as_cpu_frequency, current_hz),
};
static const struct as_json_shape frequency_shape =
    AS_SHAPE(struct as_cpu_frequency, frequency_fields);

/* The numbers of the processors that this process may use. */
static void write_usable(struct as_json_writer *w, const void *object)
{
    const struct as_topology *t = object;

    as_json_array(w);
    for (int i = 0; i < AS_MAX_CPUS; i++)
        if (CPU_ISSET_S((size_t)i, sizeof t->usable, t->usable))
            as_json_i64(w, i);
    as_json_array_end(w);
}

static int read_usable(void *user, void *object, struct as_json_parser *p, struct assay_error *err)
{
    struct as_topology *t = object;
    int rc = as_json_next(p, err);
    uint64_t cpu;

    (void)user;
    if (rc != AS_JSON_ARRAY) {
        rc = rc < 0 ? rc : as_json_skip(p, err);
        return rc < 0 ? rc : 0;
    }
    while ((rc = as_json_next(p, err)) == AS_JSON_NUMBER)
        if (as_json_get_u64(p, &cpu, NULL) == ASSAY_OK && cpu < (uint64_t)AS_MAX_CPUS)
            CPU_SET_S((size_t)cpu, sizeof t->usable, t->usable);
    if (rc == AS_JSON_ARRAY_END)
        return 1;
    return rc < 0 ? rc : as_fail(err, ASSAY_ERR_FORMAT, "a processor is not a number");
}

static const struct as_json_field fields[] = {
    AS_FIELD_OBJECT(struct as_topology, cpu, &cpu_shape),
    AS_FIELD_OBJECT(struct as_topology, isa, &isa_shape),
    AS_FIELD(struct as_topology, n_sockets),
    AS_FIELD(struct as_topology, n_cores),
    AS_FIELD(struct as_topology, n_threads),
    AS_FIELD(struct as_topology, n_numa),
    AS_FIELD(struct as_topology, smt),
    AS_FIELD_ARRAY(struct as_topology, caches, n_caches, &cache_shape),
    AS_FIELD(struct as_topology, caches_why),
    AS_FIELD_CUSTOM("usable", read_usable, write_usable),
    AS_FIELD(struct as_topology, n_usable),
    AS_FIELD(struct as_topology, memory_bytes),
    AS_FIELD_OBJECT(struct as_topology, container, &container_shape),
    AS_FIELD_OBJECT(struct as_topology, frequency, &frequency_shape),
    AS_FIELD(struct as_topology, hypervisor),
    AS_FIELD(struct as_topology, kernel),
    AS_FIELD(struct as_topology, clock_source),
    AS_FIELD(struct as_topology, paranoid),
    AS_FIELD(struct as_topology, huge_pages),
};
const struct as_json_shape as_topology_shape = AS_SHAPE(struct as_topology, fields);
