#include "tui/cli/driver.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* NVIDIA's Vulkan driver is its OpenGL driver, which loads libraries that libvulkan1 doesn't depend
 * on; and containers get its files only where graphics is asked for. */
const char *const cli_driver_hint =
    "NVIDIA's kernel driver runs here and Vulkan lists none of its devices: apt-get install "
    "libvulkan1 libegl1 libgl1 libglvnd0 libglx0 libgles2 libopengl0; a container also wants "
    "NVIDIA_DRIVER_CAPABILITIES=all";

static bool there(const char *root, const char *path)
{
    char whole[1024];
    int n = snprintf(whole, sizeof whole, "%s%s", root, path);
    return n > 0 && (size_t)n < sizeof whole && access(whole, F_OK) == 0;
}

bool cli_driver_unseen(const char *root, const struct ks_gpu_info *devices, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strstr(devices[i].driver, "NVIDIA"))
            return false;
    return there(root, "/proc/driver/nvidia/version") || there(root, "/dev/nvidiactl");
}
