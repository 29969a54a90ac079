#include "tui/draw/theme.h"

#include <string.h>

#define NONE      KS_COLOUR_DEFAULT
#define BOLD      KS_LOOK_BOLD
#define FAINT     KS_LOOK_FAINT
#define REVERSE   KS_LOOK_REVERSE
#define UNDERLINE KS_LOOK_UNDERLINE

static const struct ks_theme dark =
    {
        .name = "dark",
        .looks =
            {
                [KS_ROLE_TEXT] = {NONE, NONE, 0, true},
                [KS_ROLE_DIM] = {245, 8, 0, true},
                [KS_ROLE_BORDER] = {240, 8, 0, true},
                [KS_ROLE_BORDER_FOCUS] = {110, 12, 0, true},
                [KS_ROLE_TITLE] = {250, 7, 0, true},
                [KS_ROLE_TITLE_FOCUS] = {117, 14, BOLD, true},
                [KS_ROLE_PROGRAM] = {117, 14, BOLD, true},
                [KS_ROLE_COLUMN_HEAD] = {109, 6, 0, true},
                [KS_ROLE_COLUMN_SORTED] = {222, 11, BOLD, true},
                [KS_ROLE_REFERENCE] = {151, 10, 0, true},
                [KS_ROLE_BROKEN] = {203, 9, 0, true},
                [KS_ROLE_TREND] = {73, 6, 0, true},
                [KS_ROLE_BAR] = {74, 12, 0, true},
                [KS_ROLE_BAR_TAIL] = {215, 11, 0, true},
                [KS_ROLE_AXIS] = {242, 8, 0, true},
                [KS_ROLE_QUANTILE] = {222, 11, 0, true},
                [KS_ROLE_LABEL] = {109, 6, 0, true},
                [KS_ROLE_PROGRESS] = {74, 12, 0, true},
                [KS_ROLE_PROGRESS_LEFT] = {239, 8, 0, true},
                [KS_ROLE_PREPARING] = {222, 11, BOLD, true},
                [KS_ROLE_RUNNING] = {114, 10, BOLD, true},
                [KS_ROLE_PAUSED] = {222, 11, BOLD, true},
                [KS_ROLE_DONE] = {117, 14, BOLD, true},
                [KS_ROLE_STOPPED] = {180, 11, BOLD, true},
                [KS_ROLE_FAILED] = {203, 9, BOLD, true},
                [KS_ROLE_FROZEN] = {222, 11, BOLD | REVERSE, true},
                [KS_ROLE_LOG_INFO] = {245, 7, 0, true},
                [KS_ROLE_LOG_WARNING] = {221, 11, 0, true},
                [KS_ROLE_LOG_ERROR] = {203, 9, 0, true},
                [KS_ROLE_KEY] = {222, 11, BOLD, true},
                [KS_ROLE_HINT] = {248, 7, 0, true},
                [KS_ROLE_PROMPT] = {NONE, NONE, BOLD, true},
                [KS_ROLE_NOTICE] = {222, 11, 0, true},
            },
        .selected = 237,
        .selected_16 = NONE,
        .selected_attributes = REVERSE,
};

