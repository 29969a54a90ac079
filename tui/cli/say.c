/*
 * Words from files and people on a terminal. A name, a path or a message may hold anything, escape
 * sequences too; shown raw they would move the cursor, set the title or forge a line of ours.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include <utf8proc.h>

#include "tui/cli/cli.h"

#define LONGEST 4096

volatile sig_atomic_t cli_utf8;

/* Neither controls nor what hides, reorders or breaks lines. */
static bool is_harmless(utf8proc_int32_t code)
{
    switch (utf8proc_category(code)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        return false;
    default:
        return true;
    }
}

static size_t escape_byte(unsigned char byte, char out[CLI_SHOWN])
{
    static const char digits[] = "0123456789abcdef";
    const char *letter = byte == '\n' ? "\\n" : byte == '\t' ? "\\t" : byte == '\r' ? "\\r" : NULL;
    memcpy(out, letter ? letter : "\\x", 2);
    if (letter)
        return 2;
    out[2] = digits[byte >> 4];
    out[3] = digits[byte & 15];
    return 4;
}

size_t cli_show_next(const char *text, char out[CLI_SHOWN], size_t *len)
{
    utf8proc_int32_t code = (unsigned char)*text;
    utf8proc_ssize_t n = 1;
    if (code >= 0x80)
        n = cli_utf8 ? utf8proc_iterate((const utf8proc_uint8_t *)text, -1, &code) : -1;
    if (n < 1 || !is_harmless(code)) {
        *len = escape_byte((unsigned char)*text, out);
        return 1;
    }
    memcpy(out, text, (size_t)n);
    *len = (size_t)n;
    return (size_t)n;
}

int cli_put(FILE *f, const char *text, int width)
{
    char shown[CLI_SHOWN];
    int columns = 0;
    for (size_t len; *text; columns += shown[0] == '\\' ? (int)len : 1) {
        text += cli_show_next(text, shown, &len);
        if (f)
            fwrite(shown, 1, len, f);
    }
    if (f)
        fprintf(f, "%*s", columns < width ? width - columns : 0, "");
    return columns;
}

void cli_say(const char *format, ...)
{
    char text[LONGEST];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "kldscope: ");
    cli_put(stderr, text, 0);
    fprintf(stderr, n >= LONGEST ? "...\n" : "\n");
}

/* ------------------------------------------------------------------ in a signal handler */

static void write_text(const char *text)
{
    char line[LONGEST], shown[CLI_SHOWN];
    size_t at = 0;
    for (size_t len; *text; at += len) {
        text += cli_show_next(text, shown, &len);
        if (at + len > sizeof line)
            break;
        memcpy(line + at, shown, len);
    }
    ssize_t ignored = write(STDERR_FILENO, line, at);
    (void)ignored;
}

void cli_say_in_handler(const char *file, const char *what)
{
    if (isatty(STDERR_FILENO))
        (void)!write(STDERR_FILENO, "\r\n", 2); /* a line of progress may stand there */
    write_text("kldscope: ");
    write_text(file);
    write_text(what);
    (void)!write(STDERR_FILENO, "\n", 1);
}
