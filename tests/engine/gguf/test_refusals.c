/* Broken files: each is refused with its name, the place, what was found and what to do. */
#include "tests/testing.h"

#include <string.h>

#include "engine/gguf/gguf.h"
#include "engine/gguf/parse.h"
#include "engine/quant/type.h"
#include "tests/engine/gguf/writer.h"

struct refusal {
    const char *name;
    void (*build)(struct ks_buf *b);
    enum ks_code code;
    const char *says[4]; /* each must be in the text */
};

/* ---------------------------------------------------------------------------- not a GGUF */

static void two_bytes(struct ks_buf *b)
{
    gw_bytes(b, "GG", 2);
}

static void other_magic(struct ks_buf *b)
{
    gw_bytes(b,
             "\x7f"
             "ELF\x02\x01",
             6);
}

static void ggjt(struct ks_buf *b)
{
    gw_bytes(b, "tjgg\1\0\0\0", 8);
}

static void git_lfs(struct ks_buf *b)
{
    const char pointer[] = "version https://git-lfs.github.com/spec/v1\noid sha256:00\n";
    gw_bytes(b, pointer, strlen(pointer));
}

static void web_page(struct ks_buf *b)
{
    const char page[] = "<!DOCTYPE html><html><body>Not found</body></html>";
    gw_bytes(b, page, strlen(page));
}

static void safetensors(struct ks_buf *b)
{
    gw_u64(b, 19);
    gw_bytes(b, "{\"__metadata__\":{}}", 19);
}

static void zip(struct ks_buf *b)
{
    gw_bytes(b, "PK\x03\x04\x14\0", 6);
}

static void gzip(struct ks_buf *b)
{
    gw_bytes(b, "\x1f\x8b\x08\0", 4);
}

static void zeros(struct ks_buf *b)
{
    gw_pad(b, 1);
    gw_u64(b, 0);
    gw_u64(b, 0);
}

static void version(struct ks_buf *b, uint32_t v)
{
    gw_header(b, v, 0, 0);
}

static void version_1(struct ks_buf *b)
{
    version(b, 1);
}

static void version_0(struct ks_buf *b)
{
    version(b, 0);
}

static void version_4(struct ks_buf *b)
{
    version(b, 4);
}

static void big_endian(struct ks_buf *b)
{
    version(b, 0x03000000);
}

static void big_endian_magic(struct ks_buf *b)
{
    gw_bytes(b, "FUGG", 4);
    gw_u32(b, 0x03000000);
}

/* ------------------------------------------------------------------------------ metadata */

static void most_values(struct ks_buf *b)
{
    gw_header(b, 3, 0, UINT64_MAX);
    gw_key_u32(b, "a", 1);
}

static void too_many_values(struct ks_buf *b)
{
    gw_header(b, 3, 0, 3); /* 3 need 42 bytes at least; 2 entries of 17 are there */
    gw_key_u32(b, "a", 1);
    gw_key_u32(b, "b", 1);
}

static void empty_key(struct ks_buf *b)
{
    gw_header(b, 3, 0, 2);
    gw_key_u32(b, "general.file_type", 1);
    gw_key_u32(b, "", 1);
}

static void nul_in_key(struct ks_buf *b)
{
    gw_header(b, 3, 0, 1);
    gw_str_n(b, "general\0name", 12);
    gw_u32(b, 4);
    gw_u32(b, 1);
}

static void key_past_end(struct ks_buf *b)
{
    gw_header(b, 3, 0, 1);
    gw_u64(b, 100);
    gw_bytes(b, "general.name", 12);
}

static void endless_key(struct ks_buf *b)
{
    gw_header(b, 3, 0, 1);
    gw_u64(b, UINT64_MAX);
    gw_bytes(b, "general.name", 12);
}

static void unknown_value_type(struct ks_buf *b)
{
    gw_header(b, 3, 0, 1);
    gw_key(b, "general.name", 13);
    gw_u64(b, 0);
}

static void unknown_item_type(struct ks_buf *b)
{
    gw_header(b, 3, 0, 1);
    gw_key_array(b, "tokens", 0x80000008, 1);
}

static void nested_array(struct ks_buf *b)
{
    gw_header(b, 3, 0, 1);
    gw_key_array(b, "nested", 9, 1);
    gw_u32(b, 4);
    gw_u64(b, 0);
}

static void string_past_end(struct ks_buf *b)
{
    gw_header(b, 3, 0, 1);
    gw_key(b, "general.name", 8);
    gw_u64(b, 1000);
    gw_bytes(b, "abc", 3);
}

