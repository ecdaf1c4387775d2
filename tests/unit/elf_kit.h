/* tests/unit/elf_kit.h - small ELF files made by hand.
 * Layout: header, one loaded segment over the whole file at `base`, notes, sections. */
#ifndef AS_TESTS_ELF_KIT_H
#define AS_TESTS_ELF_KIT_H

#include <string.h>

#include "base/buffer.h"

struct elf_kit_symbol {
    const char *name;
    uint64_t start, size;
    uint8_t type;     /* 0: a function */
    uint16_t section; /* 0: section 1 */
};

struct elf_kit {
    uint64_t base; /* address of the first byte of the file */
    const struct elf_kit_symbol *symbols;
    size_t n_symbols;
    bool dynamic; /* they stand in .dynsym, not in .symtab */
    const char *build_id, *debug_link;
};

static inline void elf_put(struct as_buffer *b, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        uint8_t byte = (uint8_t)(i < 8 ? value >> (8 * i) : 0);

        (void)as_buffer_add(b, &byte, 1);
    }
}

static inline void elf_set(struct as_buffer *b, size_t at, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        b->data[at + i] = (uint8_t)(value >> (8 * i));
}

static inline void elf_section(struct as_buffer *b, uint32_t name, uint32_t type, size_t at,
                               size_t size, uint32_t link)
{
    elf_put(b, name, 4);
    elf_put(b, type, 4);
    elf_put(b, 0, 8);
    elf_put(b, 0, 8);
    elf_put(b, at, 8);
    elf_put(b, size, 8);
    elf_put(b, link, 4);
    elf_put(b, 0, 4);
    elf_put(b, 1, 8);
    elf_put(b, type == 2 || type == 11 ? 24 : 0, 8);
}

static inline void elf_segment(struct as_buffer *b, uint32_t type, uint64_t at, uint64_t address,
                               uint64_t size)
{
    elf_put(b, type, 4);
    elf_put(b, 5, 4);
    elf_put(b, at, 8);
    elf_put(b, address, 8);
    elf_put(b, address, 8);
    elf_put(b, size, 8);
    elf_put(b, size, 8);
    elf_put(b, 4096, 8);
}

#define ELF_KIT_SIZE   0x10000u /* bytes that are loaded: addresses base to base + this */
#define ELF_KIT_LOAD   64u      /* where the segment's header is */
#define ELF_KIT_TABLES 0x10000u

/* The caller frees the buffer. */
static inline struct as_buffer elf_kit_make(const struct elf_kit *kit)
{
    static const char names[] = "\0.gnu_debuglink";
    size_t id = kit->build_id ? strlen(kit->build_id) : 0, note, strings, symbols, link, sections;
    struct as_buffer b = {0};

    elf_put(&b, 0x464c457f, 4);
    elf_put(&b, 0x010102, 12);
    elf_put(&b, 3 | 62u << 16, 4);
    elf_put(&b, 1, 4);
    elf_put(&b, 0, 8);
    elf_put(&b, 64, 8);
    elf_put(&b, 0, 8); /* sections, set below */
    elf_put(&b, 0, 4);
    elf_put(&b, 64 | 56u << 16, 4);
    elf_put(&b, 2 | 64u << 16, 4);
    elf_put(&b, 5 | 4u << 16, 4);
    elf_segment(&b, 1, 0, kit->base, ELF_KIT_SIZE);
    note = b.size + 56;
    elf_segment(&b, 4, note, note, id ? 16 + ((id + 3) & ~(size_t)3) : 0);
    if (id) {
        elf_put(&b, 4, 4);
        elf_put(&b, id, 4);
        elf_put(&b, 3, 4);
        (void)as_buffer_add(&b, "GNU", 4);
        (void)as_buffer_add(&b, kit->build_id, id);
    }
    while (b.size < ELF_KIT_TABLES)
        elf_put(&b, 0x90, 1);
    strings = b.size;
    elf_put(&b, 0, 1);
    for (size_t i = 0; i < kit->n_symbols; i++)
        (void)as_buffer_add(&b, kit->symbols[i].name, strlen(kit->symbols[i].name) + 1);
    symbols = b.size;
    for (size_t i = 0, at = 1; i < kit->n_symbols; i++) {
        const struct elf_kit_symbol *s = &kit->symbols[i];

        elf_put(&b, at, 4);
        elf_put(&b, 0x10u | (s->type ? s->type : 2u), 1);
        elf_put(&b, 0, 1);
        elf_put(&b, s->section ? s->section : 1u, 2);
        elf_put(&b, s->start, 8);
        elf_put(&b, s->size, 8);
        at += strlen(s->name) + 1;
    }
    link = b.size;
    if (kit->debug_link)
        (void)as_buffer_add(&b, kit->debug_link, strlen(kit->debug_link) + 1);
    sections = b.size;
    elf_set(&b, 40, sections + sizeof names, 8);
    (void)as_buffer_add(&b, names, sizeof names);
    elf_section(&b, 0, 0, 0, 0, 0);
    elf_section(&b, 0, kit->dynamic ? 11 : 2, symbols, link - symbols, 2);
    elf_section(&b, 0, 3, strings, symbols - strings, 0);
    elf_section(&b, kit->debug_link ? 1 : 0, 1, link, sections - link, 0);
    elf_section(&b, 0, 3, sections, sizeof names, 0);
    return b;
}

#endif
