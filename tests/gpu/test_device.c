#include "tests/testing.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/gpu/listening.h"
#include "tests/gpu/product.h"

static void a_device_opens_and_leaves_nothing_behind(void **state)
{
    (void)state;
    struct listening l;
    open_listening(&l, NULL);
    assert_string_equal(ks_gpu_info(l.gpu)->why_not, "");
    assert_false(ks_gpu_lost(l.gpu));
    close_listening(&l);
}

static void the_list_has_each_device_under_names_that_open_it(void **state)
{
    (void)state;
    struct ks_error err = {0};
    struct ks_gpu_info *devices;
    size_t n, index;
    assert_int_equal(ks_gpu_list(&devices, &n, &err), 0);
    assert_true(n >= 1);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(strlen(devices[i].uuid), 32);
        assert_true(devices[i].name[0] && devices[i].driver[0]);
        assert_true(devices[i].max_binding_bytes >= 1 << 27);
        assert_true(devices[i].memory_bytes > 0);
        if (!devices[i].why_not[0]) {
            assert_int_equal(ks_gpu_choose(devices, n, devices[i].uuid, &index, &err), 0);
            assert_int_equal(index, i);
        }
    }
    free(devices);
}

static void what_a_device_gives_at_most_is_measured_within_its_limits(void **state)
{
    (void)state;
    struct listening l;
    struct ks_error err = {0};
    struct ks_gpu_limits limits = {0};
    open_listening(&l, &(struct ks_gpu_testing){.max_binding_bytes = 1 << 20});
    for (int i = 0; i < 5 && !(limits.dispatch_s > 0 && limits.dispatch_s < limits.submit_s); i++)
        if (ks_gpu_measure(l.gpu, 1 << 30, &limits, &err) != 0) /* others may hold one up */
            fail_msg("%s", err.text);
    assert_true(limits.copy_bytes_s > 1e6 && limits.copy_bytes_s < 1e14);
    assert_true(limits.read_bytes_s > 1e6 && limits.read_bytes_s < 1e14);
    assert_true(limits.flops_s > 1e6 && limits.flops_s < 1e15);
    assert_true(limits.dispatch_s > 0 && limits.dispatch_s < limits.submit_s);
    ks_gpu_inject(l.gpu, KS_GPU_FAULT_ALLOCATION, 1);
    assert_int_equal(ks_gpu_measure(l.gpu, 1 << 20, &limits, &err), -1);
    assert_int_equal(err.code, KS_NO_MEMORY);
    close_listening(&l);
}

static void without_a_driver_there_is_no_device_and_no_failure(void **state)
{
    (void)state;
    setenv("VK_DRIVER_FILES", "/dev/null", 1);
    setenv("VK_ICD_FILENAMES", "/dev/null", 1);
    struct ks_error err = {0};
    struct ks_gpu_info *devices;
    size_t n = 9;
    int listed = ks_gpu_list(&devices, &n, &err);
    struct ks_gpu *gpu = ks_gpu_open(NULL, &err);
    unsetenv("VK_DRIVER_FILES");
    unsetenv("VK_ICD_FILENAMES");
    assert_int_equal(listed, 0);
    assert_int_equal(n, 0);
    free(devices);
    assert_null(gpu);
    assert_int_equal(err.code, KS_UNSUPPORTED);
    assert_non_null(strstr(err.text, "no GPU"));
}

/* ------------------------------------------------------------------ failures */

static void a_failing_call_at_opening_is_named_and_leaves_nothing_behind(void **state)
{
    (void)state;
    for (unsigned after = 0; after < 4; after++) {
        struct listening l;
        struct ks_error err = {0};
        try_listening(
            &l, &(struct ks_gpu_testing){.fault = KS_GPU_FAULT_ALLOCATION, .after = after}, &err);
        assert_null(l.gpu);
        assert_int_equal(err.code, KS_NO_MEMORY);
        assert_non_null(
            strstr(err.text, "vkAllocateMemory returned VK_ERROR_OUT_OF_DEVICE_MEMORY"));
        check_silence(&l);
    }
}

/* One product from upload to reading; -1 with *err where anything failed. */
static int whole_product(struct ks_gpu *gpu, const struct product *p, enum ks_gpu_path path,
                         float *y, struct ks_error *err)
{
    struct ks_gpu_weight *w = ks_gpu_weight_create(gpu, p->layout, p->rows, p->cols, err);
    struct ks_gpu_tile *tile = w ? ks_gpu_tile_create(gpu, 70, p->rows, err) : NULL;
    int failed = -1;
    if (tile && ks_gpu_weight_append(w, p->rows, (const void *const *)p->parts, err) == 0 &&
        ks_gpu_matmul(w, path, p->x, 70, tile, err) == 0)
        failed = ks_gpu_tile_read(tile, 0, 70, y, err);
    ks_gpu_tile_destroy(tile);
    ks_gpu_weight_destroy(w);
    return failed;
}

