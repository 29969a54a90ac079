/*
 * A stand-in for the run that hooks talk to: it writes down what it is asked. (What a run makes of
 * it is the run's to test.)
 */
#ifndef KS_TESTS_LUA_RECORDER_H
#define KS_TESTS_LUA_RECORDER_H

/* "note I text\n", "drop 3 why\n", "stop why\n" since the last recorder_clear. */
extern char recorded[16384];
void recorder_clear(void);

#endif
