/* preload/stack_rules.h - how to leave a function, from the call frame information of its module:
 * where its caller's stack pointer, frame pointer and return address are. What is not simple is
 * refused. Nothing is allocated, locked or written; what is read is held to the module's bounds. */
#ifndef AS_PRELOAD_STACK_RULES_H
#define AS_PRELOAD_STACK_RULES_H

#include <stdbool.h>
#include <stdint.h>

/* Where the frame of the caller begins (the "CFA"): from these its return address is 8 bytes
 * down. */
enum as_unwind_cfa {
    AS_CFA_REFUSED = 0, /* a signal frame, an expression, another register: not for us */
    AS_CFA_END = 1,     /* nobody called it */
    AS_CFA_RSP = 2,     /* the stack pointer, and an offset */
    AS_CFA_RBP = 3,     /* the frame pointer, and an offset */
    AS_CFA_AT_RBP = 4   /* what is stored there: the stack was aligned */
};

/* Where the caller's frame pointer is. */
enum as_unwind_rbp { AS_RBP_KEPT = 0, AS_RBP_FROM_CFA = 1, AS_RBP_FROM_RBP = 2 };

struct as_unwind_rule {
    enum as_unwind_cfa cfa;
    enum as_unwind_rbp rbp;
    int32_t cfa_offset, rbp_offset;
};

struct as_unwind_module {
    uintptr_t start, end; /* mapped */
    uintptr_t bias;       /* of its addresses in the file */
    uintptr_t index;      /* its .eh_frame_hdr; 0: it has none */
    /* What was read of its call frame information; none when they are equal. */
    uintptr_t read_from, read_to;
};

/* The rule at that address, which is within the module. */
struct as_unwind_rule as_unwind_rule_find(struct as_unwind_module *module, uintptr_t at);

/* Gives the pages back that were mapped only to be read here: their file has them, and who needs
 * them next maps them again. */
void as_unwind_rule_forget(struct as_unwind_module *module);

#endif
