#include "tests/testing.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tui/cli/driver.h"

static char root[] = "/tmp/kldscope-root-XXXXXX";

static const struct ks_gpu_info software = {.name = "llvmpipe", .driver = "llvmpipe Mesa 22.3.6"};
static const struct ks_gpu_info card = {.name = "NVIDIA H200", .driver = "NVIDIA 580.159.04"};

/* An empty file under the root, with its folders. */
static void put(const char *path)
{
    char whole[256];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *c = whole + strlen(root) + 1; *c; c++)
        if (*c == '/') {
            *c = '\0';
            mkdir(whole, 0700);
            *c = '/';
        }
    FILE *f = fopen(whole, "w");
    assert_non_null(f);
    fclose(f);
}

static void without_a_kernel_driver_nothing_is_missing(void **state)
{
    (void)state;
    assert_false(cli_driver_unseen(root, NULL, 0));
    assert_false(cli_driver_unseen(root, &software, 1));
}

static void a_kernel_driver_whose_devices_vulkan_does_not_list_is_told(void **state)
{
    (void)state;
    static const char *const signs[] = {"/dev/nvidiactl", "/proc/driver/nvidia/version"};
    for (size_t i = 0; i < 2; i++) {
        char whole[256];
        put(signs[i]);
        assert_true(cli_driver_unseen(root, NULL, 0));
        assert_true(cli_driver_unseen(root, &software, 1));
        const struct ks_gpu_info both[] = {software, card};
        assert_false(cli_driver_unseen(root, both, 2));
        snprintf(whole, sizeof whole, "%s%s", root, signs[i]);
        unlink(whole);
    }
    assert_non_null(strstr(cli_driver_hint, "apt-get install libvulkan1 libegl1"));
}

static int remove_root(void **state)
{
    static const char *const folders[] = {"/proc/driver/nvidia", "/proc/driver", "/proc", "/dev",
                                          ""};
    (void)state;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char whole[256];
        snprintf(whole, sizeof whole, "%s%s", root, folders[i]);
        rmdir(whole);
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_kernel_driver_nothing_is_missing),
        cmocka_unit_test(a_kernel_driver_whose_devices_vulkan_does_not_list_is_told),
    };
    assert_non_null(mkdtemp(root));
    return cmocka_run_group_tests(tests, NULL, remove_root);
}
