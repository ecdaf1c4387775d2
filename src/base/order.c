/* base/order.c - rows of any kind in the order of a key. */
#include "base/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct ordering {
    as_order_key_of key;
    const void *user;
};

static int compare(const void *a, const void *b, void *user)
{
    const struct ordering *o = user;
    struct as_order_key x = o->key(a, o->user), y = o->key(b, o->user);
    int by_text = x.text && y.text ? strcmp(x.text, y.text) : 0;

    if (isnan(x.number) != isnan(y.number))
        return isnan(x.number) ? 1 : -1;
    if (x.number > y.number || x.number < y.number)
        return x.number > y.number ? -1 : 1;
    if (by_text)
        return by_text;
    return x.place < y.place ? -1 : x.place > y.place;
}

void as_order_sort(void *rows, size_t n, size_t size, as_order_key_of key, const void *user)
{
    struct ordering o = {key, user};

    if (n > 1)
        qsort_r(rows, n, size, compare, &o);
}
