/* report/machine/machine_json.c - the machine for programs (schema assay.machine).
 * Base units in the keys; a value that cannot be had is null, with a reason beside it. */
#include <math.h>
#include <stdio.h>

#include "report/machine/machine_report.h"

static void put_why(struct as_json_writer *w, const char *key, const char *why)
{
    char name[80];

    (void)snprintf(name, sizeof name, "%s_reason", key);
    as_json_kv_null(w, key);
    as_json_kv_text(w, name, why);
}

static void put_fact(struct as_json_writer *w, const char *key, struct as_fact fact)
{
    if (fact.why)
        put_why(w, key, fact.why);
    else
        as_json_kv_u64(w, key, fact.value);
}

static void put_real(struct as_json_writer *w, const char *key, struct as_fact_real fact)
{
    if (fact.why)
        put_why(w, key, fact.why);
    else
        as_json_kv_f64(w, key, fact.value);
}

static void put_finite(struct as_json_writer *w, const char *key, double value, const char *why)
{
    if (isfinite(value))
        as_json_kv_f64(w, key, value);
    else
        put_why(w, key, why);
}

/* No limit is null, with that as the reason. */
static void put_limit(struct as_json_writer *w, const char *key, const struct as_limit *limit)
{
    if (limit->why || !limit->set)
        put_why(w, key, limit->why ? limit->why : "no limit is set");
    else
        as_json_kv_f64(w, key, limit->value);
}

static void put_text(struct as_json_writer *w, const char *key, const char *text)
{
    if (text[0])
        as_json_kv_text(w, key, text);
    else
        put_why(w, key, "the system does not tell");
}

static void put_cpu(struct as_json_writer *w, const struct as_topology *t)
{
    as_json_kv_object(w, "cpu");
    put_text(w, "model", t->cpu.model);
    put_text(w, "vendor", t->cpu.vendor);
    put_text(w, "family", t->cpu.family);
    put_text(w, "model_number", t->cpu.model_number);
    put_text(w, "stepping", t->cpu.stepping);
    put_text(w, "microcode", t->cpu.microcode);
    as_json_kv_object(w, "isa");
    for (int i = 0; i < AS_CPU_ISA_COUNT; i++)
        as_json_kv_bool(w, as_cpu_isa_name((enum as_cpu_isa)i),
                        as_cpu_has(&t->cpu, (enum as_cpu_isa)i));
    as_json_object_end(w);
    as_isa_json(w, &t->isa);
    as_json_kv_bool(w, "virtual_machine", t->cpu.virtual_machine);
    as_json_kv_text(w, "hypervisor", t->hypervisor[0] ? t->hypervisor : NULL);
    as_json_object_end(w);
}

static void put_topology(struct as_json_writer *w, const struct as_topology *t)
{
    static const char *const kinds[] = {"unified", "data", "instruction"};

    as_json_kv_object(w, "topology");
    as_json_kv_u64(w, "sockets", t->n_sockets);
    as_json_kv_u64(w, "cores", t->n_cores);
    as_json_kv_u64(w, "threads", t->n_threads);
    put_fact(w, "threads_per_core", t->smt);
    as_json_kv_u64(w, "numa_nodes", t->n_numa);
    put_fact(w, "memory_bytes", t->memory_bytes);
    as_json_kv_array(w, "caches");
    for (size_t i = 0; i < t->n_caches; i++) {
        as_json_object(w);
        as_json_kv_u64(w, "level", t->caches[i].level);
        as_json_kv_text(w, "kind", kinds[t->caches[i].kind]);
        as_json_kv_u64(w, "size_bytes", t->caches[i].size_bytes);
        put_fact(w, "line_bytes", t->caches[i].line_bytes);
        as_json_kv_u64(w, "count", t->caches[i].n);
        as_json_kv_u64(w, "shared_by_threads", t->caches[i].shared_by);
        as_json_object_end(w);
    }
    as_json_array_end(w);
    if (t->caches_why)
        as_json_kv_text(w, "caches_reason", t->caches_why);
    as_json_object_end(w);
}

