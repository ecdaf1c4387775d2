/* preload/end_of_program.h - what is written into the share when a program ends or becomes another
 * one. The functions it does that with are taken the place of, and behave as before. */
#ifndef AS_PRELOAD_END_OF_PROGRAM_H
#define AS_PRELOAD_END_OF_PROGRAM_H

#include <stdbool.h>

#include "trace/shm/target_shm.h"

/* Finds the functions that stand behind ours; before anything else is called. */
void as_shm_end_prepare(void);

/* Writes the memory map and the state, once; not from a child that shares our memory. */
void as_shm_end(enum as_shm_state state);

/* The program begins to end: by exit(), or main has returned. The first of them counts. */
void as_shm_note_exit(void);

/* Writes what will not be written later, and that nothing is counted any more. False: from a child
 * that shares our memory. */
bool as_shm_quieten(void);

/* In a forked child: it has its own end. */
void as_shm_end_forget(void);

#endif
