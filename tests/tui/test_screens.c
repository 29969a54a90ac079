/*
 * Golden screens: a run, a size and some keys make a picture, and tests/tui/golden/NAME.txt is that
 * picture. KS_UPDATE_GOLDEN=1 writes the files anew; look at the difference before keeping it.
 */
#include "tests/testing.h"

#include <string.h>
#include <time.h>

#include "engine/base/bytes.h"
#include "tests/tui/fake_snapshot.h"
#include "tui/screen/screen.h"

struct golden {
    const char *name;
    int width, height;
    bool ascii;
    enum fake_kind kind;
    const char *keys;   /* see press() */
    const char *notice; /* of a run that is only watched; NULL: it's the screen's own */
};

static const struct golden goldens[] = {
    {"running-100x30", 100, 30, false, FAKE_RUNNING, "", NULL},
    {"running-100x30-ascii", 100, 30, true, FAKE_RUNNING, "", NULL},
    {"running-80x24", 80, 24, false, FAKE_RUNNING, "", NULL},
    {"running-80x24-ascii", 80, 24, true, FAKE_RUNNING, "", NULL},
    {"running-200x60", 200, 60, false, FAKE_RUNNING, "", NULL},
    {"running-200x60-ascii", 200, 60, true, FAKE_RUNNING, "", NULL},
    {"running-40x10", 40, 10, false, FAKE_RUNNING, "", NULL},
    {"running-40x10-ascii", 40, 10, true, FAKE_RUNNING, "", NULL},
    {"running-10x3-ascii", 10, 3, true, FAKE_RUNNING, "", NULL},
    {"preparing-100x30", 100, 30, false, FAKE_PREPARING, "", NULL},
    {"preparing-80x24-ascii", 80, 24, true, FAKE_PREPARING, "", NULL},
    {"preparing-40x10", 40, 10, false, FAKE_PREPARING, "", NULL},
    {"building-80x24", 80, 24, false, FAKE_BUILDING, "", NULL},
    {"trouble-100x30", 100, 30, false, FAKE_TROUBLE, "", NULL},
    {"trouble-80x24-ascii", 80, 24, true, FAKE_TROUBLE, "G", NULL},
    {"done-100x30", 100, 30, false, FAKE_DONE, "jj", NULL},
    {"done-80x24-ascii", 80, 24, true, FAKE_DONE, "", NULL},
    {"stopped-80x24", 80, 24, false, FAKE_STOPPED, "", NULL},
    {"failed-early-80x24", 80, 24, false, FAKE_FAILED_EARLY, "", NULL},
    {"failed-early-40x10-ascii", 40, 10, true, FAKE_FAILED_EARLY, "", NULL},
    {"failed-late-100x30", 100, 30, false, FAKE_FAILED_LATE, "", NULL},
    {"many-100x30", 100, 30, false, FAKE_MANY, "ssssG", NULL},
    {"many-100x30-ascii", 100, 30, true, FAKE_MANY, "ssssss", NULL},
    {"help-100x30", 100, 30, false, FAKE_RUNNING, "?", NULL},
    {"help-80x24-ascii", 80, 24, true, FAKE_RUNNING, "?f", NULL},
    {"paused-100x30", 100, 30, false, FAKE_RUNNING, " +++jj", NULL},
    {"paused-40x10-ascii", 40, 10, true, FAKE_RUNNING, " +", NULL},
    {"filter-open-100x30", 100, 30, false, FAKE_RUNNING, "/Q4_K", NULL},
    {"filter-kept-80x24", 80, 24, false, FAKE_RUNNING, "/q4\r", NULL},
    {"filter-nothing-80x24-ascii", 80, 24, true, FAKE_RUNNING, "/zz\r", NULL},
    {"zoom-histogram-100x30", 100, 30, false, FAKE_RUNNING, "j2z", NULL},
    {"zoom-log-80x24", 80, 24, false, FAKE_RUNNING, "3", NULL},
    {"log-held-100x30", 100, 30, false, FAKE_RUNNING, "3kkkk++", NULL},
    {"sort-bits-down-100x30", 100, 30, false, FAKE_RUNNING, "ssssssssssS", NULL},
    {"leave-asked-100x30", 100, 30, false, FAKE_RUNNING, "q", NULL},
    {"watching-100x30", 100, 30, false, FAKE_RUNNING, "", ""},
    {"watching-80x24-ascii", 80, 24, true, FAKE_RUNNING, "", ""},
    {"watching-40x10", 40, 10, false, FAKE_DONE, "", ""},
    {"watching-gone-80x24", 80, 24, false, FAKE_STOPPED, "",
     "the process that wrote this run is gone: stopped, go on with run --resume --out "
     "runs/smollm2-nightly.kld"},
    {"watching-replaced-100x30-ascii", 100, 30, true, FAKE_RUNNING, "",
     "!runs/a.kld: the run file was removed, moved or replaced while it was being read; open what "
     "is there now anew"},
};

