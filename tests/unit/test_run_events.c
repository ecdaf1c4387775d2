/* tests/unit/test_run_events.c - messages, instant events, spans across threads, flows and locks:
 * recorded, read back and counted, also where they are not balanced. */
#include "recorder_kit.h"

#include <assay/lock.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "base/cursor.h"
#include "trace/record/event_code.h"

#define RECORDED(test) cmocka_unit_test_teardown(test, rec_clean)

static const struct as_run_events *beside(const struct rec *r)
{
    return &r->layers->events_beside;
}

static void messages_are_kept_in_the_order_of_time_and_cut(void **state)
{
    char longest[ASSAY_MESSAGE_MAX + 1], longer[ASSAY_MESSAGE_MAX + 100];
    const struct as_run_events *e;
    struct rec r;

    (void)state;
    memset(longest, 'a', sizeof longest);
    longest[ASSAY_MESSAGE_MAX] = '\0';
    memset(longer, 'b', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    memcpy(longer + ASSAY_MESSAGE_MAX - 4, "\xe2\x82\xac", 3); /* a character across the cut */
    assay_message("before the session");
    rec_start("run.assay", NULL);
    assay_message("hello");
    assay_message("");
    assay_message("eight678");
    assay_message(longest);
    assay_message(longer);
    assay_message(NULL);
    rec_stop();
    r = rec_read("run.assay");
    rec_expect_whole(&r);
    e = beside(&r);
    assert_int_equal(e->messages, 5);
    assert_int_equal(e->n_messages, 5);
    assert_string_equal(e->message[0].text, "hello");
    assert_string_equal(e->message[1].text, "");
    assert_string_equal(e->message[2].text, "eight678");
    assert_string_equal(e->message[3].text, longest);
    assert_int_equal(strlen(e->message[4].text), ASSAY_MESSAGE_MAX - 1);
    assert_string_equal(e->message[4].text + ASSAY_MESSAGE_MAX - 5, "b...");
    for (size_t i = 1; i < e->n_messages; i++)
        assert_true(e->message[i].ns >= e->message[i - 1].ns);
    assert_int_equal(r.layers->n_layers, 0);
    rec_done(&r);
}

static void the_last_messages_are_kept_of_many(void **state)
{
    const struct as_run_events *e;
    char text[32];
    struct rec r;

    (void)state;
    rec_start("run.assay", NULL);
    for (unsigned i = 0; i < 5000; i++) {
        (void)snprintf(text, sizeof text, "message %u", i);
        assay_message(text);
    }
    rec_stop();
    r = rec_read("run.assay");
    rec_expect_whole(&r);
    e = beside(&r);
    assert_int_equal(e->messages, 5000);
    assert_int_equal(e->n_messages, AS_MESSAGES_KEPT);
    assert_string_equal(e->message[AS_MESSAGES_KEPT - 1].text, "message 4999");
    (void)snprintf(text, sizeof text, "message %u", 5000 - AS_MESSAGES_KEPT);
    assert_string_equal(e->message[0].text, text);
    rec_done(&r);
}

static void instants_are_counted_and_stand_in_no_layer(void **state)
{
    struct rec r;

    (void)state;
    rec_start("run.assay", NULL);
    for (int i = 0; i < 7; i++) {
        ASSAY_SCOPE("layer");
        ASSAY_INSTANT("cache miss");
        assay_instant("evicted");
        assay_instant("cache miss");
    }
    rec_stop();
    r = rec_read("run.assay");
    rec_expect_whole(&r);
    assert_int_equal(beside(&r)->n_instants, 2);
    assert_string_equal(beside(&r)->instant[0].info->name, "cache miss");
    assert_int_equal(beside(&r)->instant[0].count, 14);
    assert_int_equal(beside(&r)->instant[1].count, 7);
    assert_true(beside(&r)->instant[0].first_ns < beside(&r)->instant[0].last_ns);
    assert_int_equal(r.layers->n_layers, 1);
    assert_int_equal(rec_calls(&r, "layer"), 7);
    rec_done(&r);
}

/* Ends what the main thread began. */
static void *end_requests(void *unused)
{
    for (uint64_t id = 0; id < 100; id++) {
        ASSAY_SCOPE("consume");
        assay_flow_step("job", id);
        assay_async_end("request", id);
        assay_flow_end("job", id);
    }
    assay_async_end("request", 12345); /* was never begun */
    return unused;
}

static void async_spans_and_flows_are_joined_across_threads(void **state)
{
    const struct as_run_events *e;
    pthread_t thread;
    struct rec r;

    (void)state;
    rec_start("run.assay", NULL);
    for (uint64_t id = 0; id < 101; id++) { /* the last stays open */
        ASSAY_SCOPE("produce");
        assay_async_begin("request", id);
        assay_flow_begin("job", id);
    }
    assay_async_begin("request", 100); /* again */
    assay_async_begin("local", 1);
    assay_async_end("local", 1);
    assay_flow_step("stray", 9);
    assert_int_equal(pthread_create(&thread, NULL, end_requests, NULL), 0);
    pthread_join(thread, NULL);
    rec_stop();
    r = rec_read("run.assay");
    rec_expect_whole(&r);
    e = beside(&r);
    assert_int_equal(e->n_async, 2);
    assert_int_equal(e->async[0].n, 100);
    assert_int_equal(e->async[0].crossed, 100);
    assert_int_equal(e->async[0].open, 1);
    assert_int_equal(e->async[0].begun_again, 1);
    assert_int_equal(e->async[0].stray, 1);
    assert_true(e->async[0].min_ns > 0 && e->async[0].min_ns <= e->async[0].p50_ns &&
                e->async[0].p50_ns <= e->async[0].p95_ns &&
                e->async[0].p95_ns <= e->async[0].max_ns);
    assert_int_equal(e->async[1].n, 1);
    assert_int_equal(e->async[1].crossed, 0);
    assert_int_equal(e->n_flows, 2);
    assert_int_equal(e->flow[0].n, 100);
    assert_int_equal(e->flow[0].steps, 100);
    assert_int_equal(e->flow[0].open, 1);
    assert_int_equal(e->flow[1].n, 0);
    assert_int_equal(e->flow[1].stray, 1);
    assert_true(e->flow[1].p50_ns != e->flow[1].p50_ns); /* unknown, not 0 */
    assert_int_equal(e->unfollowed, 0);
    rec_done(&r);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static _Atomic long waiter;

static void *take_lock(void *unused)
{
    {
        ASSAY_LOCK(&other, "warm"); /* the lane is there, so that only the mutex is waited for */
    }
    atomic_store(&waiter, syscall(SYS_gettid));
    {
        ASSAY_LOCK(&mutex, "queue");
    }
    return unused;
}

/* 'S' when the thread sleeps. */
static char state_of(long tid)
{
    char path[64], text[512] = "";
    FILE *f;

    (void)snprintf(path, sizeof path, "/proc/self/task/%ld/stat", tid);
    f = fopen(path, "r");
    if (f) {
        (void)!fread(text, 1, sizeof text - 1, f);
        (void)fclose(f);
    }
    return strrchr(text, ')') ? strrchr(text, ')')[2] : '?';
}

static void a_lock_tells_waits_and_holds(void **state)
{
    const struct as_lock *queue = NULL;
    pthread_t thread;
    struct rec r;

    (void)state;
    atomic_store(&waiter, 0);
    rec_start("run.assay", NULL);
    {
        ASSAY_SCOPE("holder");
        ASSAY_LOCK(&mutex, "queue");
        assert_int_equal(pthread_create(&thread, NULL, take_lock, NULL), 0);
        while (!atomic_load(&waiter) || state_of(atomic_load(&waiter)) != 'S')
            sched_yield();
    }
    pthread_join(thread, NULL);
    assert_int_equal(ASSAY_MUTEX_LOCK(&mutex, "queue"), 0);
    assert_int_equal(ASSAY_MUTEX_LOCK(&other, "other"), 0);
    assert_int_equal(ASSAY_MUTEX_UNLOCK(&mutex, "queue"), 0); /* not in the reverse order */
    assert_int_equal(ASSAY_MUTEX_UNLOCK(&other, "other"), 0);
    rec_stop();
    assert_int_equal(pthread_mutex_trylock(&mutex), 0);
    pthread_mutex_unlock(&mutex);
    r = rec_read("run.assay");
    rec_expect_whole(&r);
    for (size_t i = 0; i < beside(&r)->n_locks; i++) {
        if (strcmp(beside(&r)->lock[i].info->name, "queue") == 0)
            queue = &beside(&r)->lock[i];
    }
    assert_non_null(queue);
    assert_int_equal(beside(&r)->n_locks, 3);
    assert_int_equal(queue->acquisitions, 3);
    assert_int_equal(queue->contended, 1);
    assert_int_equal(queue->n_threads, 2);
    assert_true(queue->wait_ns > 0 && queue->wait_ns == queue->max_wait_ns);
    assert_true(queue->held_ns > 0); /* a waiter may be woken late: its wait may be longer */
    assert_true(queue->max_held_ns <= queue->held_ns);
    assert_int_equal(queue->given_up + queue->open + beside(&r)->stray_locks, 0);
    assert_int_equal(r.layers->n_layers, 1); /* a lock is not a layer, and in no self time */
    assert_int_equal(rec_find(&r, "holder")->self_ns, rec_find(&r, "holder")->inclusive_ns);
    rec_done(&r);
}

static void other_locks_are_marked_by_hand(void **state)
{
    const struct as_lock *l;
    struct rec r;

    (void)state;
    rec_start("run.assay", NULL);
    for (int i = 0; i < 5; i++) {
        ASSAY_LOCK_WAIT("spin");
        {
            ASSAY_LOCK_HELD_SCOPE("spin");
        }
    }
    ASSAY_LOCK_WAIT("spin"); /* given up */
    ASSAY_LOCK_WAIT("spin"); /* still waited for at the end */
    {
        ASSAY_LOCK_SITE_(never, "never");
        assay_lock_mark_(&never, ASSAY_KIND_LOCK_FREE_);
    }
    rec_stop();
    r = rec_read("run.assay");
    assert_int_equal(beside(&r)->n_locks, 1);
    l = &beside(&r)->lock[0];
    assert_int_equal(l->acquisitions, 5);
    assert_int_equal(l->contended, 5);
    assert_int_equal(l->given_up, 1);
    assert_int_equal(l->open, 1);
    assert_int_equal(beside(&r)->stray_locks, 1);
    rec_done(&r);
}

#define TAKES 20000

static void *take_often(void *unused)
{
    for (int i = 0; i < TAKES; i++) {
        ASSAY_LOCK(&mutex, "queue");
        ASSAY_LOCK(&other, "inner");
    }
    return unused;
}

static void every_acquisition_of_many_threads_is_counted(void **state)
{
    struct assay_session_options options = {.size = sizeof options};
    pthread_t thread[4];
    struct rec r;

    (void)state;
    options.overflow = ASSAY_OVERFLOW_WAIT;
    rec_start("run.assay", &options);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, take_often, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    rec_stop();
    r = rec_read("run.assay");
    rec_expect_whole(&r);
    assert_int_equal(beside(&r)->n_locks, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(beside(&r)->lock[i].acquisitions, 4 * TAKES);
        assert_int_equal(beside(&r)->lock[i].n_threads, 4);
        assert_true(beside(&r)->lock[i].contended <= 4 * TAKES);
    }
    assert_int_equal(beside(&r)->stray_locks, 0);
    rec_done(&r);
}

/* ---- what no recorder writes ---- */

static struct as_run run;
static struct as_run_thread thread;
static struct as_run_chunk chunk;
static uint8_t bytes[64 * 1024];

struct seen {
    struct as_event_collector events;
};

static void on_point(void *user, const struct as_point *p)
{
    assert_true((unsigned)p->role < AS_POINT_COUNT);
    assert_true(strlen(p->text) <= ASSAY_MESSAGE_MAX);
    as_events_on_point(&((struct seen *)user)->events, p);
}

static void on_lock(void *user, const struct as_lock_span *l)
{
    assert_true(l->wait_ns <= l->held_ns && l->held_ns <= l->freed_ns);
    assert_true(l->slot < AS_LOCKS_HELD);
    as_events_on_lock(&((struct seen *)user)->events, l);
}

static struct as_arena made_arena;

static void read_made(const struct as_event *event, size_t n, struct as_run_events *out,
                      struct as_walk_counts *counts)
{
    struct as_event_coder coder = {0};
    struct seen seen = {.events = {.run = &run, .thread = 1}};
    const struct as_span_visitor visitor = {.user = &seen, .point = on_point, .lock = on_lock};
    uint8_t *to = bytes;

    to = as_put_varint(to, 0);
    to = as_put_varint(to, 0);
    to = as_put_varint(to, 0);
    to = as_put_u64le(to, 0);
    for (size_t i = 0; i < n; i++)
        to = as_event_encode(&coder, &event[i], to);
    chunk = (struct as_run_chunk){
        .memory = bytes, .size = (uint32_t)(to - bytes), .records = (uint32_t)n};
    thread = (struct as_run_thread){.chunk = &chunk, .n_chunks = 1, .name = ""};
    run = (struct as_run){.thread = &thread, .n_threads = 1, .path = (char[]){"made"}};
    run.time.known = true;
    assert_int_equal(as_span_walk(&run, &thread, &visitor, counts, NULL), ASSAY_OK);
    *out = (struct as_run_events){0};
    assert_int_equal(as_events_finish(&seen.events, &made_arena, out, NULL), ASSAY_OK);
    as_event_collector_fini(&seen.events);
}

static void hostile_points_and_locks_are_bounded(void **state)
{
    static struct as_event event[2000];
    struct as_walk_counts counts;
    struct as_run_events out;
    size_t n = 0;

    (void)state;
    /* A text and an id without a point; a text longer than any; a role that is none; text and id.
     */
    event[n++] = (struct as_event){~0ull, 3, AS_RECORD_TEXT};
    event[n++] = (struct as_event){1, 3, AS_RECORD_ID};
    event[n++] = (struct as_event){10, 0, AS_RECORD_POINT};
    for (int i = 0; i < 200; i++)
        event[n++] = (struct as_event){0x4141414141414141ull, 0, AS_RECORD_TEXT};
    event[n++] = (struct as_event){20, 70000, AS_RECORD_POINT};
    event[n++] = (struct as_event){77, 4000000000u, AS_RECORD_ID};
    event[n++] = (struct as_event){30, 1, AS_RECORD_POINT};
    event[n++] = (struct as_event){0x42, 0, AS_RECORD_TEXT};
    event[n++] = (struct as_event){77, AS_POINT_ASYNC_BEGIN, AS_RECORD_ID};
    /* More locks at once than are followed, and ends of locks that nobody holds. */
    for (uint32_t i = 0; i < 100; i++)
        event[n++] = (struct as_event){40 + i, i, AS_RECORD_LOCK_HELD};
    for (uint32_t i = 0; i < 150; i++)
        event[n++] = (struct as_event){200 + i, i, AS_RECORD_LOCK_FREE};
    read_made(event, n, &out, &counts);
    assert_int_equal(out.messages, 2);
    assert_int_equal(strlen(out.message[0].text), ASSAY_MESSAGE_MAX);
    assert_string_equal(out.message[1].text, "B");
    assert_int_equal(out.n_instants, 1); /* the unknown site and the unknown role */
    assert_int_equal(out.n_async + out.n_flows, 0);
    assert_int_equal(counts.stray_locks, 100 - AS_LOCKS_HELD + 150 - AS_LOCKS_HELD);
    as_arena_fini(&made_arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RECORDED(messages_are_kept_in_the_order_of_time_and_cut),
        RECORDED(the_last_messages_are_kept_of_many),
        RECORDED(instants_are_counted_and_stand_in_no_layer),
        RECORDED(async_spans_and_flows_are_joined_across_threads),
        RECORDED(a_lock_tells_waits_and_holds),
        RECORDED(other_locks_are_marked_by_hand),
        RECORDED(every_acquisition_of_many_threads_is_counted),
        cmocka_unit_test(hostile_points_and_locks_are_bounded),
    };

    return cmocka_run_group_tests(tests, rec_enter, rec_leave);
}