static void put_usable(struct as_json_writer *w, const struct as_machine_report *r)
{
    const struct as_topology *t = r->topology;
    int cpu;

    as_json_kv_object(w, "usable");
    as_json_kv_u64(w, "processors", t->n_usable);
    as_json_kv_array(w, "processor_numbers");
    for (unsigned i = 0; i < t->n_usable && (cpu = as_topology_cpu_at(t, i)) >= 0; i++)
        as_json_i64(w, cpu);
    as_json_array_end(w);
    as_json_kv_u64(w, "cgroup_version", (uint64_t)t->container.version);
    put_limit(w, "cpu_quota_processors", &t->container.cpu_quota);
    put_fact(w, "throttled_periods", t->container.throttled);
    put_limit(w, "memory_limit_bytes", &t->container.memory_bytes);
    put_fact(w, "memory_left_bytes", r->headroom->left);
    put_fact(w, "memory_available_bytes", r->headroom->available);
    put_fact(w, "swap_total_bytes", r->headroom->swap_total);
    put_fact(w, "swap_used_bytes", r->headroom->swap_used);
    as_json_object_end(w);
}

static void put_frequency(struct as_json_writer *w, const struct as_cpu_frequency *f)
{
    as_json_kv_object(w, "frequency");
    if (f->governor_why)
        put_why(w, "governor", f->governor_why);
    else
        as_json_kv_text(w, "governor", f->governor);
    as_json_kv_bool(w, "governors_differ", f->governors_differ);
    if (f->turbo == AS_TURBO_UNKNOWN)
        put_why(w, "turbo", f->turbo_why);
    else
        as_json_kv_bool(w, "turbo", f->turbo == AS_TURBO_ON);
    put_fact(w, "min_hz", f->min_hz);
    put_fact(w, "max_hz", f->max_hz);
    put_fact(w, "current_hz", f->current_hz);
    as_json_object_end(w);
}

static void put_system(struct as_json_writer *w, const struct as_machine_report *r)
{
    const struct as_topology *t = r->topology;

    as_json_kv_object(w, "system");
    put_text(w, "kernel", t->kernel);
    put_text(w, "clock_source", t->clock_source);
    put_text(w, "huge_pages", t->huge_pages);
    put_fact(w, "perf_event_paranoid", t->paranoid);
    put_real(w, "load_1_minute", r->load->load_1);
    put_real(w, "load_5_minutes", r->load->load_5);
    put_real(w, "load_15_minutes", r->load->load_15);
    put_fact(w, "runnable_tasks", r->load->runnable);
    put_fact(w, "tasks", r->load->tasks);
    as_json_object_end(w);
}

static void put_peak(struct as_json_writer *w, const char *key, const struct as_peak *p)
{
    if (p->why)
        put_why(w, key, p->why);
    else
        as_json_kv_f64(w, key, p->rate);
    as_json_kv_f64(w, "spread_share", p->spread);
    as_json_kv_text(w, "isa", p->isa);
}

static void put_compute(struct as_json_writer *w, const struct as_peaks *p)
{
    as_json_kv_array(w, "compute");
    for (int type = 0; type < AS_PEAK_TYPE_COUNT; type++)
        for (unsigned i = 0; i < p->n_counts; i++) {
            as_json_object(w);
            as_json_kv_text(w, "type", as_peak_type_name((enum as_peak_type)type));
            as_json_kv_u64(w, "threads", p->threads[i]);
            put_peak(w, "operations_per_second", &p->compute[type][i]);
            as_json_object_end(w);
        }
    as_json_array_end(w);
}

static void put_bandwidth(struct as_json_writer *w, const struct as_peaks *p)
{
    as_json_kv_array(w, "levels");
    for (int level = 0; level < AS_PEAK_LEVEL_COUNT; level++) {
        const struct as_peak_place *place = &p->place[level];

        as_json_object(w);
        as_json_kv_text(w, "level", as_peak_level_name((enum as_peak_level)level));
        put_fact(w, "size_bytes",
                 place->size_bytes ? as_fact_of(place->size_bytes)
                                   : as_fact_none("the system does not tell"));
        put_fact(w, "walked_bytes",
                 place->set_bytes ? as_fact_of(place->set_bytes) : as_fact_none("not measured"));
        as_json_object_end(w);
    }
    as_json_array_end(w);
    as_json_kv_array(w, "bandwidth");
    for (int at = 0; at < AS_PEAK_LEVEL_COUNT * AS_PEAK_ACCESS_COUNT; at++)
        for (unsigned i = 0; i < p->n_counts; i++) {
            int level = at / AS_PEAK_ACCESS_COUNT, access = at % AS_PEAK_ACCESS_COUNT;

            as_json_object(w);
            as_json_kv_text(w, "level", as_peak_level_name((enum as_peak_level)level));
            as_json_kv_text(w, "access", as_peak_access_name((enum as_peak_access)access));
            as_json_kv_u64(w, "threads", p->threads[i]);
            put_peak(w, "bytes_per_second", &p->bandwidth[level][access][i]);
            as_json_object_end(w);
        }
    as_json_array_end(w);
}

