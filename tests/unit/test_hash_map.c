/* tests/unit/test_hash_map.c - names to numbers: what is put is found, once, whatever the names. */
#include <stdio.h>

#include "unit.h"

#include "base/hash_map.h"

static void an_empty_map_finds_nothing(void **state)
{
    struct as_hash_map map = {0};

    (void)state;
    assert_null(as_hash_map_find(&map, "a", 1));
    assert_int_equal(as_hash_map_bytes(&map), 0);
    assert_true(as_hash_map_growth(&map) > 0);
    as_hash_map_fini(&map);
}

static void a_name_is_put_once(void **state)
{
    struct as_hash_map map = {0};

    (void)state;
    assert_int_equal(as_hash_map_put(&map, "conv1", 5, 7), 1);
    assert_int_equal(as_hash_map_put(&map, "conv1", 5, 8), 0);
    assert_int_equal(*as_hash_map_find(&map, "conv1", 5), 7);
    *as_hash_map_find(&map, "conv1", 5) = 9;
    assert_int_equal(*as_hash_map_find(&map, "conv1", 5), 9);
    assert_null(as_hash_map_find(&map, "conv", 4));
    assert_int_equal(as_hash_map_put(&map, "conv1", 4, 1), 1); /* "conv": not ended by NUL */
    assert_int_equal(as_hash_map_put(&map, "", 0, 2), 1);
    assert_int_equal(as_hash_map_put(&map, "a\0b", 3, 3), 1);
    assert_int_equal(as_hash_map_put(&map, "a\0c", 3, 4), 1);
    assert_int_equal(*as_hash_map_find(&map, "a\0c", 3), 4);
    assert_int_equal(map.n, 5);
    as_hash_map_fini(&map);
    as_hash_map_fini(&map);
}

static void many_names_are_all_found(void **state)
{
    enum { N = 100000 };
    static char names[N][12];
    struct as_hash_map map = {0};
    size_t grown = 0;

    (void)state;
    for (int i = 0; i < N; i++) {
        size_t size = (size_t)snprintf(names[i], sizeof names[i], "t%d", i);
        size_t growth = as_hash_map_growth(&map), before = as_hash_map_bytes(&map);

        assert_int_equal(as_hash_map_put(&map, names[i], size, (uint64_t)i), 1);
        if (as_hash_map_bytes(&map) != before) {
            assert_int_equal(growth, as_hash_map_bytes(&map));
            grown++;
        } else {
            assert_int_equal(growth, 0);
        }
    }
    assert_int_equal(map.n, N);
    assert_true(grown < 20);
    for (int i = 0; i < N; i++)
        assert_int_equal(*as_hash_map_find(&map, names[i], strlen(names[i])), i);
    assert_null(as_hash_map_find(&map, "t100000", 7));
    as_hash_map_fini(&map);
}

static uint32_t fnv1a(const char *name)
{
    uint32_t hash = 2166136261u;

    for (; *name; name++)
        hash = (hash ^ (uint8_t)*name) * 16777619u;
    return hash;
}

/* Slots looked at to find all keys. */
static uint64_t count_probes(const struct as_hash_map *map)
{
    uint64_t probes = 0;

    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].key)
            probes += ((i - map->slots[i].hash) & (map->capacity - 1)) + 1;
    return probes;
}

/* Names that all meet in one slot of a table whose hash is known to whoever chooses them. */
static void chosen_names_cost_no_more_than_others(void **state)
{
    enum { MANY = 20000 };
    static char names[MANY][16];
    struct as_hash_map map = {0};
    uint64_t few = 0;
    unsigned long tried = 0;

    (void)state;
    for (size_t i = 0; i < MANY; tried++) {
        (void)snprintf(names[i], sizeof names[i], "s%lu", tried);
        if ((fnv1a(names[i]) & 0xff) != 0)
            continue;
        assert_int_equal(as_hash_map_put(&map, names[i], strlen(names[i]), i), 1);
        if (++i == MANY / 10)
            few = count_probes(&map);
    }
    assert_true(few < 4 * MANY / 10);
    assert_true(count_probes(&map) < 4 * MANY); /* ten times the names, ten times the probes */
    as_hash_map_fini(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_map_finds_nothing),
        cmocka_unit_test(a_name_is_put_once),
        cmocka_unit_test(many_names_are_all_found),
        cmocka_unit_test(chosen_names_cost_no_more_than_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
