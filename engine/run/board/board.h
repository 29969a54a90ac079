/*
 * The board: where a run hangs its newest snapshot, its log, and what others ask of it.
 *
 * The run's thread publishes; any thread takes snapshots, writes log lines and sets requests. A
 * snapshot is one immutable object in an arena of its own, counted by reference.
 */
#ifndef KS_ENGINE_RUN_BOARD_BOARD_H
#define KS_ENGINE_RUN_BOARD_BOARD_H

#include "engine/base/arena.h"
#include "engine/engine.h"

struct ks_board;

struct ks_board *ks_board_create(struct ks_error *err);
void ks_board_destroy(struct ks_board *b); /* accepts NULL */

/* Facts: filled by the run's thread, then shared by every later snapshot. */
struct ks_facts_box;
struct ks_facts_box *ks_facts_create(struct ks_error *err);
struct ks_arena *ks_facts_arena(struct ks_facts_box *box);
struct ks_facts *ks_facts_of(struct ks_facts_box *box);
void ks_facts_release(struct ks_facts_box *box); /* accepts NULL */
/* The board takes the caller's reference over. */
void ks_board_set_facts(struct ks_board *b, struct ks_facts_box *box);

#define KS_LINE_BYTES 1200 /* of a line of the log at most */
void ks_board_note(struct ks_board *b, enum ks_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A snapshot being made: fill the fields but serial, facts and log (arrays from the arena), then
 * publish. NULL when out of memory. */
struct ks_draft;
struct ks_draft *ks_draft_create(struct ks_error *err);
struct ks_arena *ks_draft_arena(struct ks_draft *d);
struct ks_snapshot *ks_draft_snapshot(struct ks_draft *d);
/* Adds serial, facts and log and makes it the newest. The draft is taken over, in failure too. */
int ks_board_publish(struct ks_board *b, struct ks_draft *d, struct ks_error *err);

const struct ks_snapshot *ks_board_snapshot(struct ks_board *b);
int ks_board_wake_fd(const struct ks_board *b);

/* A line as it stood in another log. */
void ks_board_put_line(struct ks_board *b, const struct ks_log_line *line);
/* The log's line of that number, the first line ever being 0, or the oldest after it that is still
 * there (*number is its number then). Its text is copied. false: there is none yet. */
bool ks_board_line(struct ks_board *b, uint64_t *number, struct ks_log_line *out,
                   char text[KS_LINE_BYTES]);

/* Requests, any thread; why is copied, cut to 255 bytes. An arm that is asked for again before it
 * was taken is there once, with its first reason. */
void ks_board_ask_stop(struct ks_board *b, const char *why);
void ks_board_ask_pause(struct ks_board *b, bool paused);
void ks_board_ask_drop(struct ks_board *b, size_t arm, const char *why);

/* What is asked for, for the run's thread. */
bool ks_board_stopping(struct ks_board *b);
bool ks_board_pausing(struct ks_board *b);
/* The next arm to drop, with its reason; false if there is none. */
bool ks_board_next_drop(struct ks_board *b, size_t *arm, char *why, size_t why_size);
/* Sleeps until a request or a note comes. */
void ks_board_wait(struct ks_board *b);
/* Sleeps so long, or until an end is asked for; true where it is. */
bool ks_board_sleep(struct ks_board *b, int ms);

#endif