static void overflowing_array(struct ks_buf *b)
{
    gw_header(b, 3, 0, 1);
    gw_key_array(b, "scores", 6, UINT64_MAX / 4 + 2); /* times 4 bytes is 4 in 64 bits */
    gw_u64(b, 0);
}

static void too_many_strings(struct ks_buf *b)
{
    gw_header(b, 3, 0, 1);
    gw_key_array(b, "tokens", 8, 1ull << 61);
    gw_str(b, "a");
}

static void string_item_past_end(struct ks_buf *b)
{
    gw_header(b, 3, 0, 1);
    gw_key_array(b, "tokens", 8, 2);
    gw_str(b, "a");
    gw_u64(b, 7);
    gw_bytes(b, "abcdef", 6);
}

static void bool_of_2(struct ks_buf *b)
{
    gw_header(b, 3, 0, 1);
    gw_key_bool(b, "tokenizer.ggml.add_bos_token", 2);
}

static void bool_item_of_255(struct ks_buf *b)
{
    gw_header(b, 3, 0, 1);
    gw_key_array(b, "flags", 7, 3);
    gw_bytes(b, "\1\0\xff", 3);
}

static void key_twice(struct ks_buf *b)
{
    gw_header(b, 3, 0, 3);
    gw_key_u32(b, "llama.block_count", 1);
    gw_key_u32(b, "x", 1);
    gw_key_f32(b, "llama.block_count", 1);
}

static void control_bytes_in_key(struct ks_buf *b)
{
    gw_header(b, 3, 0, 1);
    gw_key(b, "\x1b[2J\xc3\xa9", 99);
}

static void alignment_of_0(struct ks_buf *b)
{
    gw_header(b, 3, 0, 1);
    gw_key_u32(b, "general.alignment", 0);
}

static void alignment_of_12(struct ks_buf *b)
{
    gw_header(b, 3, 0, 1);
    gw_key_u32(b, "general.alignment", 12);
}

static void alignment_of_text(struct ks_buf *b)
{
    gw_header(b, 3, 0, 1);
    gw_key_str(b, "general.alignment", "32");
}

/* ------------------------------------------------------------------------------- tensors */

static void most_tensors(struct ks_buf *b)
{
    gw_header(b, 3, UINT64_MAX, 0);
    gw_tensor(b, "w", KS_F32, 1, 0, 0);
}

static void too_many_tensors(struct ks_buf *b)
{
    gw_header(b, 3, 3, 0);
    gw_tensor(b, "v", KS_F32, 1, 0, 0);
    gw_tensor(b, "w", KS_F32, 1, 0, 0);
}

/* One tensor of 64 bytes of data whose entry the test chooses. */
static void one_tensor(struct ks_buf *b, const char *name, uint32_t type, uint64_t dim0,
                       uint64_t dim1, uint64_t offset)
{
    gw_header(b, 3, 1, 0);
    gw_tensor(b, name, type, dim0, dim1, offset);
    gw_pad(b, 32);
    gw_data(b, 64, 1);
}

static void unnamed_tensor(struct ks_buf *b)
{
    one_tensor(b, "", KS_F32, 16, 0, 0);
}

static void nul_in_tensor_name(struct ks_buf *b)
{
    gw_header(b, 3, 1, 0);
    gw_str_n(b, "blk.0\0.w", 8);
    gw_u32(b, 1);
    gw_u64(b, 1);
    gw_u32(b, KS_F32);
    gw_u64(b, 0);
}

static void tensor_twice(struct ks_buf *b)
{
    gw_header(b, 3, 3, 0);
    gw_tensor(b, "output.weight", KS_F32, 8, 0, 0);
    gw_tensor(b, "x", KS_F32, 8, 0, 32);
    gw_tensor(b, "output.weight", KS_F32, 8, 0, 64);
    gw_pad(b, 32);
    gw_data(b, 96, 1);
}

static void dimensions(struct ks_buf *b, uint32_t n, const uint64_t *dims, uint32_t type)
{
    gw_header(b, 3, 1, 0);
    gw_str(b, "w");
    gw_u32(b, n);
    for (uint32_t i = 0; i < n; i++)
        gw_u64(b, dims[i]);
    gw_u32(b, type);
    gw_u64(b, 0);
    gw_pad(b, 32);
    gw_data(b, 64, 1);
}

static void no_dimensions(struct ks_buf *b)
{
    dimensions(b, 0, NULL, KS_F32);
}

static void five_dimensions(struct ks_buf *b)
{
    dimensions(b, 5, (const uint64_t[]){1, 1, 1, 1, 1}, KS_F32);
}