/* Whether a weight can be filled and a tile read while the queue refuses all work. */
static bool does_without_queue(const struct ks_gpu_testing *t, const struct product *p)
{
    struct ks_error err = {0};
    struct listening l;
    open_listening(&l, t);
    struct ks_gpu_weight *w = ks_gpu_weight_create(l.gpu, p->layout, p->rows, p->cols, &err);
    struct ks_gpu_tile *tile = w ? ks_gpu_tile_create(l.gpu, 70, p->rows, &err) : NULL;
    assert_non_null(tile);
    ks_gpu_inject(l.gpu, KS_GPU_FAULT_SUBMIT, 0);
    bool filled = ks_gpu_weight_append(w, p->rows, (const void *const *)p->parts, &err) == 0;
    ks_gpu_inject(l.gpu, KS_GPU_FAULT_NONE, 0);
    if (!filled) {
        ks_gpu_weight_destroy(w);
        w = ks_gpu_weight_create(l.gpu, p->layout, p->rows, p->cols, &err);
        assert_int_equal(ks_gpu_weight_append(w, p->rows, (const void *const *)p->parts, &err), 0);
    }
    float *y = must(malloc(70 * p->rows * sizeof *y));
    assert_int_equal(ks_gpu_matmul(w, KS_GPU_MANY, p->x, 70, tile, &err), 0);
    ks_gpu_inject(l.gpu, KS_GPU_FAULT_SUBMIT, 0);
    bool read = ks_gpu_tile_read(tile, 0, 70, y, &err) == 0;
    ks_gpu_inject(l.gpu, KS_GPU_FAULT_NONE, 0);
    assert_int_equal(filled, read);
    if (read)
        assert_true(error_of_row(p, y, 70, p->rows - 1) < 1e-5);
    free(y);
    ks_gpu_tile_destroy(tile);
    ks_gpu_weight_destroy(w);
    close_listening(&l);
    return filled;
}

/* As on every device that shares its memory with the host. */
static void memory_that_the_host_sees_needs_no_copies(void **state)
{
    (void)state;
    struct listening l;
    open_listening(&l, NULL);
    bool discrete = ks_gpu_info(l.gpu)->kind == KS_GPU_KIND_DISCRETE;
    close_listening(&l);
    struct product p = make_product(KS_GPU_K6, 300, 256);
    assert_int_equal(does_without_queue(NULL, &p), !discrete);
    assert_false(does_without_queue(&(struct ks_gpu_testing){.staging = true}, &p));
    free_product(&p);
}

static void a_product_that_fails_anywhere_can_be_made_again(void **state)
{
    (void)state;
    static const enum ks_gpu_fault faults[] = {KS_GPU_FAULT_ALLOCATION, KS_GPU_FAULT_SUBMIT};
    struct product p = make_product(KS_GPU_I8, 300, 320);
    float *y = must(malloc(70 * 300 * sizeof *y)), *again = must(malloc(70 * 300 * sizeof *y));
    for (size_t f = 0; f < 2; f++) {
        struct ks_error err = {0};
        struct listening l;
        open_listening(&l, &(struct ks_gpu_testing){.staging = true});
        unsigned failures = 0;
        for (;; failures++) {
            ks_gpu_inject(l.gpu, faults[f], failures);
            if (whole_product(l.gpu, &p, KS_GPU_MANY, y, &err) == 0)
                break;
            assert_int_equal(err.code, KS_NO_MEMORY);
            assert_false(ks_gpu_lost(l.gpu));
        }
        ks_gpu_inject(l.gpu, KS_GPU_FAULT_NONE, 0);
        assert_true(failures >= 3);
        assert_int_equal(whole_product(l.gpu, &p, KS_GPU_MANY, again, &err), 0);
        assert_memory_equal(y, again, 70 * 300 * sizeof *y);
        close_listening(&l);
    }
    free(y);
    free(again);
    free_product(&p);
}

/* The proof comes with the first product, where the answer is spoiled once; the second one has a
 * proof of its own, and what was proved is not proved again. */
