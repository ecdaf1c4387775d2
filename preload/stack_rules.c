/* preload/stack_rules.c - how to leave a function, from the call frame information of its module
 * (System V ABI for x86-64, DWARF 5 section 6.4, .eh_frame_hdr of the Linux Standard Base).
 *
 *   .eh_frame_hdr  version 1, three encodings, pointer to .eh_frame, count,
 *                  then sorted pairs of 32 bits: begin of a function, place of its entry
 *   entry (FDE)    size 32, distance to its common entry 32, begin, size, program
 *   common (CIE)   size 32, 0, version, augmentation, alignments, register, encodings, program */
#include "stack_rules.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cursor.h"

#define PAGE      4096u
#define MAX_SAVED 8u /* rows that a program keeps aside */
#define RBP       6u
#define RSP       7u
#define RETURN    16u /* the column of the return address */

/* Encodings of pointers: a size, and what it is counted from. */
enum {
    SIZE_NATIVE = 0x0,
    SIZE_U4 = 0x3,
    SIZE_U8 = 0x4,
    SIZE_S4 = 0xb,
    SIZE_S8 = 0xc,
    SIZE_MASK = 0xf,
    FROM_NOTHING = 0x00,
    FROM_ITSELF = 0x10,
    FROM_INDEX = 0x30,
    FROM_MASK = 0xf0,
    INDEX_TABLE = FROM_INDEX | SIZE_S4
};

struct span {
    uintptr_t from, to;
};

static struct as_cursor cursor_from(uintptr_t at, uintptr_t end)
{
    return as_cursor_over((const void *)at, end > at ? (size_t)(end - at) : 0);
}

static uintptr_t place(const struct as_cursor *c)
{
    return (uintptr_t)c->at;
}

/* ---- the module ---- */

/* The loaded, not writable segment that its index is in. */
static bool find_segment(const struct as_unwind_module *m, struct span *out)
{
    Elf64_Ehdr header = {.e_phnum = 0};
    Elf64_Phdr segment = {.p_type = PT_NULL};

    if (m->end - m->start < PAGE)
        return false;
    if (!as_unwind_read(&header, m->start, sizeof header))
        return false;
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof segment ||
        header.e_phoff > PAGE || header.e_phnum > (PAGE - header.e_phoff) / sizeof segment)
        return false;
    for (uint32_t i = 0; i < header.e_phnum; i++) {
        uintptr_t from, to;

        if (!as_unwind_read(&segment, m->start + header.e_phoff + i * sizeof segment,
                            sizeof segment))
            return false;
        from = m->bias + segment.p_vaddr;
        if (segment.p_type != PT_LOAD || from > m->index ||
            __builtin_add_overflow(from, segment.p_filesz, &to) || m->index >= to)
            continue;
        *out = (struct span){from, to};
        return from >= m->start && to <= m->end && !(segment.p_flags & PF_W);
    }
    return false;
}

/* Whether a program may have taken the page away, or closed it, is known to the kernel alone. Where
 * it does not answer (a filter of calls), memory is read as it is. */
bool as_unwind_read(void *to, uintptr_t from, size_t size)
{
    struct iovec own = {to, size}, there = {(void *)from, size}; // NOLINT(*-int-to-ptr)
    int before = errno;
    long n = syscall(SYS_process_vm_readv, syscall(SYS_getpid), &own, 1UL, &there, 1UL, 0UL);
    bool refused = n < 0 && errno != EFAULT && errno != ENOMEM;

    errno = before;
    if (refused)
        memcpy(to, (const void *)from, size);
    return refused || n == (long)size;
}

static bool can_be_read(uintptr_t at)
{
    char byte = 0;

    return as_unwind_read(&byte, at, 1);
}

/* ---- values ---- */

static bool take_signed(struct as_cursor *c, int64_t *out)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;

    do {
        if (shift > 56 || !as_take_u8(c, &byte))
            return false;
        value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    if (byte & 0x40)
        value |= UINT64_MAX << shift;
    *out = (int64_t)value;
    return true;
}

