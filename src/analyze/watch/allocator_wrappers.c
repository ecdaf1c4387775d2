/* analyze/watch/allocator_wrappers.c - functions that allocate for whoever calls them, by name: the
 * C library's, those that end the program without memory, containers and strings of C++ and Rust,
 * allocators of GLib, CPython, PyTorch and others. */
#include "analyze/watch/allocator_wrappers.h"

#include <string.h>

#include "base/units.h"

/* Names of C, with what their libraries put around them: each of the second list after each of the
 * first. */
static const char *const before_c[] = {
    "",          "x",         "__",           "__libc_",    "__GI___libc_", "g_",
    "g_try_",    "do_x",      "ruby_x",       "rb_",        "_e",           "av_",
    "mkl_",      "je_",       "mi_",          "tc_",        "xx",           "safe_",
    "checked_",  "my_",       "Perl_safesys", "CRYPTO_",    "OPENSSL_",     "PyMem_",
    "PyMem_Raw", "PyObject_", "_PyMem_Raw",   "_PyObject_", "_PyMem_Debug", "_PyMem_DebugRaw",
    "av_fast_",  "z",         "ztry",         "__zend_"};
static const char *const names_c[] = {
    "malloc",  "malloc0",  "malloc_n",      "malloc0_n", "malloc2",       "mallocz",
    "calloc",  "calloc_n", "realloc",       "realloc_n", "realloc2",      "reallocarray",
    "zalloc",  "memalign", "aligned_alloc", "alloc",     "valloc",        "strdup",
    "strndup", "memdup",   "memdup2",       "Malloc",    "Calloc",        "Realloc",
    "nmalloc", "nrealloc", "malloc_array",  "dup_str",   "posix_memalign"};

/* Whole names. */
static const char *const names[] = {
    /* C */
    "strdup", "strndup", "asprintf", "vasprintf", "x2realloc", "x2nrealloc", "xcharalloc",
    "_obstack_begin", "_obstack_newchunk", "g_slice_alloc", "g_slice_alloc0", "g_strdup_printf",
    "g_strdup_vprintf", "luaM_malloc_", "luaM_realloc_", "l_alloc", "sqlite3Malloc",
    "sqlite3MemMalloc", "sqlite3_malloc", "sqlite3_malloc64", "sqlite3DbMallocRaw",
    "zmalloc_usable", "ztrymalloc_usable", "ztrymalloc_usable_internal", "sqlite3DbMallocRawNN",
    "sqlite3DbMallocZero", "sqlite3Realloc", "sqlite3_realloc64",
    /* CPython, NumPy */
    "pymalloc_alloc", "allocate_from_new_pool", "new_arena", "_PyObject_GC_Alloc",
    "_PyObject_GC_Malloc", "_PyObject_GC_New", "_PyObject_GC_NewVar", "_PyObject_New",
    "_PyObject_NewVar", "_PyObject_GC_Resize", "PyType_GenericAlloc", "_PyType_AllocNoTrack",
    "gc_alloc", "_PyObject_Malloc", "_PyMem_ArenaAlloc", "PyDataMem_NEW", "PyDataMem_NEW_ZEROED",
    "PyDataMem_RENEW", "PyDataMem_UserNEW", "PyDataMem_UserNEW_ZEROED", "PyDataMem_UserRENEW",
    "npy_alloc_cache", "npy_alloc_cache_zero", "default_malloc", "default_calloc",
    "default_realloc",
    /* PyTorch */
    "c10::alloc_cpu", "c10::DefaultCPUAllocator::allocate",
    "c10::DefaultMobileCPUAllocator::allocate", "c10::StorageImpl::StorageImpl",
    "at::detail::empty_generic", "at::detail::_empty_generic", "at::detail::empty_cpu",
    "at::detail::empty_strided_generic", "at::detail::empty_strided_cpu",
    /* Rust */
    "__rust_alloc", "__rust_alloc_zeroed", "__rust_realloc", "__rdl_alloc", "__rdl_alloc_zeroed",
    "__rdl_realloc", "__rg_alloc", "__rg_alloc_zeroed", "__rg_realloc",
    /* C++ */
    "std::make_shared", "std::make_unique", "std::allocate_shared", "std::to_string",
    "std::__cxx11::to_string"};

