// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/core/rules.hpp>

#include <doctest/doctest.h>

#include <rule_table.hpp>

static_assert(!motet::verdict{motet::reason::deadlock}.ok());

TEST_CASE("each rule of schedules has a code of its own and words that have room") {
  check_rule_table(motet::schedule_rules, 'P');
}
