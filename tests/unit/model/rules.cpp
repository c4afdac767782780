// SPDX-License-Identifier: Apache-2.0
#include <motet/model/rules.hpp>

#include <doctest/doctest.h>

#include <rule_table.hpp>

static_assert(!motet::verdict{motet::reason::unknown_module}.ok());

TEST_CASE("each rule of models has a code of its own and words that have room") {
  check_rule_table(motet::model_rules, 'M');
}
