/*
 * The two big parts of scenario{}: its corpora and its arms, moved from where their words made them
 * into the plan. Both raise.
 */
#ifndef KS_LUA_WORDS_PARTS_H
#define KS_LUA_WORDS_PARTS_H

#include "lua/check/check.h"

void ks_scenario_read_corpora(const struct ks_form *form);
void ks_scenario_read_arms(const struct ks_form *form);

#endif
