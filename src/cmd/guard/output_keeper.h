/* cmd/guard/output_keeper.h - a process that keeps the right to put the outputs of a confined
 * command in place. It knows their names from before, learns from the command only which one is
 * complete, and does nothing else; it ends when the command does, and removes what was not
 * completed. So the folders of outputs need not be given to the command. */
#ifndef AS_CMD_GUARD_OUTPUT_KEEPER_H
#define AS_CMD_GUARD_OUTPUT_KEEPER_H

#include <stdbool.h>
#include <sys/types.h>

/* Opens the file that is to stand at `path`. False: the command has to do that itself. */
bool as_output_keep(const char *path);

/* The same for a recorded run. `temp` gets the name it has until it is complete, for good. */
bool as_output_keep_run(const char *path, const char **temp);

/* Makes a folder for outputs, of that mode. At the end it is removed if it is empty and was not
 * there. */
void as_output_keep_folder(const char *path, mode_t mode);

/* A folder for temporary files, to be removed with what lies in it. */
void as_output_keep_temporary(const char *path);

/* Once, after these. False: there is no such process to be had, and nothing is kept. */
bool as_output_keeper_start(void);

/* Ends it and waits until it has ended. For signal handlers too. */
void as_output_keeper_end(void);

#endif
