#include "tests/testing.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/gpu.h"

static const struct ks_gpu_info machine[] = {
    {.name = "llvmpipe (LLVM 15)",
     .uuid = "00000000000000000000000000000001",
     .kind = KS_GPU_KIND_CPU},
    {.name = "Intel Iris Xe",
     .uuid = "abcdef0123456789abcdef0123456789",
     .kind = KS_GPU_KIND_INTEGRATED},
    {.name = "GeForce GT 710",
     .uuid = "00000000000000000000000000000003",
     .kind = KS_GPU_KIND_DISCRETE,
     .why_not = "it lacks timeline semaphores"},
    {.name = "GeForce RTX 3060",
     .uuid = "00000000000000000000000000000004",
     .kind = KS_GPU_KIND_DISCRETE},
};

static size_t chosen(const char *which, size_t n)
{
    struct ks_error err = {0};
    size_t index = 99;
    if (ks_gpu_choose(machine, n, which, &index, &err) != 0)
        fail_msg("%s: %s", which ? which : "NULL", err.text);
    return index;
}

static void refused(const char *which, size_t n, const char *says)
{
    struct ks_error err = {0};
    size_t index = 99;
    assert_int_equal(ks_gpu_choose(machine, n, which, &index, &err), -1);
    assert_int_equal(err.code, KS_UNSUPPORTED);
    assert_int_equal(index, 99);
    if (!strstr(err.text, says))
        fail_msg("\"%s\" does not say \"%s\"", err.text, says);
}

static void auto_takes_a_usable_discrete_device_then_an_integrated_one(void **state)
{
    (void)state;
    assert_int_equal(chosen(NULL, 4), 3);
    assert_int_equal(chosen("", 4), 3);
    assert_int_equal(chosen("auto", 4), 3);
    assert_int_equal(chosen("auto", 3), 1);
}

static void auto_never_takes_a_cpu(void **state)
{
    (void)state;
    refused(NULL, 1, "CPU");
    unsetenv("VK_DRIVER_FILES");
    unsetenv("VK_ICD_FILENAMES");
    refused("auto", 0, "no device");
}

static void a_setting_that_hides_drivers_is_named(void **state)
{
    (void)state;
    unsetenv("VK_DRIVER_FILES");
    setenv("VK_ICD_FILENAMES", "/nowhere", 1);
    refused("auto", 0, "VK_ICD_FILENAMES");
    setenv("VK_DRIVER_FILES", "/nowhere", 1);
    refused("auto", 0, "VK_DRIVER_FILES");
    unsetenv("VK_DRIVER_FILES");
    unsetenv("VK_ICD_FILENAMES");
}

/* "5" was once found in "llvmpipe (LLVM 15)". */
static void a_small_number_is_an_index_and_never_part_of_a_name(void **state)
{
    (void)state;
    refused("5", 1, "\"5\"");
    refused("15", 4, "\"15\"");
    refused("1", 1, "\"1\"");
    assert_int_equal(chosen("03", 4), 3);
}

static void of_several_with_a_name_a_usable_one_is_taken(void **state)
{
    (void)state;
    assert_int_equal(chosen("geforce", 4), 3);
    refused("geforce", 3, "timeline semaphores");
}

static void a_device_is_named_by_index_uuid_or_part_of_its_name_in_any_case(void **state)
{
    (void)state;
    assert_int_equal(chosen("0", 4), 0);
    assert_int_equal(chosen("3", 4), 3);
    assert_int_equal(chosen("LLVMPIPE", 4), 0);
    assert_int_equal(chosen("iris", 4), 1);
    assert_int_equal(chosen("3060", 4), 3);
    assert_int_equal(chosen("ABCDEF01-2345-6789-abcd-ef0123456789", 4), 1);
}

static void a_name_that_fits_nothing_or_a_device_of_no_use_is_refused_with_words(void **state)
{
    (void)state;
    refused("radeon", 4, "\"radeon\"");
    refused("4", 4, "\"4\"");
    refused("99999999999999999999999", 4, "9999");
    refused("abcdef01-2345-6789-abcd-ef0123456788", 4, "UUID");
    refused("GT 710", 4, "timeline semaphores");
    refused("2", 4, "timeline semaphores");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto_takes_a_usable_discrete_device_then_an_integrated_one),
        cmocka_unit_test(auto_never_takes_a_cpu),
        cmocka_unit_test(a_setting_that_hides_drivers_is_named),
        cmocka_unit_test(a_small_number_is_an_index_and_never_part_of_a_name),
        cmocka_unit_test(of_several_with_a_name_a_usable_one_is_taken),
        cmocka_unit_test(a_device_is_named_by_index_uuid_or_part_of_its_name_in_any_case),
        cmocka_unit_test(a_name_that_fits_nothing_or_a_device_of_no_use_is_refused_with_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
