/* tests/unit/test_folder.c - folders made with all that is missing above them. */
#include "root_kit.h"

static void missing_folders_are_made_and_present_ones_kept(void **state)
{
    struct kit_root root = kit_root_new();
    struct assay_error err;
    char path[256];

    (void)state;
    (void)snprintf(path, sizeof path, "%s/a/b/c", root.path);
    assert_int_equal(as_folder_make(path, 0700, NULL), ASSAY_OK);
    assert_int_equal(access(path, W_OK), 0);
    assert_int_equal(as_folder_make(path, 0700, NULL), ASSAY_OK);
    kit_root_put(&root, "/file", "x");
    (void)snprintf(path, sizeof path, "%s/file", root.path);
    assert_int_equal(as_folder_make(path, 0700, &err), ASSAY_ERR_IO);
    assert_non_null(strstr(err.msg, "is not a folder"));
    (void)snprintf(path, sizeof path, "%s/file/below", root.path);
    assert_int_equal(as_folder_make(path, 0700, &err), ASSAY_ERR_IO);
    assert_int_equal(as_folder_make("", 0700, &err), ASSAY_ERR_LIMIT);
    kit_root_fini(&root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_folders_are_made_and_present_ones_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
