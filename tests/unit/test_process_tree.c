/* tests/unit/test_process_tree.c - a tree of processes, from prepared files and for real. */
#include "root_kit.h"

#include <signal.h>
#include <sys/wait.h>

#include "probe/process/process_descriptors.h"
#include "probe/process/process_tree.h"

/* A process with `ticks` of user time, `pages` of memory and so many threads. */
static void put(const struct kit_root *root, int pid, int parent, const char *name, int start,
                int ticks, int pages, int threads)
{
    char path[64], text[512];

    (void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
    (void)snprintf(text, sizeof text,
                   "%d (%s) S %d 1 1 0 -1 0 5 0 1 0 %d 3 0 0 20 0 %d 0 %d 23000 %d 0 0 0 0 0 0 0 0 "
                   "0 0 0 0 0 17 1 0 0 2 0 0",
                   pid, name, parent, ticks, threads, start, pages);
    kit_root_put(root, path, text);
}

static void put_children(const struct kit_root *root, int pid, int tid, const char *children)
{
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, tid);
    kit_root_put(root, path, children);
}

static void drop(const struct kit_root *root, int pid, const char *file)
{
    char path[160];

    (void)snprintf(path, sizeof path, "%s/proc/%d/%s", root->path, pid, file);
    assert_int_equal(unlink(path), 0);
}

static uint64_t tick_ns(void)
{
    return 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
}

