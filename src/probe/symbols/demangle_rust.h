/* probe/symbols/demangle_rust.h - names of Rust functions as people write them.
 * Names come from files that nobody vouches for: depth, steps and output have limits. */
#ifndef AS_PROBE_SYMBOLS_DEMANGLE_RUST_H
#define AS_PROBE_SYMBOLS_DEMANGLE_RUST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "_RNvC6_123foo3bar" to "123foo::bar", and "_ZN3foo3bar17h0123456789abcdefE" to "foo::bar", in
 * `out`, cut where it is full and ended with NUL. False: it is no such name. */
bool as_demangle_rust(const char *name, char *out, size_t capacity);

/* ---- demangle_rust_old.c ---- */

/* Only the second kind. */
bool as_demangle_rust_old(const char *name, char *out, size_t capacity);

/* ---- punycode.c ---- */

#define AS_PUNYCODE_MAX 128u

/* How many letters there are; 0: it is no such text, or too long. Not each is one that may be
 * written. */
size_t as_punycode_decode(const char *text, size_t size, uint32_t letter[AS_PUNYCODE_MAX]);

#endif
