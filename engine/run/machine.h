/*
 * What the rest of a run asks of machine.c. Any thread.
 */
#ifndef KS_ENGINE_RUN_MACHINE_H
#define KS_ENGINE_RUN_MACHINE_H

#include <stdint.h>

/* Memory that this process may still take, by the kernel's estimate and its control group's limit;
 * 0 where nobody tells. */
uint64_t ks_machine_memory_available(void);

#endif
