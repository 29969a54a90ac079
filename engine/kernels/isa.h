/*
 * Which paths are built in. Private to the kernels; cpu.h has the public choice.
 */
#ifndef KS_ENGINE_KERNELS_ISA_H
#define KS_ENGINE_KERNELS_ISA_H

#include "engine/kernels/path/ops.h"

/* NULL where the path is not built in. */
const struct ks_ops *ks_isa_ops(enum ks_isa isa);

#endif
