/* cmd/guard/sandbox_calls.h - the system calls that a confined command keeps, decided by seccomp.
 */
#ifndef AS_CMD_GUARD_SANDBOX_CALLS_H
#define AS_CMD_GUARD_SANDBOX_CALLS_H

#include <stdbool.h>
#include <stdint.h>

/* What a file may be given: the modes and the group of the outputs that are replaced. */
struct as_kept_modes {
    uint32_t modes; /* every bit that one of them has */
    uint32_t group; /* of one whose group is not ours */
    bool has_group;
    bool beside; /* files are looked for beside others, by openat2() */
};

/* For this thread, those it starts and those there are. Refused calls fail with EPERM, calls of
 * later kernels with ENOSYS; another architecture's calls end the program. Without seccomp nothing
 * happens. */
void as_sandbox_calls(const struct as_kept_modes *kept);

#endif