/* What names begin with, without arguments of templates and functions. */
static const char *const beginnings[] = {"std::_",
                                         "__gnu_cxx::",
                                         "std::allocator",
                                         "std::vector::",
                                         "std::deque::",
                                         "std::list::",
                                         "std::map::",
                                         "std::multimap::",
                                         "std::set::",
                                         "std::multiset::",
                                         "std::unordered_map::",
                                         "std::unordered_multimap::",
                                         "std::unordered_set::",
                                         "std::basic_string::",
                                         "std::string::",
                                         "std::__cxx11::basic_string::",
                                         "std::__cxx11::list::",
                                         "std::function::",
                                         "std::shared_ptr::",
                                         "std::pmr::",
                                         "at::detail::empty",
                                         "at::native::empty",
                                         "at::_ops::empty",
                                         "c10::intrusive_ptr",
                                         "c10::make_intrusive"};

/* What names of Rust begin with as they stand: types stand before their functions. */
static const char *const rust[] = {
    "alloc::",     "<alloc::",     "std::alloc::",         "<std::alloc::",
    "hashbrown::", "<hashbrown::", "__rustc::__rust_alloc"};

/* Libraries that allocate for others: so do their functions without a name. */
static const char *const modules[] = {"libc10.so", "libjemalloc.so", "libtcmalloc", "libmimalloc"};

static bool is_one_of(const char *name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (list[i][0] == name[0] && strcmp(list[i], name) == 0)
            return true;
    return false;
}

static bool begins_with_one_of(const char *name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strncmp(name, list[i], strlen(list[i])) == 0)
            return true;
    return false;
}

static bool is_of_c(const char *name)
{
    for (size_t i = 0; i < AS_COUNT_OF(before_c); i++) {
        size_t n = strlen(before_c[i]);

        if (strncmp(name, before_c[i], n) == 0 &&
            is_one_of(name + n, names_c, AS_COUNT_OF(names_c)))
            return true;
    }
    return false;
}

void as_plain_function_name(const char *function, char out[AS_PLAIN_NAME])
{
    size_t n = 0;
    unsigned depth = 0;

    for (const char *c = function; *c && n + 1 < AS_PLAIN_NAME; c++) {
        if (*c == '<') {
            depth++;
        } else if (*c == '>' && depth > 0) {
            depth--;
        } else if (depth > 0) {
            continue;
        } else if (*c == '(' && strncmp(c, "(anonymous namespace)", 21) != 0) {
            break;
        } else if (*c == ' ' && strncmp(c, " namespace)", 11) != 0) {
            n = 0; /* what it returns stood there */
        } else {
            out[n++] = *c;
        }
    }
    out[n] = '\0';
}

/* What containers and iterators are made of: code that is compiled into whoever uses it. */
static bool is_of_a_standard_library(const char *file)
{
    return file && (strstr(file, "/include/c++/") ||
                    (strncmp(file, "/rustc/", 7) == 0 &&
                     (strstr(file, "/library/alloc/") || strstr(file, "/library/core/"))));
}

bool as_is_allocator_wrapper(const char *function, const char *module, const char *file)
{
    char name[AS_PLAIN_NAME];

    if (!function || !function[0])
        return module && begins_with_one_of(module, modules, AS_COUNT_OF(modules));
    if (strncmp(function, "operator new", 12) == 0 || is_of_a_standard_library(file) ||
        begins_with_one_of(function, rust, AS_COUNT_OF(rust)))
        return true;
    as_plain_function_name(function, name);
    return is_one_of(name, names, AS_COUNT_OF(names)) || is_of_c(name) ||
           begins_with_one_of(name, beginnings, AS_COUNT_OF(beginnings));
}
