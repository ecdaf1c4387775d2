/* probe/system/topology.c - what this machine is: processors, caches, memory, limits, who sets its
 * speed. A pure reading: nothing is measured. What the system does not report carries a reason. */
#include "probe/system/topology.h"

#include <hwloc.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/hash.h"
#include "base/output.h"
#include "base/units.h"
#include "probe/system/root_file.h"

static const struct {
    hwloc_obj_type_t type;
    unsigned level;
    enum as_cache_kind kind;
} cache_types[] = {
    {HWLOC_OBJ_L1CACHE, 1, AS_CACHE_DATA},    {HWLOC_OBJ_L1ICACHE, 1, AS_CACHE_INSTRUCTION},
    {HWLOC_OBJ_L2CACHE, 2, AS_CACHE_UNIFIED}, {HWLOC_OBJ_L2ICACHE, 2, AS_CACHE_INSTRUCTION},
    {HWLOC_OBJ_L3CACHE, 3, AS_CACHE_UNIFIED}, {HWLOC_OBJ_L3ICACHE, 3, AS_CACHE_INSTRUCTION},
    {HWLOC_OBJ_L4CACHE, 4, AS_CACHE_UNIFIED}, {HWLOC_OBJ_L5CACHE, 5, AS_CACHE_UNIFIED},
};

static enum as_cache_kind kind_of(hwloc_obj_t obj, enum as_cache_kind usual)
{
    switch (obj->attr->cache.type) {
    case HWLOC_OBJ_CACHE_DATA:
        return AS_CACHE_DATA;
    case HWLOC_OBJ_CACHE_INSTRUCTION:
        return AS_CACHE_INSTRUCTION;
    case HWLOC_OBJ_CACHE_UNIFIED:
        return AS_CACHE_UNIFIED;
    default:
        return usual;
    }
}

static void take_caches(struct as_topology *t, hwloc_topology_t from)
{
    for (size_t i = 0; i < AS_COUNT_OF(cache_types); i++) {
        hwloc_obj_t obj = hwloc_get_obj_by_type(from, cache_types[i].type, 0);
        int n = hwloc_get_nbobjs_by_type(from, cache_types[i].type);
        int sharing;

        if (!obj || n <= 0 || obj->attr->cache.size == 0 || t->n_caches == AS_MAX_CACHES)
            continue;
        sharing = hwloc_bitmap_weight(obj->cpuset);
        t->caches[t->n_caches++] = (struct as_cache){
            .level = cache_types[i].level,
            .kind = kind_of(obj, cache_types[i].kind),
            .size_bytes = obj->attr->cache.size,
            .line_bytes = obj->attr->cache.linesize
                              ? as_fact_of(obj->attr->cache.linesize)
                              : as_fact_none("the system does not report the line's size"),
            .n = (unsigned)n,
            .shared_by = sharing > 0 ? (unsigned)sharing : 1,
        };
    }
    if (t->n_caches == 0)
        t->caches_why = "the system does not report its caches";
}

static unsigned count_of(hwloc_topology_t from, hwloc_obj_type_t type)
{
    int n = hwloc_get_nbobjs_by_type(from, type);

    return n > 0 ? (unsigned)n : 1;
}

