/* cmd/guard/guards.h - what the program sets up before anything else, so that it ends without
 * harm: standard descriptors, signals that end it, limits on files, files that shrink. */
#ifndef AS_CMD_GUARD_GUARDS_H
#define AS_CMD_GUARD_GUARDS_H

/* Once, first thing in main():
 * - no file is ever opened as standard input, output or error: where one is closed, something
 *   stands in for it, which programs we start do not get;
 * - SIGINT, SIGTERM, SIGHUP and others end the program as ever, but remove its temporary files;
 * - a limit on the size of files makes a write fail, and does not end the program;
 * - a file that shrinks while it is mapped ends the program with one sentence and status 3;
 * - outputs never replace a file that was read. */
void as_guards_set(void);

/* At the end of the program, and for a signal handler that ends it itself. */
void as_guards_clean(void);

#endif
