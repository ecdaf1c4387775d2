/* engine/onednn/onednn_library.c - finds libdnnl, opens it, and says what it is.
 * It is never unloaded: threads of OpenMP may still be inside. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "engine/onednn/onednn.h"
#include "probe/system/isa_cap.h"

#define LIBRARY "libdnnl.so.2"
/* The interface of these headers; what the library may do beyond is not used. */
enum { LEAST_MINOR = 4 };

static const dnnl_cpu_isa_t isa_of[] = {
    [AS_ISA_GENERIC] = dnnl_cpu_isa_sse41, /* the least it can be capped at */
    [AS_ISA_SSE41] = dnnl_cpu_isa_sse41,
    [AS_ISA_AVX] = dnnl_cpu_isa_avx,
    [AS_ISA_AVX2] = dnnl_cpu_isa_avx2,
    [AS_ISA_AVX2_VNNI] = dnnl_cpu_isa_avx2_vnni,
    [AS_ISA_AVX512_CORE] = dnnl_cpu_isa_avx512_core,
    [AS_ISA_AVX512_CORE_VNNI] = dnnl_cpu_isa_avx512_core_vnni,
    [AS_ISA_AVX512_CORE_BF16] = dnnl_cpu_isa_avx512_core_bf16,
};
_Static_assert(sizeof isa_of / sizeof *isa_of == AS_ISA_COUNT, "one for every level");

static const char *isa_text(dnnl_cpu_isa_t isa)
{
    for (int i = AS_ISA_SSE41; i < AS_ISA_COUNT; i++)
        if (isa_of[i] == isa)
            return as_isa_name((enum as_isa)i);
    return "unknown";
}

/* dlsym() gives an object pointer where a function pointer is wanted. */
static bool find(void *library, const char *name, void *function)
{
    void *at = dlsym(library, name);

    memcpy(function, &at, sizeof at);
    return at != NULL;
}

static int find_all(void *library, struct as_onednn_api *api, struct assay_error *err)
{
#define X(name)                                                                                    \
    if (!find(library, "dnnl_" #name, &api->name))                                                 \
        return as_fail(err, ASSAY_ERR_UNSUPPORTED, LIBRARY " has no function dnnl_" #name);
    AS_ONEDNN_CALLS(X)
#undef X
    return ASSAY_OK;
}

static int start(struct as_onednn *lib, struct as_exec_plan *p, struct assay_error *err)
{
    const struct as_onednn_api *api = &lib->api;
    const dnnl_version_t *version = api->version();

    if (version->major != 2 || version->minor < LEAST_MINOR)
        return as_fail(err, ASSAY_ERR_UNSUPPORTED, "oneDNN %d.%d is there, 2.%d or later is needed",
                       version->major, version->minor, LEAST_MINOR);
    /* It can be set once in a process only; a second plan finds it done. In a program that has used
     * oneDNN before it cannot be set either, and the name below has what is in effect. */
    (void)api->set_max_cpu_isa(isa_of[as_isa_get()]);
    if (api->engine_create(&lib->engine, dnnl_cpu, 0) != dnnl_success ||
        api->stream_create(&lib->stream, lib->engine, dnnl_stream_default_flags) != dnnl_success)
        return as_fail(err, ASSAY_ERR_UNSUPPORTED, "oneDNN has no engine for this processor");
    /* Only the instructions made for it (VNNI) sum four products in 32 bits at once. */
    p->narrow_products = api->get_effective_cpu_isa() != dnnl_cpu_isa_avx2_vnni &&
                         api->get_effective_cpu_isa() != dnnl_cpu_isa_avx512_core_vnni &&
                         api->get_effective_cpu_isa() != dnnl_cpu_isa_avx512_core_bf16;
    (void)snprintf(p->library_name, sizeof p->library_name, "oneDNN %d.%d.%d, %s", version->major,
                   version->minor, version->patch, isa_text(api->get_effective_cpu_isa()));
    return ASSAY_OK;
}

/* It is set again at the begin of each run, since another engine may have run in between. */
void as_onednn_threads(const struct as_exec_plan *p, unsigned threads)
{
    struct as_onednn *lib = p->library;

    threads = threads ? threads : p->options->threads ? p->options->threads : 1;
    if (lib->set_threads && lib->threads != threads)
        lib->set_threads((int)threads);
    lib->threads = threads;
}

static void nothing(void *data)
{
    (void)data;
}

void as_onednn_hand_over(struct as_exec_plan *p)
{
    struct as_onednn *lib = p->library;

    if (lib->parallel)
        lib->parallel(nothing, NULL, p->options->threads, 0);
}

int as_onednn_open(struct as_exec_plan *p, struct assay_error *err)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    struct as_onednn *lib;
    int rc;

    if (!library)
        return as_fail(err, ASSAY_ERR_UNSUPPORTED, "%s cannot be loaded", LIBRARY);
    lib = as_alloc_zero(1, sizeof *lib);
    if (!lib)
        return as_fail_nomem(err);
    p->library = lib;
    lib->arena = &p->arena;
    (void)find(library, "omp_set_num_threads", &lib->set_threads);
    (void)find(library, "GOMP_parallel", &lib->parallel);
    as_onednn_threads(p, 0);
    rc = find_all(library, &lib->api, err);
    if (rc == ASSAY_OK)
        rc = start(lib, p, err);
    if (rc < 0)
        as_onednn_close(p);
    return rc;
}

void as_onednn_close(struct as_exec_plan *p)
{
    struct as_onednn *lib = p->library;

    if (!lib)
        return;
    if (lib->stream)
        lib->api.stream_destroy(lib->stream);
    if (lib->engine)
        lib->api.engine_destroy(lib->engine);
    as_free(lib);
    p->library = NULL;
}