static const struct ks_theme light =
    {
        .name = "light",
        .looks =
            {
                [KS_ROLE_TEXT] = {NONE, NONE, 0, true},
                [KS_ROLE_DIM] = {244, 8, 0, true},
                [KS_ROLE_BORDER] = {250, 7, 0, true},
                [KS_ROLE_BORDER_FOCUS] = {25, 4, 0, true},
                [KS_ROLE_TITLE] = {239, 0, 0, true},
                [KS_ROLE_TITLE_FOCUS] = {25, 4, BOLD, true},
                [KS_ROLE_PROGRAM] = {25, 4, BOLD, true},
                [KS_ROLE_COLUMN_HEAD] = {66, 6, 0, true},
                [KS_ROLE_COLUMN_SORTED] = {130, 5, BOLD, true},
                [KS_ROLE_REFERENCE] = {28, 2, 0, true},
                [KS_ROLE_BROKEN] = {160, 1, 0, true},
                [KS_ROLE_TREND] = {30, 6, 0, true},
                [KS_ROLE_BAR] = {31, 4, 0, true},
                [KS_ROLE_BAR_TAIL] = {166, 5, 0, true},
                [KS_ROLE_AXIS] = {247, 8, 0, true},
                [KS_ROLE_QUANTILE] = {130, 5, 0, true},
                [KS_ROLE_LABEL] = {66, 6, 0, true},
                [KS_ROLE_PROGRESS] = {31, 4, 0, true},
                [KS_ROLE_PROGRESS_LEFT] = {252, 7, 0, true},
                [KS_ROLE_PREPARING] = {130, 5, BOLD, true},
                [KS_ROLE_RUNNING] = {28, 2, BOLD, true},
                [KS_ROLE_PAUSED] = {130, 5, BOLD, true},
                [KS_ROLE_DONE] = {25, 4, BOLD, true},
                [KS_ROLE_STOPPED] = {94, 5, BOLD, true},
                [KS_ROLE_FAILED] = {160, 1, BOLD, true},
                [KS_ROLE_FROZEN] = {130, 5, BOLD | REVERSE, true},
                [KS_ROLE_LOG_INFO] = {242, 0, 0, true},
                [KS_ROLE_LOG_WARNING] = {130, 5, 0, true},
                [KS_ROLE_LOG_ERROR] = {160, 1, 0, true},
                [KS_ROLE_KEY] = {25, 4, BOLD, true},
                [KS_ROLE_HINT] = {241, 0, 0, true},
                [KS_ROLE_PROMPT] = {NONE, NONE, BOLD, true},
                [KS_ROLE_NOTICE] = {130, 5, 0, true},
            },
        .selected = 254,
        .selected_16 = NONE,
        .selected_attributes = REVERSE,
};

static const struct ks_theme mono =
    {
        .name = "mono",
        .looks =
            {
                [KS_ROLE_TEXT] = {NONE, NONE, 0, true},
                [KS_ROLE_DIM] = {NONE, NONE, FAINT, true},
                [KS_ROLE_BORDER] = {NONE, NONE, 0, true},
                [KS_ROLE_BORDER_FOCUS] = {NONE, NONE, BOLD, true},
                [KS_ROLE_TITLE] = {NONE, NONE, 0, true},
                [KS_ROLE_TITLE_FOCUS] = {NONE, NONE, BOLD, true},
                [KS_ROLE_PROGRAM] = {NONE, NONE, BOLD, true},
                [KS_ROLE_COLUMN_HEAD] = {NONE, NONE, UNDERLINE, true},
                [KS_ROLE_COLUMN_SORTED] = {NONE, NONE, BOLD | UNDERLINE, true},
                [KS_ROLE_REFERENCE] = {NONE, NONE, 0, true},
                [KS_ROLE_BROKEN] = {NONE, NONE, BOLD, true},
                [KS_ROLE_TREND] = {NONE, NONE, 0, true},
                [KS_ROLE_BAR] = {NONE, NONE, 0, true},
                [KS_ROLE_BAR_TAIL] = {NONE, NONE, BOLD, true},
                [KS_ROLE_AXIS] = {NONE, NONE, 0, true},
                [KS_ROLE_QUANTILE] = {NONE, NONE, BOLD, true},
                [KS_ROLE_LABEL] = {NONE, NONE, 0, true},
                [KS_ROLE_PROGRESS] = {NONE, NONE, 0, true},
                [KS_ROLE_PROGRESS_LEFT] = {NONE, NONE, FAINT, true},
                [KS_ROLE_PREPARING] = {NONE, NONE, BOLD, true},
                [KS_ROLE_RUNNING] = {NONE, NONE, BOLD, true},
                [KS_ROLE_PAUSED] = {NONE, NONE, BOLD, true},
                [KS_ROLE_DONE] = {NONE, NONE, BOLD, true},
                [KS_ROLE_STOPPED] = {NONE, NONE, BOLD, true},
                [KS_ROLE_FAILED] = {NONE, NONE, BOLD | REVERSE, true},
                [KS_ROLE_FROZEN] = {NONE, NONE, BOLD | REVERSE, true},
                [KS_ROLE_LOG_INFO] = {NONE, NONE, 0, true},
                [KS_ROLE_LOG_WARNING] = {NONE, NONE, BOLD, true},
                [KS_ROLE_LOG_ERROR] = {NONE, NONE, BOLD, true},
                [KS_ROLE_KEY] = {NONE, NONE, BOLD, true},
                [KS_ROLE_HINT] = {NONE, NONE, 0, true},
                [KS_ROLE_PROMPT] = {NONE, NONE, BOLD, true},
                [KS_ROLE_NOTICE] = {NONE, NONE, BOLD, true},
            },
        .selected = NONE,
        .selected_16 = NONE,
        .selected_attributes = REVERSE,
};

