#include "engine/base/caches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/bytes.h"

char *ks_caches_folder(struct ks_error *err)
{
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    struct ks_buf b = {0};
    int failed;
    if (base && *base == '/') /* a relative one is to be ignored: XDG Base Directory 0.8 */
        failed = ks_buf_printf(&b, err, "%s/kldscope", base);
    else if (home && *home == '/')
        failed = ks_buf_printf(&b, err, "%s/.cache/kldscope", home);
    else
        failed = ks_fail(err, KS_BAD_INPUT,
                         "there is no place for a cache: set HOME or XDG_CACHE_HOME to a path that "
                         "begins with /");
    if (failed) {
        ks_buf_finish(&b);
        return NULL;
    }
    return b.bytes;
}

static int make_one(const char *path)
{
    return mkdir(path, 0700) && errno != EEXIST ? -1 : 0;
}

int ks_caches_make(char *path)
{
    int failed = 0;
    for (char *slash = strchr(path + 1, '/'); slash && !failed; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        failed = make_one(path);
        *slash = '/';
    }
    return failed ? -1 : make_one(path);
}
