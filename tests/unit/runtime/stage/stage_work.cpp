// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/stage/stage_work.hpp>

#include <motet/backend/cpu/device/context.hpp>
#include <motet/backend/cpu/operations.hpp>
#include <motet/nn/towers/text.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

using ear = text_tower<text_config{
    .vocabulary = 20, .context = 6, .width = 8, .layers = 4, .heads = 2, .embedding = 4}>;

stage_work work(stage_position where, motet::isize samples = 6, spread_seat seat = {}) {
  const auto number = [](motet::isize from) { return static_cast<std::int32_t>(from); };
  where.cut = {number(seat.tensor), number(seat.tensor_member)};
  const any_group tensor(number(seat.tensor), number(seat.tensor_member)),
      context(number(seat.context), number(seat.context_member));
  return work_of_stage(table_of_net<ear, cpu::context, fp32>, where,
                       replica_microbatches<ear>({samples, 1, 1, 1}, 0, seat, tensor, context), seat);
}
stage_position at(stage_range range) {
  stage_position made;
  made.range = range;
  return made;
}

}  // namespace

TEST_CASE("stages make up the whole, and twice the samples are twice the work") {
  const stage_work whole = work(at({0, 4}));
  double forward = 0, backward = 0;
  for (const stage_range range : {stage_range{0, 1}, stage_range{1, 3}, stage_range{3, 4}}) {
    forward += work(at(range)).forward;
    backward += work(at(range)).backward_input + work(at(range)).backward_weight;
  }
  CHECK(forward == doctest::Approx(whole.forward));
  CHECK(backward == doctest::Approx(whole.backward_input + whole.backward_weight));
  // 24 d^2 a row in products, and attention.
  CHECK(whole.forward > 4 * 36 * 24.0 * 8 * 8);
  CHECK(backward > 1.8 * forward);
  CHECK(backward < 3 * forward);
  CHECK(whole.backward_weight > 0);
  const stage_work middle = work(at({1, 3})), twice = work(at({1, 3}), 12);
  CHECK(twice.forward == doctest::Approx(2 * middle.forward));
  CHECK(middle.boundary_bytes == 36 * 8 * 4);
  CHECK((middle.forward_group_bytes == 0 && middle.backward_group_bytes == 0));
}

TEST_CASE("what is frozen has no backward, what is made again has a forward more") {
  stage_position where = at({1, 3});
  const stage_work kept = work(where);
  where.remade = true;
  const stage_work remade = work(where);
  CHECK(remade.backward_input == doctest::Approx(kept.backward_input + kept.forward));
  CHECK(remade.backward_weight == kept.backward_weight);
  where.learns = false;
  const stage_work frozen = work(where);
  CHECK((frozen.forward == kept.forward && frozen.backward_input == 0 && frozen.backward_weight == 0));
}

TEST_CASE("a tensor group shares the work, and moves rows") {
  const stage_work whole = work(at({1, 3})), half = work(at({1, 3}), 6, {.tensor = 2});
  // Norms and residuals are on own samples, products have half of the columns: half of nearly all.
  CHECK(half.forward > 0.45 * whole.forward);
  CHECK(half.forward < 0.6 * whole.forward);
  // Attention and mlp gather and sum in each of two blocks: four times half of the rows.
  const double rows = 36 * 8 * 4 / 2.0;
  CHECK(half.forward_group_bytes == doctest::Approx(2 * 4 * rows).epsilon(0.35));
  CHECK(half.backward_group_bytes > 0.5 * half.forward_group_bytes);
  CHECK(half.boundary_bytes == whole.boundary_bytes / 2);
}