/* Types a key a character: \t \r \e as they are, '+' makes a window pass. */
static void press(struct ks_screen *s, struct fake_source *fake, const char *keys)
{
    struct ks_error err;
    for (; *keys; keys++) {
        if (*keys == '+') {
            fake->windows++;
            fake->n_log++;
            fake->serial++;
            assert_int_equal(ks_screen_refresh(s, &err), 0);
            continue;
        }
        struct ks_event event = {.kind = KS_EVENT_KEY, .key = (unsigned char)*keys};
        ks_screen_event(s, &event, 1000);
    }
}

static void compare_or_write(const char *name, const struct ks_buf *picture)
{
    char path[1024];
    const char *root = getenv("KS_SOURCE_ROOT"), *update = getenv("KS_UPDATE_GOLDEN");
    snprintf(path, sizeof path, "%s/tests/tui/golden/%s.txt", root ? root : ".", name);
    if (update && strcmp(update, "1") == 0) {
        FILE *f = fopen(path, "wb");
        assert_non_null(f);
        assert_int_equal(fwrite(picture->bytes, 1, picture->len, f), picture->len);
        assert_int_equal(fclose(f), 0);
        return;
    }
    char *golden = test_read_file(path, NULL);
    if (strcmp(golden, picture->bytes) != 0)
        print_error("%s differs; the screen is now:\n%s", path, picture->bytes);
    assert_string_equal(golden, picture->bytes);
    free(golden);
}

static void draw_golden(void **state)
{
    const struct golden *golden = *state;
    struct fake_source fake = {
        .kind = golden->kind, .windows = 148, .n_log = 14, .serial = 1, .wake_fd = -1};
    fake.bad = golden->notice && golden->notice[0] == '!';
    fake.notice = golden->notice ? golden->notice + fake.bad : NULL;
    struct ks_tui_source source = fake_source_of(&fake);
    struct ks_screen screen;
    struct ks_grid grid = {.ascii = golden->ascii};
    struct ks_buf picture = {0};
    struct ks_error err;
    assert_int_equal(ks_screen_init(&screen, &source, golden->ascii, &err), 0);
    assert_int_equal(ks_grid_resize(&grid, golden->width, golden->height, &err), 0);
    ks_screen_draw(&screen, &grid);
    press(&screen, &fake, golden->keys);
    ks_screen_draw(&screen, &grid);
    assert_int_equal(ks_grid_dump(&grid, &picture, &err), 0);
    compare_or_write(golden->name, &picture);
    for (size_t i = 0; golden->ascii && i < picture.len; i++)
        assert_true((unsigned char)picture.bytes[i] < 0x80);
    ks_buf_finish(&picture);
    ks_grid_finish(&grid);
    ks_screen_finish(&screen);
    assert_int_equal(fake.held, 0);
    fake_source_finish(&fake);
}

#define N_GOLDENS (sizeof goldens / sizeof *goldens)

int main(void)
{
    struct CMUnitTest tests[N_GOLDENS];
    setenv("TZ", "UTC", 1);
    tzset();
    for (size_t i = 0; i < N_GOLDENS; i++)
        tests[i] = (struct CMUnitTest){goldens[i].name, draw_golden, NULL, NULL,
                                       (void *)(uintptr_t)&goldens[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
