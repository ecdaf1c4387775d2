/* trace/shm/target_shm.h - the file through which an injected library tells what it sees of its
 * program. One file a process, made in the target, mapped shared and read from outside while it
 * runs and after it was killed. Whoever reads it trusts nothing in it.
 *
 *   header at 0, the matrix products' part at AS_SHM_GEMM_AT (trace/shm/gemm_shm.h), the heap's
 * at AS_SHM_HEAP_AT (trace/shm/heap_shm.h); the file is sparse */
#ifndef AS_TRACE_SHM_TARGET_SHM_H
#define AS_TRACE_SHM_TARGET_SHM_H

#include <stdatomic.h>
#include <stdint.h>

#define AS_SHM_MAGIC      0x3553595353415341ull /* of this version: another one has another */
#define AS_SHM_GEMM_AT    (64u << 10)
#define AS_SHM_GEMM_BYTES (4u << 20)
#define AS_SHM_HEAP_AT    (8u << 20)
#define AS_SHM_HEAP_BYTES (504u << 20)
#define AS_SHM_BYTES      ((uint64_t)AS_SHM_HEAP_AT + AS_SHM_HEAP_BYTES)
#define AS_SHM_MAPS_AT    4096u /* text of /proc/self/maps, taken when the process ended */
#define AS_SHM_MAPS_BYTES (AS_SHM_GEMM_AT - AS_SHM_MAPS_AT)

/* So much is mapped at first: the tables, and a few threads; more as it is needed. No more than
 * this part of a limit of the address space is, and nothing is watched where the first does not
 * fit. */
#define AS_SHM_FIRST_BYTES (32u << 20)
#define AS_SHM_LIMIT_PART  16u

/* What `assay run` tells the library, in the environment of the target. The library takes them
 * out of it again, unless children shall be followed. */
#define AS_SHM_ENV_FOLDER  "ASSAY_SHARE" /* folder for the files, mode 0700, absolute */
#define AS_SHM_ENV_OPTIONS "ASSAY_WATCH" /* words between commas: heap, stacks, gemm, follow */
#define AS_SHM_ENV_PAD     "ASSAY_PAD"   /* so that an even number of variables is taken out */

enum as_shm_state {
    AS_SHM_EMPTY = 0,
    AS_SHM_ATTACHED = 1,
    AS_SHM_ENDED = 2,  /* by exit() or a return from main */
    AS_SHM_EXECED = 3, /* the process has become another program */
    AS_SHM_QUIET = 4   /* it runs, but forbids itself system calls: nothing is counted any more */
};

#define AS_SHM_WHY_BYTES 128

struct as_shm_header {
    uint64_t magic;
    uint64_t size_bytes;
    uint64_t attached_mono_ns;
    int64_t pid, parent_pid;
    _Atomic uint32_t state;
    uint32_t watches;               /* bit by enum as_shm_watch */
    _Atomic uint32_t maps_bytes;    /* of text at AS_SHM_MAPS_AT; 0: none yet */
    _Atomic uint32_t maps_cut;      /* the text did not fit */
    _Atomic uint64_t own_bytes;     /* of this file the target touched: part of its rss, and ours */
    char program[256];              /* argv[0] as the kernel has it, cut */
    _Atomic uint64_t exit_mono_ns;  /* when it called exit() or exec; 0: neither yet */
    _Atomic uint64_t ended_mono_ns; /* when it was over or became another; 0: killed, or not yet */
    _Atomic uint64_t peak_rss_bytes;   /* VmHWM as the program ended; 0: not told */
    _Atomic uint64_t table_bytes;      /* of the table of live blocks: resident, and ours */
    _Atomic uint64_t peak_table_bytes; /* the same, when its rss was last seen to be a new peak */
    _Atomic uint64_t peak_seen_bytes;  /* that rss */
    char exec_why[AS_SHM_WHY_BYTES];   /* why it does not go along into that program; "": it does */
    _Atomic uint64_t exit_live_bytes;  /* of the heap, when it called exit() or left main */
};

enum as_shm_watch {
    AS_WATCH_HEAP = 0,
    AS_WATCH_STACKS = 1,
    AS_WATCH_GEMM = 2,
    AS_WATCH_FOLLOW = 3,
    AS_WATCH_EXEC = 4,  /* it goes along into the program that its process has become */
    AS_WATCH_LOCKED = 5 /* it is quiet since the program locked its memory under a limit */
};

/* The name of the file of a process: "<pid>.share" beneath the folder; "<pid>.<n>.share" for the
 * n-th program that a process became by exec. */
#define AS_SHM_NAME_MAX 64

#endif