static int take_hwloc(struct as_topology *t, const char *synthetic, struct assay_error *err)
{
    hwloc_topology_t from = NULL;
    int rc = ASSAY_OK;

    if (hwloc_topology_init(&from) != 0)
        return as_fail_nomem(err);
    if (synthetic && hwloc_topology_set_synthetic(from, synthetic) != 0) {
        rc = as_fail(err, ASSAY_ERR_USAGE, "hwloc does not understand '%.80s'", synthetic);
        goto out;
    }
    hwloc_topology_set_icache_types_filter(from, HWLOC_TYPE_FILTER_KEEP_ALL);
    if (hwloc_topology_load(from) != 0) {
        rc = as_fail_sys(err, ASSAY_ERR_IO, "hwloc cannot read the topology of this machine");
        goto out;
    }
    t->n_sockets = count_of(from, HWLOC_OBJ_PACKAGE);
    t->n_threads = count_of(from, HWLOC_OBJ_PU);
    t->n_numa = count_of(from, HWLOC_OBJ_NUMANODE);
    /* Where nothing tells cores from threads, each thread counts as a core. */
    t->n_cores = hwloc_get_nbobjs_by_type(from, HWLOC_OBJ_CORE) > 0 ? count_of(from, HWLOC_OBJ_CORE)
                                                                    : t->n_threads;
    t->smt = hwloc_get_nbobjs_by_type(from, HWLOC_OBJ_CORE) > 0
                 ? as_fact_of((t->n_threads + t->n_cores - 1) / t->n_cores)
                 : as_fact_none("the system does not distinguish cores from hardware threads");
    take_caches(t, from);
out:
    hwloc_topology_destroy(from);
    return rc;
}

static void take_usable(struct as_topology *t)
{
    int n = 0;

    if (sched_getaffinity(0, sizeof t->usable, t->usable) == 0)
        n = CPU_COUNT_S(sizeof t->usable, t->usable);
    if (n <= 0) { /* more processors than there is room for: none is pinned then */
        memset(t->usable, 0, sizeof t->usable);
        n = (int)t->n_threads;
    }
    t->n_usable = (unsigned)n;
}

static void take_memory(struct as_topology *t, const char *root)
{
    char text[4096];
    uint64_t kib;

    t->memory_bytes = as_fact_none("/proc/meminfo does not report it");
    if (as_root_read(root, "/proc/meminfo", text, sizeof text) &&
        as_text_field_u64(text, "MemTotal", &kib) && kib < UINT64_MAX / 1024)
        t->memory_bytes = as_fact_of(kib * 1024);
}

/* The hypervisor's twelve letters, as "KVMKVMKVM", or its usual name. */
static void take_hypervisor(struct as_topology *t)
{
#if defined(__x86_64__)
    static const struct {
        char letters[13];
        const char *name;
    } known[] = {
        {"KVMKVMKVM", "KVM"},     {"VMwareVMware", "VMware"}, {"Microsoft Hv", "Hyper-V"},
        {"XenVMMXenVMM", "Xen"},  {"TCGTCGTCGTCG", "QEMU"},   {"bhyve bhyve ", "bhyve"},
        {"VBoxVBoxVBox", "VBox"},
    };
    unsigned a, word[3];
    char letters[13] = "";

    if (!t->cpu.virtual_machine)
        return;
    __cpuid(0x40000000, a, word[0], word[1], word[2]);
    memcpy(letters, word, 12);
    for (size_t i = 0; i < AS_COUNT_OF(known); i++)
        if (strcmp(letters, known[i].letters) == 0)
            (void)snprintf(t->hypervisor, sizeof t->hypervisor, "%s", known[i].name);
#else
    (void)t;
#endif
}