static void put_ridges(struct as_json_writer *w, const struct as_peaks *p)
{
    as_json_kv_array(w, "ridge_points");
    for (int type = 0; type < AS_PEAK_TYPE_COUNT; type++)
        for (int level = 0; level < AS_PEAK_LEVEL_COUNT; level++)
            for (unsigned i = 0; i < p->n_counts; i++) {
                double ridge = as_peak_ridge(p, (enum as_peak_type)type, (enum as_peak_level)level,
                                             p->threads[i]);

                as_json_object(w);
                as_json_kv_text(w, "type", as_peak_type_name((enum as_peak_type)type));
                as_json_kv_text(w, "level", as_peak_level_name((enum as_peak_level)level));
                as_json_kv_u64(w, "threads", p->threads[i]);
                put_finite(w, "operations_per_byte", ridge, "one of the two peaks is missing");
                as_json_object_end(w);
            }
    as_json_array_end(w);
}

static void put_peaks(struct as_json_writer *w, const struct as_machine_report *r)
{
    const struct as_peaks *p = r->peaks;
    static const char no_chain[] = "no chain of additions is known for this processor";

    as_json_kv_object(w, "peaks");
    as_json_kv_text(w, "source", r->from_cache ? "cache" : "measured");
    as_json_kv_bool(w, "quick", p->quick);
    as_json_kv_text(w, "fingerprint", r->fingerprint);
    as_json_kv_text(w, "cache_path", r->cache_path);
    as_json_kv_f64(w, "measured_unix_s", (double)p->measured_unix_ns / 1e9);
    as_json_kv_f64(w, "age_s",
                   r->now_unix_ns > p->measured_unix_ns
                       ? (double)(r->now_unix_ns - p->measured_unix_ns) / 1e9
                       : 0);
    as_json_kv_f64(w, "took_s", (double)p->took_ns / 1e9);
    put_finite(w, "frequency_hz", p->frequency_hz, no_chain);
    put_finite(w, "frequency_under_vectors_hz", p->vector_hz, no_chain);
    put_finite(w, "f32_vector_multiply_adds_per_cycle", as_peak_fma_a_cycle(p), no_chain);
    as_json_kv_f64(w, "clock_read_ns", p->clock_ns);
    as_json_kv_f64(w, "clock_gettime_ns", p->gettime_ns);
    put_compute(w, p);
    put_bandwidth(w, p);
    put_ridges(w, p);
    as_json_object_end(w);
}

static void put_noise(struct as_json_writer *w, const struct as_noise *n)
{
    if (!n) {
        put_why(w, "noise", "not measured");
        return;
    }
    as_json_kv_object(w, "noise");
    as_json_kv_u64(w, "pairs", n->n_pairs);
    as_json_kv_f64(w, "kernel_ns", n->kernel_ns);
    as_json_kv_f64(w, "cv", n->cv);
    as_json_kv_f64(w, "floor_median_share", n->median_share);
    put_finite(w, "floor_p95_share", n->p95_share, "too few pairs");
    as_json_kv_f64(w, "shift_share", n->shift_share);
    as_json_kv_f64(w, "difference_low_share", n->interval.low);
    as_json_kv_f64(w, "difference_high_share", n->interval.high);
    as_json_kv_f64(w, "difference_coverage", n->interval.coverage);
    as_json_kv_f64(w, "rank_test_p", n->p);
    as_json_kv_f64(w, "resolvable_share", n->resolvable_share);
    put_fact(w, "switches_involuntary", n->events.switches_involuntary);
    put_fact(w, "switches_voluntary", n->events.switches_voluntary);
    put_fact(w, "minor_faults", n->events.minor_faults);
    put_fact(w, "major_faults", n->events.major_faults);
    put_real(w, "busy_share", n->shares.busy);
    put_real(w, "steal_share", n->shares.steal);
    as_json_object_end(w);
}

void as_machine_json(const struct as_machine_report *report, struct as_json_writer *w)
{
    const struct as_fitness *f = report->fitness;

    put_cpu(w, report->topology);
    put_topology(w, report->topology);
    put_usable(w, report);
    put_frequency(w, &report->topology->frequency);
    put_system(w, report);
    put_peaks(w, report);
    put_noise(w, report->noise);
    as_json_kv_array(w, "findings");
    for (size_t i = 0; i < f->n; i++)
        as_json_fields_write(w, &as_finding_shape, &f->findings[i]);
    as_json_array_end(w);
}
