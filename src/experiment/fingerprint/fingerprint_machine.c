/* experiment/fingerprint/fingerprint_machine.c - the facts of a fingerprint that the machine itself
 * tells. What cannot be had is unknown, with the reason, and no failure. */
#include <assay/experiment/fingerprint.h>

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <openssl/crypto.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text/utf8.h"
#include "base/units.h"
#include "engine/onednn/onednn_api.h"
#include "probe/system/root_file.h"
#include "probe/system/topology.h"

#ifdef __clang__
#define COMPILER "clang " __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

/* Told by the build. */
#ifndef ASSAY_COMPILER_FLAGS
#define ASSAY_COMPILER_FLAGS ""
#endif

struct facts {
    struct assay_fingerprint *to;
    struct assay_error *err;
    int rc; /* the first failure */
};

/* An empty text is an unknown one; so is one that is not UTF-8, for it could not be hashed. */
static void text(struct facts *f, const char *key, const char *value, const char *why)
{
    if (f->rc < 0)
        return;
    if (value && value[0] && !as_utf8_valid(value, strlen(value)))
        why = "its text is not UTF-8";
    else if (value && value[0])
        why = NULL;
    if (why)
        f->rc = assay_fingerprint_set_unknown(f->to, key, why, ASSAY_FACT_CIRCUMSTANCE, f->err);
    else
        f->rc = assay_fingerprint_set_text(f->to, key, value, ASSAY_FACT_CIRCUMSTANCE, f->err);
}

static void number(struct facts *f, const char *key, uint64_t value)
{
    if (f->rc == ASSAY_OK)
        f->rc = assay_fingerprint_set_u64(f->to, key, value, ASSAY_FACT_CIRCUMSTANCE, f->err);
}

static void put_host(struct facts *f)
{
    char name[256] = "";

    if (gethostname(name, sizeof name - 1) != 0)
        name[0] = '\0';
    text(f, "host", name, "the system does not report its name");
}

/* PRETTY_NAME="Debian GNU/Linux 12": without the quotes. */
static void put_os(struct facts *f)
{
    static const char key[] = "PRETTY_NAME=";
    char all[4096], name[256] = "";
    const char *at = NULL;

    if (as_root_read("", "/etc/os-release", all, sizeof all)) {
        at = strncmp(all, key, sizeof key - 1) == 0 ? all : strstr(all, "\nPRETTY_NAME=");
        at = at ? strchr(at, '=') + 1 : NULL;
    }
    if (at) {
        at += *at == '"';
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "\"\n"), at);
    }
    text(f, "os", name, "/etc/os-release does not report it");
}

/* Only if the program has it loaded already: asking must not load it. */
static void put_onednn(struct facts *f)
{
    static const char *const names[] = {"libdnnl.so.2", "libdnnl.so.3"};
    const dnnl_version_t *(*version)(void) = NULL;
    char name[64] = "";
    void *library = NULL;

    for (size_t i = 0; !library && i < AS_COUNT_OF(names); i++)
        library = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD);
    if (library) {
        void *at = dlsym(library, "dnnl_version");

        memcpy(&version, &at, sizeof at);
        if (version)
            (void)snprintf(name, sizeof name, "%d.%d.%d", version()->major, version()->minor,
                           version()->patch);
        dlclose(library);
    }
    text(f, "library_onednn", name, "it is not loaded");
}

static void put_machine(struct facts *f, const struct as_topology *t)
{
    const char *governor_why = t->frequency.governor_why;

    text(f, "cpu_model", t->cpu.model, "the kernel does not report it");
    text(f, "kernel_isa", as_isa_name(t->isa.effective), NULL);
    text(f, "kernel_isa_capped_by", t->isa.capped_by, "nothing caps it");
    number(f, "cores", t->n_cores);
    number(f, "threads", t->n_threads);
    text(f, "kernel", t->kernel, "the kernel does not report its release");
    text(f, "governor", t->frequency.governor,
         governor_why ? governor_why : "the kernel does not report it");
}

static void put_no_machine(struct facts *f, const char *why)
{
    static const char *const keys[] = {"cpu_model", "kernel_isa", "kernel_isa_capped_by",
                                       "cores",     "threads",    "kernel",
                                       "governor"};

    for (size_t i = 0; i < AS_COUNT_OF(keys); i++)
        text(f, keys[i], NULL, why);
}

int assay_fingerprint_machine(struct assay_fingerprint *fingerprint, struct assay_error *err)
{
    struct facts f = {.to = fingerprint, .err = err};
    struct as_topology topology;
    struct assay_error told = {0};
    int rc;

    if (!fingerprint)
        return as_fail(err, ASSAY_ERR_USAGE, "there is no fingerprint to add the machine to");
    rc = as_topology_read(&topology, NULL, &told);
    if (rc == ASSAY_ERR_NOMEM)
        return as_fail_nomem(err);
    if (rc == ASSAY_OK)
        put_machine(&f, &topology);
    else
        put_no_machine(&f, told.msg);
    put_host(&f);
    put_os(&f);
    text(&f, "assay_version", ASSAY_VERSION, NULL);
    text(&f, "assay_compiler", COMPILER, NULL);
    text(&f, "assay_compiler_flags", ASSAY_COMPILER_FLAGS, "the build did not record it");
    text(&f, "library_libc", gnu_get_libc_version(), "it does not report it");
    text(&f, "library_openssl", OpenSSL_version(OPENSSL_VERSION), "it does not report it");
    put_onednn(&f);
    return f.rc;
}