static void dimension_of_0(struct ks_buf *b)
{
    dimensions(b, 3, (const uint64_t[]){4, 0, 2}, KS_F32);
}

static void overflowing_dimensions(struct ks_buf *b)
{
    dimensions(b, 4, (const uint64_t[]){4, 1ull << 31, 1ull << 31, 1}, KS_F32);
}

static void overflowing_rows(struct ks_buf *b)
{
    dimensions(b, 4, (const uint64_t[]){1, 1ull << 32, 1ull << 32, 2}, KS_F32);
}

static void overflowing_bytes(struct ks_buf *b)
{
    dimensions(b, 2, (const uint64_t[]){1, 1ull << 62}, KS_F64);
}

static void broken_row(struct ks_buf *b)
{
    one_tensor(b, "blk.0.ffn_up.weight", KS_Q4_K, 576, 2, 0);
}

static void type_nobody_knows(struct ks_buf *b)
{
    one_tensor(b, "blk.0.ffn_up.weight", 12345, 16, 0, 0);
}

static void type_of_a_fork(struct ks_buf *b)
{
    one_tensor(b, "blk.0.ffn_up.weight", 139, 256, 0, 0);
}

static void repacked_type_of_a_fork(struct ks_buf *b)
{
    one_tensor(b, "blk.0.ffn_up.weight", 339, 256, 0, 0);
}

static void type_that_was_dropped(struct ks_buf *b)
{
    one_tensor(b, "blk.0.ffn_up.weight", 33, 32, 0, 0);
}

static void misaligned(struct ks_buf *b)
{
    one_tensor(b, "blk.0.ffn_up.weight", KS_F32, 4, 0, 16);
}

static void past_the_end(struct ks_buf *b)
{
    one_tensor(b, "blk.0.ffn_up.weight", KS_F32, 9, 0, 32); /* 36 of the last 32 bytes */
}

static void far_past_the_end(struct ks_buf *b)
{
    one_tensor(b, "w", KS_F32, 1, 0, UINT64_MAX - 31);
}

static void overlap(struct ks_buf *b)
{
    gw_header(b, 3, 3, 0);
    gw_tensor(b, "high", KS_F32, 8, 0, 64);
    gw_tensor(b, "low", KS_F32, 9, 0, 0);
    gw_tensor(b, "middle", KS_F32, 8, 0, 32);
    gw_pad(b, 32);
    gw_data(b, 96, 1);
}

static void long_name(struct ks_buf *b)
{
    char name[5001];
    memset(name, 'x', 5000);
    name[5000] = '\0';
    one_tensor(b, name, 12345, 16, 0, 0);
}

#define DAMAGED "download it again"