/* "always [madvise] never": what stands between the brackets. */
static void take_huge_pages(struct as_topology *t, const char *root)
{
    char text[64];
    const char *from, *to;

    if (!as_root_read(root, "/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof text))
        return;
    from = strchr(text, '[');
    to = from ? strchr(from, ']') : NULL;
    if (to && (size_t)(to - from - 1) < sizeof t->huge_pages)
        memcpy(t->huge_pages, from + 1, (size_t)(to - from - 1));
}

int as_topology_read(struct as_topology *out, const struct as_topology_source *source,
                     struct assay_error *err)
{
    const char *root = source && source->root ? source->root : "";
    int rc;

    *out = (struct as_topology){0};
    rc = take_hwloc(out, source ? source->synthetic : NULL, err);
    if (rc < 0)
        return rc;
    as_cpu_info_read(&out->cpu, root);
    out->isa = as_isa_current();
    as_container_read(&out->container, root);
    as_cpu_frequency_read(&out->frequency, root, out->n_threads);
    take_usable(out);
    take_memory(out, root);
    take_huge_pages(out, root);
    if (!root[0])
        take_hypervisor(out);
    (void)as_root_read(root, "/proc/sys/kernel/osrelease", out->kernel, sizeof out->kernel);
    (void)as_root_read(root, "/sys/devices/system/clocksource/clocksource0/current_clocksource",
                       out->clock_source, sizeof out->clock_source);
    out->paranoid = as_root_u64(root, "/proc/sys/kernel/perf_event_paranoid",
                                "the kernel has no perf events, or allows all of them");
    return ASSAY_OK;
}

const struct as_cache *as_topology_cache(const struct as_topology *t, unsigned level)
{
    for (size_t i = 0; i < t->n_caches; i++)
        if (t->caches[i].level == level && t->caches[i].kind != AS_CACHE_INSTRUCTION)
            return &t->caches[i];
    return NULL;
}

unsigned as_topology_threads(const struct as_topology *t)
{
    const struct as_limit *quota = &t->container.cpu_quota;

    if (quota->set && quota->value < (double)t->n_usable)
        return quota->value < 1 ? 1 : (unsigned)floor(quota->value);
    return t->n_usable;
}

int as_topology_check_threads(const struct as_topology *t, uint64_t threads,
                              struct assay_error *err)
{
    if (threads <= t->n_usable)
        return ASSAY_OK;
    return as_fail(err, ASSAY_ERR_USAGE, "%llu threads: this process may use %u CPU%s",
                   (unsigned long long)threads, t->n_usable, t->n_usable == 1 ? "" : "s");
}

int as_topology_cpu_at(const struct as_topology *t, unsigned i)
{
    for (int cpu = 0; cpu < AS_MAX_CPUS; cpu++)
        if (CPU_ISSET_S((size_t)cpu, sizeof t->usable, t->usable) && i-- == 0)
            return cpu;
    return -1;
}

int as_topology_fingerprint(const struct as_topology *t, unsigned version, char out[65],
                            struct assay_error *err)
{
    unsigned char digest[AS_SHA256_BYTES];
    struct as_out text;
    size_t size;
    const char *all;
    int rc = as_out_memory(&text, err);

    if (rc < 0)
        return rc;
    as_out_printf(&text, "version %u\nisa %s\nmodel %s\nvendor %s\nid %s %s %s %s\nflags %s\n",
                  version, as_isa_name(t->isa.effective), t->cpu.model, t->cpu.vendor,
                  t->cpu.family, t->cpu.model_number, t->cpu.stepping, t->cpu.microcode,
                  t->cpu.flags);
    as_out_printf(&text, "counts %u %u %u %u\nkernel %s\nquota %d %.17g\n", t->n_sockets,
                  t->n_cores, t->n_threads, t->n_numa, t->kernel, t->container.cpu_quota.set,
                  t->container.cpu_quota.set ? t->container.cpu_quota.value : 0);
    for (size_t i = 0; i < t->n_caches; i++)
        as_out_printf(&text, "cache %u %d %llu %u %u\n", t->caches[i].level, t->caches[i].kind,
                      (unsigned long long)t->caches[i].size_bytes, t->caches[i].n,
                      t->caches[i].shared_by);
    for (int cpu = 0; cpu < AS_MAX_CPUS; cpu++)
        if (CPU_ISSET_S((size_t)cpu, sizeof t->usable, t->usable))
            as_out_printf(&text, "cpu %d\n", cpu);
    all = as_out_get(&text, &size);
    rc = as_out_ok(&text) ? as_sha256(all, size, digest, err) : as_fail_nomem(err);
    if (rc == ASSAY_OK)
        as_sha256_hex(digest, out);
    as_out_drop(&text);
    return rc;
}
