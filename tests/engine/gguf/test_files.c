/* What the file system can give in a model's place, and models in several files. */
#include "tests/testing.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/mapped.h"
#include "engine/gguf/gguf.h"
#include "engine/quant/type.h"
#include "tests/engine/gguf/writer.h"

static int make_folder(void **state)
{
    *state = malloc(64);
    gw_folder(*state);
    return 0;
}

static int remove_folder(void **state)
{
    gw_remove(*state);
    free(*state);
    return 0;
}

static size_t open_files(void)
{
    size_t n = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

/* Whether a file below the folder is still mapped; /proc files have no size to ask for. */
static bool still_mapped(const char *folder)
{
    char line[4096];
    bool found = false;
    FILE *f = fopen("/proc/self/maps", "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        found = found || strstr(line, folder);
    fclose(f);
    return found;
}

/* Opens what must be refused and returns the reason, valid until the next call. */
static const char *refusal(const char *folder, const char *path, enum ks_code code)
{
    static struct ks_error err;
    size_t before = open_files();
    err = (struct ks_error){0};
    assert_null(ks_gguf_open(path, &err));
    assert_int_equal(open_files(), before);
    assert_false(still_mapped(folder));
    if (err.code != code)
        fail_msg("code %d: %s", (int)err.code, err.text);
    return err.text;
}

/* Not inlined: gcc 12 would warn of a NULL text that there is not. */
__attribute__((noinline)) static void says(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no \"%s\" in: %s", part, text);
}

static const char *in(const char *folder, const char *name)
{
    static char paths[4][256];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

/* --------------------------------------------------------------------------- odd files */

static void a_missing_file_is_named(void **state)
{
    const char *path = in(*state, "absent.gguf");
    const char *text = refusal(*state, path, KS_SYSTEM);
    says(text, path);
    says(text, "No such file");
}

static void an_empty_file_is_refused(void **state)
{
    const char *path = in(*state, "empty.gguf");
    fclose(fopen(path, "wb"));
    const char *text = refusal(*state, path, KS_BAD_INPUT);
    says(text, path);
    says(text, "empty");
}

static void a_directory_is_refused(void **state)
{
    const char *text = refusal(*state, *state, KS_BAD_INPUT);
    says(text, *state);
    says(text, "directory");
}

static void a_pipe_is_refused_without_waiting(void **state)
{
    const char *path = in(*state, "pipe.gguf");
    assert_int_equal(mkfifo(path, 0600), 0);
    const char *text = refusal(*state, path, KS_BAD_INPUT);
    says(text, path);
    says(text, "pipe");
}

static void a_device_is_refused(void **state)
{
    const char *text = refusal(*state, "/dev/null", KS_BAD_INPUT);
    says(text, "/dev/null");
    says(text, "not a regular file");
}

static void a_broken_file_is_closed(void **state)
{
    const char *path = in(*state, "broken.gguf");
    struct ks_buf b = {0};
    gw_header(&b, 3, 1, 1);
    gw_key_str(&b, "general.name", "x");
    gw_tensor(&b, "w", KS_F32, 1000, 0, 0);
    gw_save(&b, path);
    ks_buf_finish(&b);
    says(refusal(*state, path, KS_BAD_INPUT), "tensor w");
}

/* ------------------------------------------------------------------------------- splits */

struct part {
    uint16_t no, count;
    uint32_t total;
    const char *tensors[3];
};

static void save_part(const char *path, const struct part *p)
{
    struct ks_buf b = {0};
    uint64_t n = 0;
    while (n < 3 && p->tensors[n])
        n++;
    gw_header(&b, 3, n, 4);
    gw_key_u16(&b, "split.no", p->no);
    gw_key_u16(&b, "split.count", p->count);
    gw_key(&b, "split.tensors.count", 5);
    gw_u32(&b, p->total);
    gw_key_u32(&b, "which", p->no);
    for (uint64_t i = 0; i < n; i++)
        gw_tensor(&b, p->tensors[i], KS_F32, 8, 0, 32 * i);
    gw_pad(&b, 32);
    gw_data(&b, 32 * n, p->no);
    gw_save(&b, path);
    ks_buf_finish(&b);
}

static const char *const split_names[3] = {"m-00001-of-00003.gguf", "m-00002-of-00003.gguf",
                                           "m-00003-of-00003.gguf"};

/* The first part of a real split often has no tensors at all. */
static void save_split(const char *folder)
{
    const struct part parts[3] = {{0, 3, 4, {NULL}}, {1, 3, 4, {"c", "a"}}, {2, 3, 4, {"b", "d"}}};
    for (int i = 0; i < 3; i++)
        save_part(in(folder, split_names[i]), &parts[i]);
}

static void check_split(const char *path)
{
    struct ks_error err;
    struct ks_gguf *g = ks_gguf_open(path, &err);
    if (!g)
        fail_msg("%s", err.text);
    assert_string_equal(ks_gguf_path(g), path);
    assert_int_equal(ks_gguf_n_tensors(g), 4);
    const char *const names[4] = {"c", "a", "b", "d"};
    const uint32_t parts[4] = {1, 1, 2, 2};
    for (size_t i = 0; i < 4; i++) {
        const struct ks_gguf_tensor *t = ks_gguf_tensor(g, i);
        assert_string_equal(t->name, names[i]);
        assert_int_equal(t->part, parts[i]);
        assert_ptr_equal(ks_gguf_find_tensor(g, names[i]), t);
        struct ks_buf want = {0};
        gw_data(&want, 64, parts[i]);
        assert_memory_equal(t->data, want.bytes + 32 * (i % 2), 32);
        ks_buf_finish(&want);
    }
    uint32_t which = 9;
    assert_int_equal(ks_gguf_get_u32(g, "which", &which, &err), 1);
    assert_int_equal(which, 0);
    ks_gguf_close(g);
}

static void a_split_opens_by_any_of_its_parts(void **state)
{
    save_split(*state);
    for (int i = 0; i < 3; i++)
        check_split(in(*state, split_names[i]));
    assert_false(still_mapped(*state));
}

static void a_split_counts_all_its_bytes(void **state)
{
    save_split(*state);
    uint64_t bytes = 0;
    for (int i = 0; i < 3; i++) {
        struct stat st;
        assert_int_equal(stat(in(*state, split_names[i]), &st), 0);
        bytes += (uint64_t)st.st_size;
    }
    struct ks_error err;
    struct ks_gguf *g = ks_gguf_open(in(*state, split_names[0]), &err);
    assert_non_null(g);
    assert_true(ks_gguf_file_bytes(g) == bytes);
    ks_gguf_close(g);
}

static void an_address_tells_which_file_it_is_of(void **state)
{
    save_split(*state);
    struct ks_error err;
    struct ks_gguf *g = ks_gguf_open(in(*state, split_names[0]), &err);
    assert_non_null(g);
    const uint8_t *data = NULL;
    for (size_t i = 0; i < ks_gguf_n_tensors(g); i++) {
        const struct ks_gguf_tensor *t = ks_gguf_tensor(g, i);
        data = t->data;
        assert_string_equal(ks_mapped_file_at(data), in(*state, split_names[t->part]));
        assert_non_null(ks_mapped_file_at(data + t->bytes - 1));
    }
    assert_non_null(data);
    assert_null(ks_mapped_file_at(&err));
    ks_gguf_close(g);
    assert_null(ks_mapped_file_at(data));
}

static void a_split_of_one_needs_no_special_name(void **state)
{
    const char *path = in(*state, "whole.gguf");
    save_part(path, &(struct part){0, 1, 1, {"a"}});
    struct ks_error err;
    struct ks_gguf *g = ks_gguf_open(path, &err);
    assert_non_null(g);
    assert_int_equal(ks_gguf_n_tensors(g), 1);
    ks_gguf_close(g);
}

static void a_missing_part_is_named(void **state)
{
    save_split(*state);
    unlink(in(*state, split_names[1]));
    for (int i = 0; i < 3; i += 2) {
        const char *text = refusal(*state, in(*state, split_names[i]), KS_BAD_INPUT);
        says(text, in(*state, split_names[1]));
        says(text, "missing");
        says(text, "part 2 of 3");
    }
}

static void a_renamed_part_is_told_its_name(void **state)
{
    save_split(*state);
    const char *path = in(*state, "renamed.gguf");
    assert_int_equal(rename(in(*state, split_names[1]), path), 0);
    const char *text = refusal(*state, path, KS_BAD_INPUT);
    says(text, path);
    says(text, "part 2 of 3");
    says(text, "-00002-of-00003.gguf");
}

static void swapped_parts_are_refused(void **state)
{
    save_split(*state);
    save_part(in(*state, split_names[2]), &(struct part){1, 3, 4, {"b", "d"}});
    const char *text = refusal(*state, in(*state, split_names[0]), KS_BAD_INPUT);
    says(text, in(*state, split_names[2]));
    says(text, "part 2 of 3");
}

static void a_part_of_another_split_is_refused(void **state)
{
    save_split(*state);
    save_part(in(*state, split_names[2]), &(struct part){2, 4, 4, {"b", "d"}});
    const char *text = refusal(*state, in(*state, split_names[0]), KS_BAD_INPUT);
    says(text, in(*state, split_names[2]));
    says(text, "part 3 of 4");
}

static void a_part_beyond_the_count_is_refused(void **state)
{
    const char *path = in(*state, split_names[2]);
    save_part(path, &(struct part){3, 3, 4, {"b"}});
    const char *text = refusal(*state, path, KS_BAD_INPUT);
    says(text, path);
    says(text, "split.no");
}

static void a_wrong_total_of_tensors_is_refused(void **state)
{
    save_split(*state);
    save_part(in(*state, split_names[2]), &(struct part){2, 3, 4, {"b"}});
    const char *text = refusal(*state, in(*state, split_names[0]), KS_BAD_INPUT);
    says(text, "split.tensors.count is 4");
    says(text, "3 tensors");
}

static void a_tensor_in_two_parts_is_refused(void **state)
{
    save_split(*state);
    save_part(in(*state, split_names[2]), &(struct part){2, 3, 4, {"b", "a"}});
    const char *text = refusal(*state, in(*state, split_names[0]), KS_BAD_INPUT);
    says(text, "tensor a is there twice");
}

static void a_broken_part_is_named(void **state)
{
    save_split(*state);
    assert_int_equal(truncate(in(*state, split_names[2]), 200), 0);
    const char *text = refusal(*state, in(*state, split_names[0]), KS_BAD_INPUT);
    says(text, in(*state, split_names[2]));
    says(text, "download it again");
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        CASE(a_missing_file_is_named),
        CASE(an_empty_file_is_refused),
        CASE(a_directory_is_refused),
        CASE(a_pipe_is_refused_without_waiting),
        CASE(a_device_is_refused),
        CASE(a_broken_file_is_closed),
        CASE(a_split_opens_by_any_of_its_parts),
        CASE(a_split_counts_all_its_bytes),
        CASE(an_address_tells_which_file_it_is_of),
        CASE(a_split_of_one_needs_no_special_name),
        CASE(a_missing_part_is_named),
        CASE(a_renamed_part_is_told_its_name),
        CASE(swapped_parts_are_refused),
        CASE(a_part_of_another_split_is_refused),
        CASE(a_part_beyond_the_count_is_refused),
        CASE(a_wrong_total_of_tensors_is_refused),
        CASE(a_tensor_in_two_parts_is_refused),
        CASE(a_broken_part_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
