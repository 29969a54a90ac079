/*
 * Chat formats: which one a model has, and ChatML, the one that the engine writes by itself; the
 * others are Lua files (scenarios/chats).
 *
 * ChatML writes every turn as <|im_start|>ROLE, a newline, the content, <|im_end|> and a newline.
 * Nothing is added: some models' templates (SmolLM2's, Qwen2.5's) put a system message of their own
 * in front of a conversation that has none. A corpus is what its author wrote; whoever wants that
 * message measured puts it in the corpus.
 *
 * Pure functions; any thread.
 */
#ifndef KS_ENGINE_TEXT_DOCUMENT_CHAT_H
#define KS_ENGINE_TEXT_DOCUMENT_CHAT_H

#include "engine/base/bytes.h"
#include "engine/engine.h"

/* Whether the family is written here: ChatML alone, the others are scenarios/chats/. */
bool ks_chat_known(const char *family);

/*
 * Appends the messages as the family (known) writes them. spans (n): for each message its content
 * and the mark that ends its turn; NULL where they are not wanted.
 */
int ks_chat_render(const char *family, const struct ks_message *messages, size_t n,
                   struct ks_buf *out, struct ks_span *spans, struct ks_error *err);

#endif