/* A number of that size, signs extended. */
static bool take_sized(struct as_cursor *c, uint8_t encoding, uint64_t *out)
{
    uint32_t word;

    switch (encoding & SIZE_MASK) {
    case SIZE_NATIVE:
    case SIZE_U8:
    case SIZE_S8:
        return as_take_u64le(c, out);
    case SIZE_U4:
    case SIZE_S4:
        if (!as_take_u32le(c, &word))
            return false;
        *out = (encoding & SIZE_MASK) == SIZE_S4 ? (uint64_t)(int64_t)(int32_t)word : word;
        return true;
    default:
        return false;
    }
}

static bool take_pointer(struct as_cursor *c, uint8_t encoding, uintptr_t *out)
{
    uintptr_t here = place(c);
    uint64_t value;

    if (!take_sized(c, encoding, &value))
        return false;
    if ((encoding & FROM_MASK) == FROM_ITSELF)
        value += here;
    else if ((encoding & FROM_MASK) != FROM_NOTHING)
        return false;
    *out = (uintptr_t)value;
    return true;
}

/* ---- entries ---- */

struct common {
    uint64_t code_unit;
    int64_t data_unit;
    uint8_t encoding; /* of addresses */
    bool is_signal;
    struct as_cursor program;
};

/* What the letters behind 'z' stand for. False: one of them is unknown. */
static bool take_augmentation(struct common *cie, const uint8_t *letter, struct as_cursor *data)
{
    uintptr_t skipped;
    uint8_t byte;

    for (; *letter; letter++) {
        if (*letter == 'R') {
            if (!as_take_u8(data, &cie->encoding))
                return false;
        } else if (*letter == 'L') {
            if (!as_take_u8(data, &byte))
                return false;
        } else if (*letter == 'P') {
            if (!as_take_u8(data, &byte) || !take_sized(data, byte, &skipped))
                return false;
        } else if (*letter == 'S') {
            cie->is_signal = true;
        } else {
            return false;
        }
    }
    return true;
}

static bool take_common(struct common *cie, struct as_cursor *c)
{
    uint8_t version;
    const uint8_t *letters, *data;
    uint64_t register_, size;

    *cie = (struct common){.encoding = SIZE_NATIVE};
    if (!as_take_u8(c, &version) || (version != 1 && version != 3))
        return false;
    letters = c->at;
    for (uint8_t byte = 1; byte;)
        if (!as_take_u8(c, &byte))
            return false;
    if (!as_take_varint(c, &cie->code_unit) || !take_signed(c, &cie->data_unit) ||
        !as_take_varint(c, &register_) || register_ != RETURN)
        return false;
    if (letters[0] == 'z') {
        struct as_cursor words;

        if (!as_take_varint(c, &size) || !as_take_bytes(c, (size_t)size, &data))
            return false;
        words = as_cursor_over(data, (size_t)size);
        if (!take_augmentation(cie, letters + 1, &words))
            return false;
    } else if (letters[0]) {
        return false;
    }
    cie->program = *c;
    return true;
}

/* An entry's or a common entry's bytes behind its size. */
static bool take_record(const struct span *segment, uintptr_t at, struct as_cursor *out)
{
    struct as_cursor c = cursor_from(at, segment->to);
    const uint8_t *bytes;
    uint32_t size;

    if (at < segment->from || at >= segment->to || !can_be_read(at) || !as_take_u32le(&c, &size) ||
        size < 4 || size > PAGE || !as_take_bytes(&c, size, &bytes) || !can_be_read(place(&c) - 1))
        return false; /* one that is larger than a page could have a hole in it */
    *out = as_cursor_over(bytes, size);
    return true;
}

struct entry {
    uintptr_t begin, end;
    struct common cie;
    struct as_cursor program;
};

static bool take_entry(const struct span *segment, uintptr_t at, struct entry *out)
{
    struct as_cursor c, common;
    const uint8_t *skipped;
    uint32_t distance, zero;
    uint64_t size, more;
    uintptr_t here;

    if (!take_record(segment, at, &c))
        return false;
    here = place(&c);
    if (!as_take_u32le(&c, &distance) || distance == 0 || distance > here - segment->from ||
        !take_record(segment, here - distance, &common) || !as_take_u32le(&common, &zero) ||
        zero != 0 || !take_common(&out->cie, &common))
        return false;
    if (!take_pointer(&c, out->cie.encoding, &out->begin) ||
        !take_sized(&c, out->cie.encoding & SIZE_MASK, &size) || !as_take_varint(&c, &more) ||
        !as_take_bytes(&c, (size_t)more, &skipped))
        return false;
    out->end = out->begin + size;
    out->program = c;
    return true;
}

