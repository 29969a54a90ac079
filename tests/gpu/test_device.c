#include "tests/testing.h"

#include "tests/gpu/listening.h"

static void a_device_opens_proves_itself_and_leaves_nothing_behind(void **state)
{
    (void)state;
    struct listening l;
    open_listening(&l, NULL);
    assert_string_equal(ks_gpu_info(l.gpu)->why_not, "");
    assert_false(ks_gpu_lost(l.gpu));
    close_listening(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_opens_proves_itself_and_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
