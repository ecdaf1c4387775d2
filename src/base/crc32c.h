/* base/crc32c.h - CRC-32C (Castagnoli), by the processor's own instruction where it has one.
 * The result for one part is the seed for the next, so a checksum can be made piece by piece. */
#ifndef AS_BASE_CRC32C_H
#define AS_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* `seed` is 0 for the first part. */
uint32_t as_crc32c(uint32_t seed, const void *data, size_t size);

/* The same without the instruction; for other processors, and for the test that compares them. */
uint32_t as_crc32c_portable(uint32_t seed, const void *data, size_t size);

#endif