/* The place of the entry that begins last at or before `at`; 0: there is none. False: the index is
 * not as linkers write it. */
static bool look_up(const struct as_unwind_module *m, const struct span *segment, uintptr_t at,
                    uintptr_t *out)
{
    struct as_cursor c = cursor_from(m->index, segment->to);
    uint8_t version, frame, count, table;
    uint32_t low = 0, high;
    uint64_t n;
    uintptr_t skipped;

    if (!can_be_read(m->index) || !as_take_u8(&c, &version) || !as_take_u8(&c, &frame) ||
        !as_take_u8(&c, &count) || !as_take_u8(&c, &table) || version != 1 ||
        table != INDEX_TABLE || count != SIZE_U4 || !take_pointer(&c, frame, &skipped) ||
        !take_sized(&c, count, &n) || n > as_cursor_left(&c) / 8)
        return false;
    for (high = (uint32_t)n; low < high;) {
        uint32_t middle = low + (high - low) / 2;
        int32_t begin = 0;

        if (!as_unwind_read(&begin, place(&c) + (size_t)middle * 8, sizeof begin))
            return false;
        if (m->index + (uintptr_t)(intptr_t)begin <= at)
            low = middle + 1;
        else
            high = middle;
    }
    *out = 0;
    if (low > 0) {
        int32_t where = 0;

        if (!as_unwind_read(&where, place(&c) + ((size_t)low - 1) * 8 + 4, sizeof where))
            return false;
        *out = m->index + (uintptr_t)(intptr_t)where;
    }
    return true;
}

/* ---- programs ---- */

enum saved { SAVED_SAME, SAVED_FROM_CFA, SAVED_FROM_RBP, SAVED_NOWHERE, SAVED_OTHERWISE };

struct column {
    enum saved how;
    int64_t offset;
};

struct row {
    enum { CFA_OF_REGISTER, CFA_STORED, CFA_OTHER } cfa;
    uint64_t cfa_register;
    int64_t cfa_offset;
    struct column rbp, back;
};

struct machine {
    const struct common *cie;
    struct row row, first; /* first: as the common entry leaves it */
    struct row kept[MAX_SAVED];
    uint32_t n_kept;
    uintptr_t at;
};

static void set_column(struct machine *x, uint64_t number, struct column c)
{
    if (number == RBP)
        x->row.rbp = c;
    else if (number == RETURN)
        x->row.back = c;
}

static void restore_column(struct machine *x, uint64_t number)
{
    set_column(x, number, number == RBP ? x->first.rbp : x->first.back);
}

/* "The frame pointer and an offset", then with `stored` "what is there"; false: something else. */
static bool is_from_rbp(const uint8_t *bytes, size_t size, bool stored, int64_t *offset)
{
    struct as_cursor c = as_cursor_over(bytes, size);
    uint8_t op;

    if (!as_take_u8(&c, &op) || op != 0x76 || !take_signed(&c, offset))
        return false;
    if (stored && (!as_take_u8(&c, &op) || op != 0x06))
        return false;
    return as_cursor_left(&c) == 0;
}

static bool take_expression(struct machine *x, struct as_cursor *c, bool of_cfa, bool value)
{
    uint64_t number = 0, size;
    const uint8_t *bytes;
    int64_t offset = 0;

    if ((!of_cfa && !as_take_varint(c, &number)) || !as_take_varint(c, &size) ||
        !as_take_bytes(c, (size_t)size, &bytes))
        return false;
    if (of_cfa) {
        x->row.cfa = is_from_rbp(bytes, (size_t)size, true, &offset) ? CFA_STORED : CFA_OTHER;
        x->row.cfa_offset = offset;
    } else if (!value && is_from_rbp(bytes, (size_t)size, false, &offset)) {
        set_column(x, number, (struct column){SAVED_FROM_RBP, offset});
    } else {
        set_column(x, number, (struct column){.how = SAVED_OTHERWISE});
    }
    return true;
}

