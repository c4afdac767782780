// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/train/step_long_rows.hpp>

#include <motet/plan/prove/plan_score.hpp>
#include <motet/runtime/stage/plan_choices.hpp>
#include <motet/runtime/stage/program_fit.hpp>
#include <motet/schedule/core/compile.hpp>

#include "unit/runtime/small_fan.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace motet;

namespace {

constexpr isize samples = 12;

plan cut_by_steps(int context, int parts) {
  plan how;
  how.schedule = "1f1b";
  how.cluster.ranks = 4;
  for (const char* const name : {"eye", "glue", "lens", "ear", "talk"}) {
    module_plan own = on_ranks(name, 0, {}, 1);
    own.group = 1;
    if (name[0] == 't') {
      own.on = mesh::from(0, {.context = context});
      own.microbatches = parts;
      own.long_rows = long_rows_chosen;
    }
    how.modules.push(own);
  }
  return how;
}

}  // namespace

TEST_CASE("each step finds from how many rows on its samples are cut, and its microbatches are cut so") {
  std::set<isize> found;
  for (const auto& [context, count] : {std::pair(4, 4), {3, 5}, {2, 12}}) {
    const plan how = cut_by_steps(context, count);
    score order;
    REQUIRE(write_plan(how, facts_of<small_fan>(), order, samples).ok());
    const program of = compile(order);
    const std::vector<module_choice> choices = choices_of(how);
    const model_outline& model = outline_of_model<small_fan>;
    const stage_groups groups(of, tensor_degrees_of(of, choices, model.size()));
    step_long_rows by(model, of, groups, choices);
    CHECK(by.all()[4] == 0);
    const spread_seat seat{.context = context, .balanced = true, .long_rows = long_rows_chosen};
    const auto parts =
        model.nets[4]->microbatches({samples, 1, 1, count}, 0, seat, {}, any_group(context, 0), 0);
    const isize room = parts->rows(any_microbatches::largest).rows();
    for (std::uint64_t step = 0; step < 8; ++step) {
      const small_fan_text data(samples, 1 + step);
      const small_fan::batch whole = data.get();
      const batch_inputs<small_fan> inputs(whole);
      by.find(inputs, splits_of(of, samples));
      for (std::size_t k = 0; k < 4; ++k) CHECK(by.all()[k] == 0);
      const isize rows = by.all()[4];
      found.insert(rows);
      by.cut(4, *parts, static_cast<std::span<const void* const>>(inputs)[4]);
      for (isize m = 0; m < count; ++m) {
        const microbatch_spread& is = *parts->shared(m);
        CHECK(is.cut.long_rows == rows);
        CHECK(is.own.rows() <= room);
      }
    }
  }
  // Of several lengths, some where all are cut or none among them.
  CHECK(found.size() >= 4);
}

TEST_CASE("modules that leave nothing open are cut as their plan says") {
  plan how = cut_by_steps(2, 2);
  how.modules[4].long_rows = 9;
  score order;
  REQUIRE(write_plan(how, facts_of<small_fan>(), order, samples).ok());
  const program of = compile(order);
  const std::vector<module_choice> choices = choices_of(how);
  const model_outline& model = outline_of_model<small_fan>;
  step_long_rows by(model, of, stage_groups(of, tensor_degrees_of(of, choices, model.size())), choices);
  const small_fan_text data(samples, 1);
  const small_fan::batch whole = data.get();
  const batch_inputs<small_fan> inputs(whole);
  by.find(inputs, splits_of(of, samples));
  CHECK(by.all()[4] == 0);
  const auto parts = model.nets[4]->microbatches({samples, 1, 1, 2}, 0, {.context = 2, .long_rows = 9}, {},
                                                 any_group(2, 0), 0);
  by.cut(4, *parts, static_cast<std::span<const void* const>>(inputs)[4]);
  CHECK(parts->shared(0)->cut.long_rows == 9);
}

TEST_CASE("usual blocks of a width compute for a row and a pair what a tower of it does") {
  const row_costs costs = usual_row_costs(2, 64, 4);
  CHECK(costs.pair == doctest::Approx(2 * 14 * 64 / 1e11));
  CHECK(costs.row > 2 * 3 * 24 * 64 * 64 / 1e11);
  CHECK(costs.row < 2 * 3.2 * 24 * 64 * 64 / 1e11);
  CHECK(costs.exchanged > 0);
}
