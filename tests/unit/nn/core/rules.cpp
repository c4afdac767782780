// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/core/rules.hpp>

#include <doctest/doctest.h>

#include <rule_table.hpp>

static_assert(!motet::verdict{motet::reason::heads_do_not_divide}.ok());

TEST_CASE("each rule of nets has a code of its own and words that have room") {
  check_rule_table(motet::nn_rules, 'N');
}