/* Codes of DWARF that say where the frame of the caller begins. 1: it was one, 0: it was not. */
static int take_cfa(struct machine *x, struct as_cursor *c, uint8_t op)
{
    struct row *row = &x->row;
    uint64_t offset;

    switch (op) {
    case 0x0c: /* register and offset */
        row->cfa = CFA_OF_REGISTER;
        if (!as_take_varint(c, &row->cfa_register) || !as_take_varint(c, &offset))
            return -1;
        row->cfa_offset = (int64_t)offset;
        return 1;
    case 0x0d: /* register */
        row->cfa = CFA_OF_REGISTER;
        return as_take_varint(c, &row->cfa_register) ? 1 : -1;
    case 0x0e: /* offset */
        if (!as_take_varint(c, &offset))
            return -1;
        row->cfa_offset = (int64_t)offset;
        return 1;
    case 0x12: /* register, offset in units */
        row->cfa = CFA_OF_REGISTER;
        if (!as_take_varint(c, &row->cfa_register) || !take_signed(c, &row->cfa_offset))
            return -1;
        return __builtin_mul_overflow(row->cfa_offset, x->cie->data_unit, &row->cfa_offset) ? -1
                                                                                            : 1;
    case 0x13: /* offset in units */
        if (!take_signed(c, &row->cfa_offset))
            return -1;
        return __builtin_mul_overflow(row->cfa_offset, x->cie->data_unit, &row->cfa_offset) ? -1
                                                                                            : 1;
    case 0x0f: /* expression */
        return take_expression(x, c, true, false) ? 1 : -1;
    default:
        return 0;
    }
}

static bool take_offset(struct machine *x, struct as_cursor *c, uint64_t number, bool is_signed)
{
    uint64_t units = 0;
    int64_t offset = 0;

    if (is_signed ? !take_signed(c, &offset) : !as_take_varint(c, &units))
        return false;
    if (!is_signed)
        offset = (int64_t)units;
    if (__builtin_mul_overflow(offset, x->cie->data_unit, &offset))
        return false;
    set_column(x, number, (struct column){SAVED_FROM_CFA, offset});
    return true;
}

/* Those that say where a register is. */
static int take_column(struct machine *x, struct as_cursor *c, uint8_t op)
{
    uint64_t number, other;

    switch (op) {
    case 0x05: /* offset */
    case 0x11: /* signed */
        return as_take_varint(c, &number) && take_offset(x, c, number, op == 0x11) ? 1 : -1;
    case 0x06: /* as at first */
    case 0x07: /* nowhere */
    case 0x08: /* the same */
        if (!as_take_varint(c, &number))
            return -1;
        if (op == 0x06)
            restore_column(x, number);
        else
            set_column(x, number, (struct column){op == 0x07 ? SAVED_NOWHERE : SAVED_SAME, 0});
        return 1;
    case 0x09: /* in another register */
    case 0x14: /* a value */
    case 0x15:
        if (!as_take_varint(c, &number) || !as_take_varint(c, &other))
            return -1;
        set_column(x, number, (struct column){.how = SAVED_OTHERWISE});
        return 1;
    case 0x10: /* expression: where it is; 0x16: what it is */
    case 0x16:
        return take_expression(x, c, false, op == 0x16) ? 1 : -1;
    default:
        return 0;
    }
}

static bool keep_row(struct machine *x)
{
    if (x->n_kept == MAX_SAVED)
        return false;
    x->kept[x->n_kept++] = x->row;
    return true;
}

static bool take_back_row(struct machine *x)
{
    if (x->n_kept == 0)
        return false;
    x->row = x->kept[--x->n_kept];
    return true;
}

