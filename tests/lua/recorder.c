#include "tests/lua/recorder.h"

#include <stdio.h>
#include <string.h>

#include "engine/engine.h"

char recorded[16384];

void recorder_clear(void)
{
    recorded[0] = '\0';
}

static char *end(void)
{
    return recorded + strlen(recorded);
}

static size_t room(void)
{
    return sizeof recorded - strlen(recorded);
}

void ks_run_note(struct ks_run *run, enum ks_log_level level, const char *text)
{
    (void)run;
    snprintf(end(), room(), "note %c %s\n", "IWE"[level], text);
}

void ks_run_drop(struct ks_run *run, size_t arm, const char *why)
{
    (void)run;
    snprintf(end(), room(), "drop %zu %s\n", arm, why);
}

void ks_run_stop(struct ks_run *run, const char *why)
{
    (void)run;
    snprintf(end(), room(), "stop %s\n", why);
}