static uint64_t page_bytes(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

static void children_are_found_and_summed(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_process_tree *tree;
    const struct as_tree_process *p;
    struct as_tree_now now;

    (void)state;
    put(&root, 100, 1, "a) b (", 50, 10, 100, 1);
    put(&root, 101, 100, ") S 1 (", 60, 20, 200, 1);
    put(&root, 102, 101, "c", 70, 30, 300, 1);
    put_children(&root, 100, 100, "101 ");
    put_children(&root, 101, 101, "102 ");
    put_children(&root, 102, 102, "");
    kit_root_put(&root, "/proc/100/status", "VmHWM: 4000 kB\nvoluntary_ctxt_switches: 8\n");
    kit_root_put(&root, "/proc/100/io", "read_bytes: 512\nwrite_bytes: 1024\n");
    assert_int_equal(as_process_tree_new(&tree, root.path, 100, 5, NULL), ASSAY_OK);
    as_process_tree_read(tree, 7, true, &now);
    assert_int_equal(now.n_alive, 3);
    assert_int_equal(now.rss_bytes, 600 * page_bytes());
    assert_int_equal(now.cpu_ns, (10 + 20 + 30 + 3 * 3) * tick_ns());
    p = as_process_tree_at(tree, 0);
    assert_int_equal(p->pid, 100);
    assert_string_equal(p->name, "a) b (");
    assert_int_equal(p->first_ns, 5);
    assert_int_equal(p->last_ns, 7);
    assert_int_equal(p->peak_rss_bytes.value, 4000 * 1024);
    assert_int_equal(p->switches_voluntary.value, 8);
    assert_non_null(p->switches_involuntary.why);
    assert_int_equal(p->read_bytes.value, 512);
    assert_int_equal(p->written_bytes.value, 1024);
    assert_non_null(p->io_wait_ns.why); /* the kernel was not told to count it */
    assert_string_equal(p->run_delay_ns.why, "the kernel does not count it");
    p = as_process_tree_at(tree, 1);
    assert_string_equal(p->name, ") S 1 (");
    assert_int_equal(p->parent_pid, 100);
    assert_non_null(p->read_bytes.why);
    assert_int_equal(p->peak_rss_bytes.value, 200 * page_bytes()); /* as read itself */
    assert_null(as_process_tree_at(tree, 3));
    as_process_tree_free(tree);
    kit_root_fini(&root);
}

/* 100 and its child 101, read once. */
static struct as_process_tree *new_pair(const struct kit_root *root, struct as_tree_now *now)
{
    struct as_process_tree *tree;

    put(root, 100, 1, "a", 50, 10, 100, 1);
    put(root, 101, 100, "b", 60, 20, 200, 1);
    put_children(root, 100, 100, "101 ");
    assert_int_equal(as_process_tree_new(&tree, root->path, 100, 0, NULL), ASSAY_OK);
    as_process_tree_read(tree, 1, false, now);
    return tree;
}

/* Files that are kept open hold what was in them: a change is another file, as a prepared root has
 * it. So the processes of these tests end and begin rather than change. */
static void one_that_ends_stays_in_the_list(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_process_tree *tree;
    struct as_tree_now now;

    (void)state;
    tree = new_pair(&root, &now);
    assert_int_equal(now.n_alive, 2);
    assert_true(as_process_tree_has(tree, 101));
    kit_root_put(&root, "/proc/101/stat", ""); /* the same file: an empty one has no process */
    put_children(&root, 100, 100, "");
    as_process_tree_read(tree, 2, false, &now);
    assert_int_equal(now.n_alive, 1);
    assert_false(as_process_tree_has(tree, 101));
    assert_true(as_process_tree_at(tree, 1)->ended);
    assert_int_equal(as_process_tree_at(tree, 1)->last_ns, 2);
    assert_int_equal(now.rss_bytes, 100 * page_bytes());
    assert_int_equal(now.cpu_ns, (13 + 23) * tick_ns()); /* its time was spent all the same */
    as_process_tree_free(tree);
    kit_root_fini(&root);
}

/* The kernel has one file for each thread, and none for those that have ended. */
static void run_delay_is_that_of_all_threads_also_of_ended_ones(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_process_tree *tree;
    struct as_tree_now now;

    (void)state;
    put(&root, 100, 1, "a", 50, 10, 100, 3);
    kit_root_put(&root, "/proc/100/schedstat", "900 1000 7\n");
    kit_root_put(&root, "/proc/100/task/100/schedstat", "900 1000 7\n");
    kit_root_put(&root, "/proc/100/task/103/schedstat", "900 200 7\n");
    kit_root_put(&root, "/proc/100/task/104/schedstat", "900 30 7\n");
    assert_int_equal(as_process_tree_new(&tree, root.path, 100, 0, NULL), ASSAY_OK);
    as_process_tree_read(tree, 1, true, &now);
    assert_int_equal(as_process_tree_at(tree, 0)->run_delay_ns.value, 1230);
    drop(&root, 100, "task/104/schedstat");
    kit_root_put(&root, "/proc/100/task/103/schedstat", "900 250 7\n");
    kit_root_put(&root, "/proc/100/task/105/schedstat", "900 4 7\n");
    as_process_tree_read(tree, 2, true, &now);
    assert_int_equal(as_process_tree_at(tree, 0)->run_delay_ns.value, 1000 + 250 + 30 + 4);
    kit_root_put(&root, "/proc/100/task/105/schedstat", "9 1 7\n"); /* the next with that number */
    as_process_tree_read(tree, 3, true, &now);
    assert_int_equal(as_process_tree_at(tree, 0)->run_delay_ns.value, 1000 + 250 + 30 + 4 + 1);
    as_process_tree_free(tree);
    kit_root_fini(&root);
}

static void a_pid_given_out_again_is_another_process(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_process_tree *tree;
    struct as_tree_now now;

    (void)state;
    tree = new_pair(&root, &now);
    put(&root, 101, 100, "b", 99, 1, 10, 1);
    as_process_tree_read(tree, 2, false, &now); /* the old one has ended */
    as_process_tree_read(tree, 3, false, &now); /* the new one is seen */
    assert_true(as_process_tree_at(tree, 1)->ended);
    assert_non_null(as_process_tree_at(tree, 2));
    assert_false(as_process_tree_at(tree, 2)->ended);
    assert_int_equal(as_process_tree_at(tree, 2)->rss_bytes, 10 * page_bytes());
    as_process_tree_free(tree);
    kit_root_fini(&root);
}

static void children_of_other_threads_are_found(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_process_tree *tree;
    struct as_tree_now now;

    (void)state;
    put(&root, 100, 1, "a", 50, 10, 100, 2);
    put(&root, 200, 100, "b", 60, 20, 200, 1);
    put_children(&root, 100, 100, "");
    put_children(&root, 100, 105, "200 ");
    kit_root_put(&root, "/proc/100/status", "voluntary_ctxt_switches: 8\n");
    assert_int_equal(as_process_tree_new(&tree, root.path, 100, 0, NULL), ASSAY_OK);
    as_process_tree_read(tree, 1, true, &now);
    assert_int_equal(now.n_alive, 2);
    assert_int_equal(as_process_tree_at(tree, 0)->threads_most.value, 2);
    assert_non_null(as_process_tree_at(tree, 0)->switches_voluntary.why); /* of one thread only */
    as_process_tree_free(tree);
    kit_root_fini(&root);
}

static void without_children_files_all_of_proc_is_searched(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_process_tree *tree;
    struct as_tree_now now;

    (void)state;
    put(&root, 100, 1, "a", 50, 10, 100, 1);
    put(&root, 90, 95, "grandchild", 60, 20, 200, 1);
    put(&root, 95, 100, "child", 55, 20, 200, 1);
    put(&root, 99, 1, "stranger", 40, 20, 200, 1);
    assert_int_equal(as_process_tree_new(&tree, root.path, 100, 0, NULL), ASSAY_OK);
    as_process_tree_read(tree, 1, true, &now);
    assert_int_equal(now.n_alive, 3);
    assert_true(as_process_tree_has(tree, 90));
    assert_false(as_process_tree_has(tree, 99));
    as_process_tree_free(tree);
    kit_root_fini(&root);
}

static void beyond_the_limit_processes_are_counted_once(void **state)
{
    enum { EXTRA = 5 };
    struct kit_root root = kit_root_new();
    struct as_process_tree *tree;
    struct as_tree_now now;
    static char children[(AS_TREE_MAX_PROCESSES + EXTRA) * 7];
    size_t used = 0;

    (void)state;
    put(&root, 100, 1, "a", 50, 10, 100, 1);
    for (int i = 0; i < AS_TREE_MAX_PROCESSES - 1 + EXTRA; i++) {
        put(&root, 1000 + i, 100, "b", 60, 1, 1, 1);
        used += (size_t)snprintf(children + used, sizeof children - used, "%d ", 1000 + i);
    }
    put_children(&root, 100, 100, children);
    assert_int_equal(as_process_tree_new(&tree, root.path, 100, 0, NULL), ASSAY_OK);
    for (uint64_t i = 1; i < 4; i++)
        as_process_tree_read(tree, i, false, &now);
    assert_int_equal(now.n_alive, AS_TREE_MAX_PROCESSES);
    assert_int_equal(as_process_tree_left_out(tree), EXTRA);
    as_process_tree_free(tree);
    kit_root_fini(&root);
}

static void nobody_there_is_an_error(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_process_tree *tree;
    struct assay_error err = {0};

    (void)state;
    assert_int_equal(as_process_tree_new(&tree, root.path, 100, 0, &err), ASSAY_ERR_NOTFOUND);
    assert_null(tree);
    assert_non_null(strstr(err.msg, "100"));
    put(&root, 100, 1, "a", 50, 10, 100, 1);
    put_children(&root, 100, 100, "");
    assert_int_equal(as_process_tree_new(&tree, root.path, 100, 0, &err), ASSAY_OK);
    drop(&root, 100, "stat");
    as_process_tree_free(tree);
    as_process_tree_free(NULL);
    kit_root_fini(&root);
}

/* Of a process of ours, entry by entry. */
static uint64_t count_descriptors(pid_t pid)
{
    char path[64];
    uint64_t n;
    int fd;

    (void)snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    fd = as_process_descriptors_open(path);
    assert_true(fd >= 0);
    assert_true(as_process_descriptors_count(&n, fd, false));
    close(fd);
    return n;
}

static void files_that_are_opened_are_counted_either_way(void **state)
{
    uint64_t before, now;
    int fd[20], folder = as_process_descriptors_open("/proc/self/fd");

    (void)state;
    for (int way = 0; way <= (int)as_process_descriptors_sized(); way++) {
        assert_true(as_process_descriptors_count(&before, folder, way));
        for (int i = 0; i < 20; i++)
            fd[i] = dup(0);
        assert_true(as_process_descriptors_count(&now, folder, way));
        assert_int_equal(now - before, 20);
        for (int i = 0; i < 20; i++)
            close(fd[i]);
        assert_true(as_process_descriptors_count(&now, folder, way));
        assert_int_equal(now, before);
    }
    close(folder);
    assert_false(as_process_descriptors_count(&now, -1, false));
    assert_int_equal(as_process_descriptors_open("/proc/0/fd"), -1);
}

static void a_real_child_is_read_until_its_end(void **state)
{
    struct as_process_tree *tree;
    struct as_tree_now now;
    siginfo_t info;
    int ready[2], stop[2];
    char byte = 0;
    pid_t pid;

    (void)state;
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(stop), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        volatile uint64_t sum = 0;

        for (uint64_t i = 0; i < 20000000; i++)
            sum += i;
        _exit(write(ready[1], "x", 1) == 1 && read(stop[0], &byte, 1) == 1 ? 0 : 1);
    }
    assert_int_equal(as_process_tree_new(&tree, "", pid, 1, NULL), ASSAY_OK);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    as_process_tree_read(tree, 2, true, &now);
    assert_int_equal(now.n_alive, 1);
    assert_true(now.rss_bytes > 0);
    assert_true(now.cpu_ns > 0);
    assert_true(now.descriptors_known);
    assert_int_equal(now.threads, 1);
    assert_int_equal(now.descriptors, count_descriptors(pid));
    assert_int_equal(as_process_tree_at(tree, 0)->descriptors_most.value, now.descriptors);
    assert_int_equal(as_process_tree_at(tree, 0)->parent_pid, getpid());
    assert_int_equal(write(stop[1], "x", 1), 1);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    as_process_tree_read(tree, 3, true, &now); /* ended, not yet reaped: its figures are there */
    assert_int_equal(now.n_alive, 0);
    assert_true(as_process_tree_at(tree, 0)->ended);
    assert_true(as_process_tree_at(tree, 0)->cpu_ns >= 1000000);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    as_process_tree_free(tree);
    for (int i = 0; i < 2; i++) {
        close(ready[i]);
        close(stop[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_are_found_and_summed),
        cmocka_unit_test(one_that_ends_stays_in_the_list),
        cmocka_unit_test(run_delay_is_that_of_all_threads_also_of_ended_ones),
        cmocka_unit_test(a_pid_given_out_again_is_another_process),
        cmocka_unit_test(children_of_other_threads_are_found),
        cmocka_unit_test(without_children_files_all_of_proc_is_searched),
        cmocka_unit_test(beyond_the_limit_processes_are_counted_once),
        cmocka_unit_test(nobody_there_is_an_error),
        cmocka_unit_test(files_that_are_opened_are_counted_either_way),
        cmocka_unit_test(a_real_child_is_read_until_its_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
