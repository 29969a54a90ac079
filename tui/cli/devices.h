/*
 * The GPUs of this machine, as doctor shows them: limits, drivers, which would be taken, how it
 * would multiply, and why. device: as ks_gpu_choose takes it.
 */
#ifndef KS_TUI_CLI_DEVICES_H
#define KS_TUI_CLI_DEVICES_H

#include <jansson.h>

#include "tui/cli/cli.h"

void cli_print_devices(const char *device);
/* {devices: [...], chosen: index or null, why_none: text, paths: {type: path or null}, driver_hint:
 * text or null}; the caller's. NULL when out of memory. */
json_t *cli_devices_json(const char *device);

#endif
