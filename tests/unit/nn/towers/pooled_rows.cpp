// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/towers/pooled_rows.hpp>

#include <motet/model/graph.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/nn/towers/vit_rows.hpp>

#include <doctest/doctest.h>
#include "refused_configs.hpp"

using namespace motet;

namespace {

template <pool_kind Pool>
using pooled = pooled_rows<pooled_config{.width = 8, .rows = 5, .embedding = 4, .pool = Pool, .heads = 2}>;
constexpr vit_config sight{.image = 8,
                           .patch = 4,
                           .width = 8,
                           .layers = 1,
                           .heads = 2,
                           .embedding = 4,
                           .epsilon = 1e-5f,
                           .pool = pool_kind::mean};

}  // namespace

static_assert(pooled<pool_kind::mean>::takes_rows == 8 && pooled<pool_kind::mean>::most_rows == 5);
static_assert(std::is_same_v<pooled<pool_kind::last>::with_rows<99>, pooled<pool_kind::last>>);
static_assert(!gives_rows<pooled<pool_kind::first>> && head_of<pooled<pool_kind::first>> == own_head::none);
constexpr refused<pooled_config> wrong[] = {
    {{.width = 8, .rows = 0, .embedding = 4}, reason::not_positive, 0, 1},
    {{.width = 8, .rows = 2, .embedding = 4, .pool = pool_kind::attention, .heads = 3},
     reason::heads_do_not_divide,
     3,
     8},
};
static_assert(are_refused(wrong));
static_assert(check(pooled_config{.width = 8, .rows = 2, .embedding = 4, .heads = 3}).ok(),
              "heads are those of attention");

TEST_CASE("pools whose numbers do not fit") { check_refused(wrong); }

TEST_CASE("it is the head of a tower, by the same names") {
  std::vector<std::string> names;
  for (const parameter& each : layer::parameters_of<vit_rows<sight, false>>()) names.push_back(each.name);
  for (const parameter& each : layer::parameters_of<pooled<pool_kind::mean>>()) names.push_back(each.name);
  std::vector<std::string> whole;
  for (const parameter& each : layer::parameters_of<vit<sight>>()) whole.push_back(each.name);
  CHECK(names == whole);
  CHECK(layer::parameters_of<pooled<pool_kind::attention>>()[2].name == "pool.query");
}
