/* preload/stack_rules.h - how to leave a function, from the call frame information of its module:
 * where its caller's stack pointer, frame pointer and return address are. What is not simple is
 * refused. Nothing is allocated, locked or written; what is read is held to the module's bounds. */
#ifndef AS_PRELOAD_STACK_RULES_H
#define AS_PRELOAD_STACK_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the frame of the caller begins (the "CFA"): from these its return address is 8 bytes
 * down. */
enum as_unwind_cfa {
    AS_CFA_REFUSED = 0, /* an expression, another register: not for us */
    AS_CFA_END = 1,     /* nobody called it */
    AS_CFA_RSP = 2,     /* the stack pointer, and an offset */
    AS_CFA_RBP = 3,     /* the frame pointer, and an offset */
    AS_CFA_AT_RBP = 4,  /* what is stored there: the stack was aligned */
    AS_CFA_SIGNAL = 5   /* the system called it: what it put on the stack says where */
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
};

/* The rule at that address, which is within the module. */
struct as_unwind_rule as_unwind_rule_find(const struct as_unwind_module *module, uintptr_t at);

/* Copies what is at `from`, wherever that points. False: it cannot be read. */
bool as_unwind_read(void *to, uintptr_t from, size_t size);

#endif
