// SPDX-License-Identifier: Apache-2.0
#include <motet/strategy/rules.hpp>

#include <doctest/doctest.h>

#include <rule_table.hpp>

static_assert(!motet::verdict{motet::reason::rank_twice}.ok());

TEST_CASE("each rule of strategies has a code of its own and words that have room") {
  check_rule_table(motet::strategy_rules, 'S');
}
