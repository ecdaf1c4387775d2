/* probe/system/topology.h - what this machine is: processors, caches, memory, limits, who sets its
 * speed. A pure reading: nothing is measured. What the system does not report carries a reason. */
#ifndef AS_PROBE_SYSTEM_TOPOLOGY_H
#define AS_PROBE_SYSTEM_TOPOLOGY_H

#include <sched.h>

#include "base/error.h"
#include "base/fact.h"
#include "base/json/json_fields.h"
#include "probe/system/cpu_info.h"
#include "probe/system/isa_cap.h"

/* ---- container.c ---- */

struct as_container {
    int version;                  /* of the control groups: 1, 2, or 0 when there are none */
    struct as_limit cpu_quota;    /* in CPUs: 1.5 is one and a half */
    struct as_limit memory_bytes; /* of the group that leaves the least */
    struct as_fact memory_used;   /* by that group, in bytes */
    struct as_fact throttled;     /* periods in which our group was stopped, since it began */
};

void as_container_read(struct as_container *out, const char *root);

/* ---- cpu_frequency.c ---- */

enum as_turbo { AS_TURBO_UNKNOWN, AS_TURBO_OFF, AS_TURBO_ON };

struct as_cpu_frequency {
    char governor[32]; /* of the first processor; "" when not told */
    const char *governor_why;
    bool governors_differ; /* another processor has another one */
    enum as_turbo turbo;
    const char *turbo_why;
    struct as_fact min_hz, max_hz, current_hz; /* of the first processor */
};

void as_cpu_frequency_read(struct as_cpu_frequency *out, const char *root, unsigned n_cpus);

/* ---- topology.c ---- */

#define AS_CPU_SETS   8 /* of 1024 processors each */
#define AS_MAX_CPUS   (AS_CPU_SETS * CPU_SETSIZE)
#define AS_MAX_CACHES 12

enum as_cache_kind { AS_CACHE_UNIFIED, AS_CACHE_DATA, AS_CACHE_INSTRUCTION };

struct as_cache {
    unsigned level; /* from 1 */
    enum as_cache_kind kind;
    uint64_t size_bytes; /* of one */
    struct as_fact line_bytes;
    unsigned n;         /* how many of them there are */
    unsigned shared_by; /* hardware threads of the first of them */
};

struct as_topology {
    struct as_cpu_info cpu;
    struct as_isa_choice isa; /* of this process, also when another machine is described */
    unsigned n_sockets, n_cores, n_threads, n_numa; /* at least 1 each */
    struct as_fact smt; /* hardware threads a core; more than 1 share its arithmetic */
    struct as_cache caches[AS_MAX_CACHES];
    size_t n_caches;
    const char *caches_why; /* why there are none */
    cpu_set_t usable[AS_CPU_SETS];
    unsigned n_usable; /* processors that this process may run on, at least 1 */
    struct as_fact memory_bytes;
    struct as_container container;
    struct as_cpu_frequency frequency;
    char hypervisor[16];     /* "KVM"; "" on bare metal or when it has no name */
    char kernel[96];         /* release */
    char clock_source[32];   /* of the kernel */
    struct as_fact paranoid; /* of perf events: above 1, hardware counters are for root alone */
    char huge_pages[16];     /* transparent ones: "always", "madvise", "never", "" */
};

/* As a run keeps it: probe/system/topology_fields.c. */
extern const struct as_json_shape as_topology_shape;

struct as_topology_source {
    const char *root;      /* of /proc and /sys; NULL is the machine itself */
    const char *synthetic; /* hwloc's description of another machine; NULL is this one */
};

/* `source` may be NULL. Fails when hwloc does: without memory, or for a wrong description. */
AS_MUST_USE int as_topology_read(struct as_topology *out, const struct as_topology_source *source,
                                 struct assay_error *err);

/* The first cache of that level that holds data; NULL when there is none. */
const struct as_cache *as_topology_cache(const struct as_topology *t, unsigned level);

/* How many threads can really run at once: the usable processors or the quota, the lesser. */
unsigned as_topology_threads(const struct as_topology *t);

/* USAGE when the process may not run so many at once: their times would be those of a queue. */
AS_MUST_USE int as_topology_check_threads(const struct as_topology *t, uint64_t threads,
                                          struct assay_error *err);

/* The number of the i-th usable processor, from 0; -1 past the last. */
int as_topology_cpu_at(const struct as_topology *t, unsigned i);

/* SHA-256 in hex of all that makes peaks measured here hold: processor, microcode, flags, caches,
 * usable processors, quota, kernel, the instruction set that kernels may use, and `version` of the
 * measurement. */
AS_MUST_USE int as_topology_fingerprint(const struct as_topology *t, unsigned version, char out[65],
                                        struct assay_error *err);

#endif