static void a_path_that_computes_wrongly_is_refused_with_both_numbers(void **state)
{
    (void)state;
    static const struct {
        enum ks_gpu_path path;
        unsigned after;
        const char *says;
    } wrong[] = {{KS_GPU_FEW, 0, "computes wrongly: few rows"},
                 {KS_GPU_FEW, 2, "computes wrongly: few rows"},
                 {KS_GPU_MANY, 0, "computes wrongly: many rows"}};
    struct product p = make_product(KS_GPU_I8, 300, 320);
    float *y = must(malloc(70 * 300 * sizeof *y));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct ks_error err = {0};
        struct listening l;
        open_listening(&l, NULL);
        if (i > 0) /* what was made beforehand is no less proved */
            assert_int_equal(ks_gpu_prepare(l.gpu, p.layout, p.cols, wrong[i].path, &err), 0);
        ks_gpu_inject(l.gpu, KS_GPU_FAULT_ANSWER, wrong[i].after);
        assert_int_equal(whole_product(l.gpu, &p, wrong[i].path, y, &err), -1);
        assert_int_equal(err.code, KS_UNSUPPORTED);
        if (!strstr(err.text, wrong[i].says))
            fail_msg("\"%s\" does not say \"%s\"", err.text, wrong[i].says);
        assert_int_equal(whole_product(l.gpu, &p, wrong[i].path, y, &err), 0);
        ks_gpu_inject(l.gpu, KS_GPU_FAULT_ANSWER, 0);
        assert_int_equal(whole_product(l.gpu, &p, wrong[i].path, y, &err), 0);
        close_listening(&l);
    }
    free(y);
    free_product(&p);
}

static void a_lost_device_refuses_all_further_work_and_another_can_be_opened(void **state)
{
    (void)state;
    struct product p = make_product(KS_GPU_I8, 300, 320);
    float *y = must(malloc(70 * 300 * sizeof *y));
    struct ks_error err = {0};
    struct listening l;
    open_listening(&l, NULL);
    ks_gpu_inject(l.gpu, KS_GPU_FAULT_LOST, 0);
    assert_int_equal(whole_product(l.gpu, &p, KS_GPU_MANY, y, &err), -1);
    assert_int_equal(err.code, KS_SYSTEM);
    assert_true(ks_gpu_lost(l.gpu));
    assert_int_equal(whole_product(l.gpu, &p, KS_GPU_MANY, y, &err), -1);
    assert_non_null(strstr(err.text, "VK_ERROR_DEVICE_LOST"));
    close_listening(&l);
    open_listening(&l, NULL);
    assert_int_equal(whole_product(l.gpu, &p, KS_GPU_MANY, y, &err), 0);
    close_listening(&l);
    free(y);
    free_product(&p);
}

/* ------------------------------------------------------------------ the cache on disk */

struct folder {
    char path[64], inner[128];
};

static struct folder make_folder(void)
{
    struct folder f = {.path = "/tmp/kldscope-gpu-XXXXXX"};
    assert_non_null(mkdtemp(f.path));
    snprintf(f.inner, sizeof f.inner, "%s/a/b", f.path);
    return f;
}

/* The name of the one file in the folder; "" where there is none. */
static void only_file(const char *folder, char *name, size_t size)
{
    name[0] = '\0';
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.') {
            assert_string_equal(name, "");
            snprintf(name, size, "%s/%s", folder, e->d_name);
        }
    if (d)
        closedir(d);
}

static void open_and_close(const char *cache_folder)
{
    struct listening l;
    open_listening(&l, &(struct ks_gpu_testing){.cache_folder = cache_folder});
    close_listening(&l);
}

static void pipelines_are_kept_on_disk_and_a_damaged_file_is_replaced(void **state)
{
    (void)state;
    struct folder f = make_folder();
    char name[512], again[512];
    open_and_close(f.inner);
    only_file(f.inner, name, sizeof name);
    assert_non_null(strstr(name, "/pipelines-"));
    size_t n, m;
    char *whole = test_read_file(name, &n);
    assert_true(n > 16);
    FILE *file = fopen(name, "wb");
    fwrite(whole, 1, n / 2, file);
    fclose(file);
    open_and_close(f.inner);
    only_file(f.inner, again, sizeof again);
    assert_string_equal(name, again);
    char *restored = test_read_file(name, &m);
    assert_int_equal(n, m);
    free(whole);
    free(restored);
    unlink(name);
    rmdir(f.inner);
    *strrchr(f.inner, '/') = '\0';
    rmdir(f.inner);
    rmdir(f.path);
}

static void a_cache_that_cannot_be_written_is_done_without(void **state)
{
    (void)state;
    open_and_close("/proc/nothing/here");
    open_and_close("/dev/null/kldscope");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_opens_and_leaves_nothing_behind),
        cmocka_unit_test(the_list_has_each_device_under_names_that_open_it),
        cmocka_unit_test(what_a_device_gives_at_most_is_measured_within_its_limits),
        cmocka_unit_test(without_a_driver_there_is_no_device_and_no_failure),
        cmocka_unit_test(a_path_that_computes_wrongly_is_refused_with_both_numbers),
        cmocka_unit_test(a_failing_call_at_opening_is_named_and_leaves_nothing_behind),
        cmocka_unit_test(memory_that_the_host_sees_needs_no_copies),
        cmocka_unit_test(a_product_that_fails_anywhere_can_be_made_again),
        cmocka_unit_test(a_lost_device_refuses_all_further_work_and_another_can_be_opened),
        cmocka_unit_test(pipelines_are_kept_on_disk_and_a_damaged_file_is_replaced),
        cmocka_unit_test(a_cache_that_cannot_be_written_is_done_without),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
