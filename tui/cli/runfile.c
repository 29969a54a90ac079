#include "tui/cli/runfile.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/bytes.h"
#include "engine/base/path.h"

/* Two runs of one second have names of their own. */
enum { MOST_OF_A_SECOND = 99 };

static int format_name(const char *stem, int number, struct ks_buf *out, struct ks_error *err)
{
    char when[32];
    time_t now = time(NULL);
    struct tm local;
    strftime(when, sizeof when, "%Y%m%d-%H%M%S", localtime_r(&now, &local));
    out->len = 0;
    return number < 2 ? ks_buf_printf(out, err, "%s-%s.kld", stem, when)
                      : ks_buf_printf(out, err, "%s-%s-%d.kld", stem, when, number);
}

/* The caller's to free(). */
static char *new_name(const char *stem, struct ks_error *err)
{
    struct ks_buf name = {0};
    for (int number = 1; number <= MOST_OF_A_SECOND; number++) {
        if (format_name(stem, number, &name, err)) {
            ks_buf_finish(&name);
            return NULL;
        }
        if (access(name.bytes, F_OK) != 0)
            break;
    }
    return name.bytes;
}

/* Whether name is STEM-DATE-TIME.kld or STEM-DATE-TIME-NUMBER.kld. */
static bool is_of_stem(const char *name, const char *stem)
{
    size_t len = strlen(stem);
    if (strncmp(name, stem, len) != 0 || !ks_path_ends(name, ".kld"))
        return false;
    static const char form[] = "-########-######";
    const char *at = name + len;
    for (size_t i = 0; form[i]; i++, at++)
        if (form[i] == '#' ? *at < '0' || *at > '9' : *at != form[i])
            return false;
    if (*at == '-')
        at += 1 + strspn(at + 1, "0123456789");
    return strcmp(at, ".kld") == 0;
}

/* Names of one stem are in the order of their times, but for numbers of a second: a longer name is
 * a later one. */
static bool is_newer(const char *a, const char *b, size_t stem)
{
    int order = strncmp(a + stem, b + stem, sizeof "-########-######" - 1);
    if (order == 0)
        order = strlen(a) == strlen(b) ? strcmp(a, b) : strlen(a) > strlen(b) ? 1 : -1;
    return order > 0;
}

/* *newest, the caller's to free(): NULL where there is none. */
static int find_newest(const char *stem, char **newest, struct ks_error *err)
{
    DIR *folder = opendir(".");
    *newest = NULL;
    if (!folder)
        return ks_fail_errno(err, "cannot look for a run file to go on with; name one with --out");
    int failed = 0;
    for (const struct dirent *d; !failed && (d = readdir(folder));) {
        if (!is_of_stem(d->d_name, stem) ||
            (*newest && !is_newer(d->d_name, *newest, strlen(stem))))
            continue;
        free(*newest);
        *newest = strdup(d->d_name);
        if (!*newest)
            failed = ks_fail_memory(err, strlen(d->d_name), "a run file's name");
    }
    closedir(folder);
    return failed;
}

static int choose_name(const struct cli_runfile_words *w, const char *stem, struct ks_plan *plan,
                       struct ks_error *err)
{
    plan->out_optional = true;
    if (w->resume && find_newest(stem, &plan->out, err))
        return -1;
    if (!plan->out)
        plan->out = new_name(stem, err);
    return plan->out ? 0 : -1;
}

/* A whole number of decimal digits, and what stands behind it. */
static bool read_number(const char **text, uint32_t *out)
{
    uint64_t n = 0;
    size_t digits = strspn(*text, "0123456789");
    for (size_t i = 0; i < digits && n <= UINT32_MAX; i++)
        n = n * 10 + (uint64_t)((*text)[i] - '0');
    *text += digits;
    *out = (uint32_t)n;
    return digits > 0 && n <= UINT32_MAX;
}

static int read_shard(const char *word, struct ks_shard *out, struct ks_error *err)
{
    const char *at = word;
    struct ks_shard s;
    if (!read_number(&at, &s.number) || *at++ != '/' || !read_number(&at, &s.of) || *at ||
        s.number < 1 || s.number > s.of)
        return ks_fail(
            err, KS_BAD_INPUT,
            "--shard %s: write it as I/N, with I from 1 to N: 2/3 is the second of three", word);
    *out = s;
    return 0;
}

/* What the names of a plan's files begin with; the caller's to free(). */
static char *make_stem(const char *operand, const struct ks_shard *shard, struct ks_error *err)
{
    char *stem = ks_path_stem(operand), *of_shard = NULL;
    if (stem && shard->of <= 1)
        return stem;
    if (stem && asprintf(&of_shard, "%s-%uof%u", stem, shard->number, shard->of) < 0)
        of_shard = NULL;
    free(stem);
    if (!of_shard)
        ks_fail_memory(err, strlen(operand), "a run file's name");
    return of_shard;
}

int cli_choose_runfile(const struct cli_runfile_words *w, const char *operand, struct ks_plan *plan,
                       struct ks_error *err)
{
    if (w->none && (w->out || w->resume))
        return ks_fail(err, KS_BAD_INPUT, "--no-file keeps no run file: it has no --%s",
                       w->out ? "out" : "resume");
    if (w->shard && read_shard(w->shard, &plan->shard, err))
        return -1;
    if (w->none)
        return 0;
    plan->resume = w->resume;
    if (w->out) {
        plan->out = strdup(w->out);
        return plan->out ? 0 : ks_fail_memory(err, strlen(w->out), "a run file's name");
    }
    char *stem = make_stem(operand, &plan->shard, err);
    int failed = stem ? choose_name(w, stem, plan, err) : -1;
    free(stem);
    return failed;
}
