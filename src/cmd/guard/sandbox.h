/* cmd/guard/sandbox.h - a command that reads files from anywhere gives up what it does not need,
 * so that a model made to exploit a mistake of ours finds nothing to do. Where the kernel has
 * neither Landlock nor seccomp, nothing happens. */
#ifndef AS_CMD_GUARD_SANDBOX_H
#define AS_CMD_GUARD_SANDBOX_H

#include "cmd/common/options.h"

/* Once, before the first file is read, for commands whose `confined` says so; --no-sandbox is
 * honored. From then on the process and its threads
 * - read the files that operands and options name, what lies beside a model that may have weights
 *   in other files, the folders of the system and of this program, and what /proc has about the
 *   machine and this process;
 * - write only in folders that outputs name, in the cache folder and, where the command keeps
 *   temporary files or records a run, in the folder for that; outputs that are files are put in
 *   place by another process (output_keeper.h);
 * - start no program or process, open no socket, signal and trace no process, change no mount,
 *   namespace, user, mode or owner. docs/security.md has the full list.
 * Memory may still be made executable: kernels are compiled while the program runs. */
void as_sandbox_enter(const struct as_cmd_line *line);

#endif
