/*
 * The GPUs of this machine, as doctor shows them: limits, drivers, which would be taken and why.
 */
#ifndef KS_TUI_CLI_DEVICES_H
#define KS_TUI_CLI_DEVICES_H

#include <jansson.h>

#include "tui/cli/cli.h"

void cli_print_devices(void);
/* {devices: [...], chosen: index or null, why_none: text}; the caller's. NULL when out of memory.
 */
json_t *cli_devices_json(void);

#endif
