/*
 * Every allocation of an open fails once: the answer is an error, never a crash, and nothing leaks
 * (the leak checker of the sanitizer looks on).
 */
#include "tests/testing.h"

#include <string.h>

#include "engine/gguf/gguf.h"
#include "engine/quant/type.h"
#include "tests/engine/gguf/touch.h"
#include "tests/engine/gguf/writer.h"
#include "tests/failing_memory.h"

/* Enough metadata that the list grows more than once. */
static void save(const char *path, uint16_t no)
{
    struct ks_buf b = {0};
    char name[16];
    gw_header(&b, 3, 40, 43);
    gw_key_u16(&b, "split.no", no);
    gw_key_u16(&b, "split.count", 2);
    gw_key_array(&b, "tokens", 8, 1);
    gw_str(&b, "a");
    for (unsigned i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "k%u", i);
        gw_key_u32(&b, name, i);
    }
    for (unsigned i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "t%u.%u", no, i);
        gw_tensor(&b, name, KS_F32, 8, 0, 32 * i);
    }
    gw_pad(&b, 32);
    gw_data(&b, 40 * 32, no);
    gw_save(&b, path);
    ks_buf_finish(&b);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    char folder[64], first[128], second[128];
    gw_folder(folder);
    snprintf(first, sizeof first, "%s/m-00001-of-00002.gguf", folder);
    snprintf(second, sizeof second, "%s/m-00002-of-00002.gguf", folder);
    save(first, 0);
    save(second, 1);
    struct ks_gguf *g = NULL;
    long tries = 0;
    while (!g) {
        struct ks_error err = {0};
        allocations_left = tries++;
        g = ks_gguf_open(second, &err);
        allocations_left = -1;
        if (!g && err.code != KS_NO_MEMORY)
            fail_msg("allocation %ld: %s", tries, err.text);
        assert_true(g || strstr(err.text, "out of memory"));
    }
    assert_true(tries > 150); /* each key and each name is one */
    touch_all(g);
    ks_gguf_close(g);
    gw_remove(folder);
}

int main(void)
{
    memory_comes_back = true;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
