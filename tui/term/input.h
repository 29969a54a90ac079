/*
 * What a person does, in our own terms: a key is a Unicode code point or one of the names below.
 */
#ifndef KS_TUI_TERM_INPUT_H
#define KS_TUI_TERM_INPUT_H

#include <stdint.h>

/* Keys that are characters. */
enum {
    KS_KEY_NONE = 0,
    KS_KEY_BACKSPACE = 0x08,
    KS_KEY_TAB = 0x09,
    KS_KEY_CTRL_L = 0x0c,
    KS_KEY_ENTER = 0x0d,
    KS_KEY_CTRL_U = 0x15,
    KS_KEY_ESCAPE = 0x1b,
};

/* Keys that are not, past the last code point. */
enum {
    KS_KEY_UP = 0x110000,
    KS_KEY_DOWN,
    KS_KEY_LEFT,
    KS_KEY_RIGHT,
    KS_KEY_PAGE_UP,
    KS_KEY_PAGE_DOWN,
    KS_KEY_HOME,
    KS_KEY_END,
    KS_KEY_BACK_TAB,
    KS_KEY_F1, /* F2 is the next, and so on to F12 */
    KS_KEY_F12 = KS_KEY_F1 + 11,
};

enum ks_event_kind {
    KS_EVENT_KEY,
    KS_EVENT_CLICK,
    KS_EVENT_WHEEL_UP,
    KS_EVENT_WHEEL_DOWN,
};

struct ks_event {
    enum ks_event_kind kind;
    uint32_t key; /* of KS_EVENT_KEY */
    int x, y;     /* of the others: column and row from 0 */
};

#endif
