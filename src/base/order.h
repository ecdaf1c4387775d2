/* base/order.h - rows of any kind in the order of a key: the one sorter of lists that people see.
 */
#ifndef AS_BASE_ORDER_H
#define AS_BASE_ORDER_H

#include <stddef.h>

/* Compared in this order: the number, largest first, NaN last; the text, where both have one; the
 * place the row had before. */
struct as_order_key {
    double number;
    const char *text;
    size_t place;
};

typedef struct as_order_key (*as_order_key_of)(const void *row, const void *user);

/* Sorts `n` rows of `size` bytes. Keys of all rows must differ at least in `place` for the order to
 * be always the same. */
void as_order_sort(void *rows, size_t n, size_t size, as_order_key_of key, const void *user);

#endif
