/*
 * Which file is mapped where, so that whoever owns the process can name it when a read of a mapping
 * raises SIGBUS: the file shrank, or its disk failed.
 *
 * It is the process' own state, as its mappings and its table of handlers are. Any thread.
 */
#ifndef KS_ENGINE_BASE_MAPPED_H
#define KS_ENGINE_BASE_MAPPED_H

#include <stdint.h>

/* Keeps in mind, until it is removed, that [begin, begin + len) is of the file at path (copied, cut
 * to 511 bytes). There is room for some thousand; what finds none is only not named. */
void ks_mapped_add(const void *begin, uint64_t len, const char *path);
void ks_mapped_remove(const void *begin);

/* The path of the file whose mapping holds the address, or NULL. May be called in a signal handler;
 * valid while the file is mapped. */
const char *ks_mapped_file_at(const void *address);

#endif