/* Colours of Okabe and Ito's palette, as near as the 256 come: none is told from another by red
 * against green, and failures are underlined beside. */
static const struct ks_theme colourblind =
    {
        .name = "colourblind",
        .looks =
            {
                [KS_ROLE_TEXT] = {NONE, NONE, 0, true},
                [KS_ROLE_DIM] = {245, 8, 0, true},
                [KS_ROLE_BORDER] = {240, 8, 0, true},
                [KS_ROLE_BORDER_FOCUS] = {74, 14, 0, true},
                [KS_ROLE_TITLE] = {250, 7, 0, true},
                [KS_ROLE_TITLE_FOCUS] = {74, 14, BOLD, true},
                [KS_ROLE_PROGRAM] = {74, 14, BOLD, true},
                [KS_ROLE_COLUMN_HEAD] = {248, 7, 0, true},
                [KS_ROLE_COLUMN_SORTED] = {227, 11, BOLD, true},
                [KS_ROLE_REFERENCE] = {36, 14, 0, true},
                [KS_ROLE_BROKEN] = {208, 11, BOLD, true},
                [KS_ROLE_TREND] = {175, 13, 0, true},
                [KS_ROLE_BAR] = {74, 12, 0, true},
                [KS_ROLE_BAR_TAIL] = {214, 11, 0, true},
                [KS_ROLE_AXIS] = {242, 8, 0, true},
                [KS_ROLE_QUANTILE] = {227, 11, 0, true},
                [KS_ROLE_LABEL] = {248, 7, 0, true},
                [KS_ROLE_PROGRESS] = {74, 12, 0, true},
                [KS_ROLE_PROGRESS_LEFT] = {239, 8, 0, true},
                [KS_ROLE_PREPARING] = {227, 11, BOLD, true},
                [KS_ROLE_RUNNING] = {74, 12, BOLD, true},
                [KS_ROLE_PAUSED] = {227, 11, BOLD, true},
                [KS_ROLE_DONE] = {255, 15, BOLD, true},
                [KS_ROLE_STOPPED] = {175, 13, BOLD, true},
                [KS_ROLE_FAILED] = {208, 11, BOLD | UNDERLINE, true},
                [KS_ROLE_FROZEN] = {227, 11, BOLD | REVERSE, true},
                [KS_ROLE_LOG_INFO] = {245, 7, 0, true},
                [KS_ROLE_LOG_WARNING] = {227, 11, 0, true},
                [KS_ROLE_LOG_ERROR] = {208, 11, UNDERLINE, true},
                [KS_ROLE_KEY] = {227, 11, BOLD, true},
                [KS_ROLE_HINT] = {248, 7, 0, true},
                [KS_ROLE_PROMPT] = {NONE, NONE, BOLD, true},
                [KS_ROLE_NOTICE] = {227, 11, 0, true},
            },
        .selected = 237,
        .selected_16 = NONE,
        .selected_attributes = REVERSE,
};

static const struct ks_theme *const themes[] = {&dark, &light, &mono, &colourblind};

const struct ks_theme *ks_theme_at(size_t i)
{
    return i < sizeof themes / sizeof *themes ? themes[i] : NULL;
}

const struct ks_theme *ks_theme_find(const char *name)
{
    for (size_t i = 0; ks_theme_at(i); i++) {
        if (strcmp(ks_theme_at(i)->name, name) == 0)
            return ks_theme_at(i);
    }
    return NULL;
}