static const struct refusal refusals[] = {
    {"two_bytes_are_no_gguf", two_bytes, KS_BAD_INPUT, {"byte 0", "\"GG\"", "not a GGUF"}},
    {"another_magic_is_shown",
     other_magic,
     KS_BAD_INPUT,
     {"byte 0", "\"\\x7fELF\\x02\\x01\"", "not a GGUF"}},
    {"a_ggml_file_of_2023_is_named", ggjt, KS_BAD_INPUT, {"byte 0", "GGJT", "get the model as"}},
    {"a_git_lfs_pointer_is_named", git_lfs, KS_BAD_INPUT, {"Git LFS pointer", "git lfs pull"}},
    {"a_web_page_is_named", web_page, KS_BAD_INPUT, {"a web page", "download link"}},
    {"safetensors_are_named", safetensors, KS_BAD_INPUT, {"safetensors", "convert"}},
    {"a_zip_is_named", zip, KS_BAD_INPUT, {"zip", "PyTorch", "convert"}},
    {"gzip_is_named", gzip, KS_BAD_INPUT, {"gzip", "unpack"}},
    {"zeros_are_an_unfinished_download", zeros, KS_BAD_INPUT, {"zeros", DAMAGED}},
    {"version_1_is_refused_by_name",
     version_1,
     KS_UNSUPPORTED,
     {"byte 4", "version 1,", "2 and 3", "convert"}},
    {"version_0_is_refused", version_0, KS_UNSUPPORTED, {"byte 4", "version 0", "2 and 3"}},
    {"version_4_is_refused", version_4, KS_UNSUPPORTED, {"byte 4", "version 4", "newer"}},
    {"big_endian_is_refused_by_name",
     big_endian,
     KS_UNSUPPORTED,
     {"byte 4", "big-endian", "version 3", "little-endian"}},
    {"a_swapped_magic_is_refused", big_endian_magic, KS_BAD_INPUT, {"byte 0", "byte-swapped"}},

    {"a_wild_count_of_metadata_is_refused",
     most_values,
     KS_BAD_INPUT,
     {"byte 24", "18446744073709551615 metadata entries", "17 bytes", DAMAGED}},
    {"one_metadata_entry_too_many_is_refused",
     too_many_values,
     KS_BAD_INPUT,
     {"byte 24", "3 metadata entries", "34 bytes", DAMAGED}},
    {"an_empty_key_is_refused",
     empty_key,
     KS_BAD_INPUT,
     {"byte 57", "metadata entry 2", "empty", DAMAGED}},
    {"a_nul_in_a_key_is_refused",
     nul_in_key,
     KS_BAD_INPUT,
     {"byte 24", "metadata entry 1", "NUL", "general\\x00name"}},
    {"a_key_past_the_end_is_refused",
     key_past_end,
     KS_BAD_INPUT,
     {"byte 32", "metadata entry 1", "100 bytes", "12 bytes are left"}},
    {"an_endless_key_is_refused",
     endless_key,
     KS_BAD_INPUT,
     {"byte 32", "18446744073709551615 bytes", "12 bytes are left", DAMAGED}},
    {"an_unknown_value_type_is_refused",
     unknown_value_type,
     KS_BAD_INPUT,
     {"byte 44", "general.name", "value type 13", DAMAGED}},
    {"an_unknown_item_type_is_refused",
     unknown_item_type,
     KS_BAD_INPUT,
     {"byte 42", "tokens", "value type 2147483656", DAMAGED}},
    {"an_array_of_arrays_is_refused",
     nested_array,
     KS_BAD_INPUT,
     {"byte 42", "nested", "array of arrays"}},
    {"a_string_past_the_end_is_refused",
     string_past_end,
     KS_BAD_INPUT,
     {"byte 56", "general.name", "1000 bytes", "3 bytes are left"}},
    {"an_array_whose_size_overflows_is_refused",
     overflowing_array,
     KS_BAD_INPUT,
     {"byte 54", "scores", "4611686018427387905 array items", "8 bytes that are left"}},
    {"a_wild_count_of_strings_is_refused",
     too_many_strings,
     KS_BAD_INPUT,
     {"byte 54", "tokens", "2305843009213693952 strings", "9 bytes that are left"}},
    {"a_string_item_past_the_end_is_refused",
     string_item_past_end,
     KS_BAD_INPUT,
     {"byte 71", "tokens", "7 bytes", "6 bytes are left"}},
    {"a_boolean_of_2_is_refused",
     bool_of_2,
     KS_BAD_INPUT,
     {"byte 64", "add_bos_token", "boolean is 2", DAMAGED}},
    {"a_boolean_item_of_255_is_refused",
     bool_item_of_255,
     KS_BAD_INPUT,
     {"byte 55", "flags", "boolean is 255", DAMAGED}},
    {"a_key_that_is_there_twice_is_refused",
     key_twice,
     KS_BAD_INPUT,
     {"llama.block_count", "twice", "1 and 3"}},
    {"control_bytes_reach_no_terminal",
     control_bytes_in_key,
     KS_BAD_INPUT,
     {"(\\x1b[2J\\xc3\\xa9)", "value type 99"}},
    {"an_alignment_of_0_is_refused",
     alignment_of_0,
     KS_BAD_INPUT,
     {"general.alignment", "is 0", "multiple of 8"}},
    {"an_alignment_of_12_is_refused",
     alignment_of_12,
     KS_BAD_INPUT,
     {"general.alignment", "is 12", "multiple of 8"}},
    {"an_alignment_in_words_is_refused",
     alignment_of_text,
     KS_BAD_INPUT,
     {"general.alignment", "string", "integer"}},

    {"a_wild_count_of_tensors_is_refused",
     most_tensors,
     KS_BAD_INPUT,
     {"byte 24", "18446744073709551615 tensor entries", "33 bytes", DAMAGED}},
    {"one_tensor_too_many_is_refused",
     too_many_tensors,
     KS_BAD_INPUT,
     {"byte 24", "3 tensor entries", "66 bytes", DAMAGED}},
    {"a_tensor_without_a_name_is_refused",
     unnamed_tensor,
     KS_BAD_INPUT,
     {"byte 24", "tensor 1", "empty", DAMAGED}},
    {"a_nul_in_a_tensor_name_is_refused",
     nul_in_tensor_name,
     KS_BAD_INPUT,
     {"byte 24", "tensor 1", "NUL", "blk.0\\x00.w"}},
    {"a_tensor_that_is_there_twice_is_refused",
     tensor_twice,
     KS_BAD_INPUT,
     {"output.weight", "twice"}},
    {"no_dimensions_are_refused", no_dimensions, KS_BAD_INPUT, {"(w)", "0 dimensions", "1 to 4"}},
    {"five_dimensions_are_refused",
     five_dimensions,
     KS_BAD_INPUT,
     {"byte 33", "(w)", "5 dimensions", "1 to 4"}},
    {"a_dimension_of_0_is_refused",
     dimension_of_0,
     KS_BAD_INPUT,
     {"byte 45", "(w)", "dimension 1 is 0", DAMAGED}},
    {"dimensions_that_overflow_are_refused",
     overflowing_dimensions,
     KS_BAD_INPUT,
     {"(w)", "4 x 2147483648 x 2147483648 x 1", "64 bits"}},
    {"rows_that_overflow_are_refused",
     overflowing_rows,
     KS_BAD_INPUT,
     {"(w)", "1 x 4294967296 x 4294967296 x 2", "64 bits"}},
    {"bytes_that_overflow_are_refused", overflowing_bytes, KS_BAD_INPUT, {"(w)", "64 bits"}},
    {"a_row_of_broken_blocks_is_refused",
     broken_row,
     KS_BAD_INPUT,
     {"blk.0.ffn_up.weight", "576", "Q4_K", "256"}},
    {"a_type_that_nobody_knows_is_refused_by_number",
     type_nobody_knows,
     KS_UNSUPPORTED,
     {"blk.0.ffn_up.weight", "tensor type 12345", "not known"}},
    {"a_type_of_a_fork_is_refused_by_its_name",
     type_of_a_fork,
     KS_UNSUPPORTED,
     {"blk.0.ffn_up.weight", "139", "IQ4_K of ik_llama.cpp"}},
    {"a_repacked_type_of_a_fork_is_refused_by_its_name",
     repacked_type_of_a_fork,
     KS_UNSUPPORTED,
     {"blk.0.ffn_up.weight", "339", "IQ4_K_R4 of ik_llama.cpp"}},
    {"a_type_that_was_dropped_is_refused_by_its_name",
     type_that_was_dropped,
     KS_UNSUPPORTED,
     {"blk.0.ffn_up.weight", "33", "Q4_0_8_8"}},
    {"a_misaligned_tensor_is_refused",
     misaligned,
     KS_BAD_INPUT,
     {"blk.0.ffn_up.weight", "offset 16", "32"}},
    {"a_tensor_past_the_end_is_refused",
     past_the_end,
     KS_BAD_INPUT,
     {"blk.0.ffn_up.weight", "36 bytes at offset 32", "byte 96", "160 bytes"}},
    {"a_tensor_far_past_the_end_is_refused",
     far_past_the_end,
     KS_BAD_INPUT,
     {"tensor w", "offset 18446744073709551584", "beyond"}},
    {"tensors_that_overlap_are_refused",
     overlap,
     KS_BAD_INPUT,
     {"tensor low (bytes 160 to 195)", "tensor middle (from byte 192)", "overlap"}},
    {"a_long_name_leaves_room_for_the_reason",
     long_name,
     KS_UNSUPPORTED,
     {"xxx...)", "tensor type 12345"}},
};

static void refused(void **state)
{
    const struct refusal *r = *state;
    struct ks_buf b = {0};
    r->build(&b);
    char *exact = malloc(b.len); /* not a byte more, so that a read past the end shows */
    assert_non_null(exact);
    memcpy(exact, b.bytes, b.len);
    struct ks_error err = {0};
    struct ks_gguf *g = ks_gguf_open_memory("some/m.gguf", exact, b.len, &err);
    assert_null(g);
    free(exact);
    ks_buf_finish(&b);
    if (strncmp(err.text, "some/m.gguf: ", 13) != 0)
        fail_msg("no file in: %s", err.text);
    for (size_t i = 0; i < 4 && r->says[i]; i++)
        if (!strstr(err.text, r->says[i]))
            fail_msg("no \"%s\" in: %s", r->says[i], err.text);
    assert_int_equal(err.code, r->code);
}

int main(void)
{
    enum { N = sizeof refusals / sizeof *refusals };
    struct CMUnitTest tests[N] = {0};
    for (size_t i = 0; i < N; i++)
        tests[i] = (struct CMUnitTest){.name = refusals[i].name,
                                       .test_func = refused,
                                       .initial_state = (void *)(uintptr_t)&refusals[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