/* The rest: places in the code, and rows kept aside. */
static bool take_other(struct machine *x, struct as_cursor *c, uint8_t op)
{
    uint64_t units = 0;
    uint32_t four;
    uint16_t two;
    uint8_t one;

    switch (op) {
    case 0x00: /* nothing */
        return true;
    case 0x02:
        if (!as_take_u8(c, &one))
            return false;
        x->at += one * x->cie->code_unit;
        return true;
    case 0x03:
        if (!as_take_u16le(c, &two))
            return false;
        x->at += two * x->cie->code_unit;
        return true;
    case 0x04:
        if (!as_take_u32le(c, &four))
            return false;
        x->at += four * x->cie->code_unit;
        return true;
    case 0x0a:
        return keep_row(x);
    case 0x0b:
        return take_back_row(x);
    case 0x2e: /* the size of arguments */
        return as_take_varint(c, &units);
    default:
        return false;
    }
}

/* Up to the row that holds at `until`. */
static bool run(struct machine *x, struct as_cursor c, uintptr_t until)
{
    uint8_t op;

    while (x->at <= until && as_take_u8(&c, &op)) {
        uint8_t low = op & 0x3f;
        int taken = 1;

        if (op >> 6 == 1)
            x->at += low * x->cie->code_unit;
        else if (op >> 6 == 2)
            taken = take_offset(x, &c, low, false) ? 1 : -1;
        else if (op >> 6 == 3)
            restore_column(x, low);
        else if ((taken = take_cfa(x, &c, op)) == 0 && (taken = take_column(x, &c, op)) == 0)
            taken = take_other(x, &c, op) ? 1 : -1;
        if (taken < 0)
            return false;
    }
    return true;
}

static struct as_unwind_rule rule_of(const struct row *row)
{
    static const struct as_unwind_rule refused = {.cfa = AS_CFA_REFUSED};
    struct as_unwind_rule rule = {.cfa = AS_CFA_END};

    if (row->back.how == SAVED_NOWHERE)
        return rule;
    if (row->back.how != SAVED_FROM_CFA || row->back.offset != -8 ||
        row->cfa_offset > INT32_MAX / 2 || row->cfa_offset < INT32_MIN / 2 ||
        row->rbp.offset > INT32_MAX / 2 || row->rbp.offset < INT32_MIN / 2 ||
        row->rbp.how == SAVED_OTHERWISE)
        return refused;
    if (row->cfa == CFA_STORED)
        rule.cfa = AS_CFA_AT_RBP;
    else if (row->cfa == CFA_OF_REGISTER && row->cfa_register == RSP)
        rule.cfa = AS_CFA_RSP;
    else if (row->cfa == CFA_OF_REGISTER && row->cfa_register == RBP)
        rule.cfa = AS_CFA_RBP;
    else
        return refused;
    rule.cfa_offset = (int32_t)row->cfa_offset;
    rule.rbp = row->rbp.how == SAVED_FROM_CFA   ? AS_RBP_FROM_CFA
               : row->rbp.how == SAVED_FROM_RBP ? AS_RBP_FROM_RBP
                                                : AS_RBP_KEPT;
    rule.rbp_offset = (int32_t)row->rbp.offset;
    return rule;
}

struct as_unwind_rule as_unwind_rule_find(const struct as_unwind_module *m, uintptr_t at)
{
    static const struct as_unwind_rule refused = {.cfa = AS_CFA_REFUSED}, end = {.cfa = AS_CFA_END},
                                       signal = {.cfa = AS_CFA_SIGNAL};
    struct machine x = {.n_kept = 0};
    struct span segment;
    struct entry entry;
    uintptr_t where;

    if (!m->index)
        return end;
    if (!find_segment(m, &segment) || !look_up(m, &segment, at, &where))
        return refused;
    if (!where)
        return end;
    if (!take_entry(&segment, where, &entry))
        return refused;
    if (at < entry.begin || at >= entry.end)
        return end;
    if (entry.cie.is_signal)
        return signal;
    x.cie = &entry.cie;
    x.row.cfa = CFA_OTHER;
    if (!run(&x, entry.cie.program, UINTPTR_MAX))
        return refused;
    x.first = x.row;
    x.at = entry.begin;
    x.n_kept = 0;
    return run(&x, entry.program, at) ? rule_of(&x.row) : refused;
}
