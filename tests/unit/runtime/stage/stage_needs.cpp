// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/stage/stage_needs.hpp>

#include <motet/backend/cpu/device/context.hpp>
#include <motet/backend/cpu/operations.hpp>
#include <motet/nn/towers/text.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {
using ear = text_tower<text_config{
    .vocabulary = 20, .context = 6, .width = 8, .layers = 4, .heads = 2, .embedding = 4}>;
using wise = text_tower<text_config{
    .vocabulary = 20, .context = 6, .width = 8, .layers = 4, .heads = 2, .embedding = 4, .recompute = true}>;

stage_position at(stage_range range) {
  stage_position made;
  made.range = range;
  made.slots = 3;
  made.in[0] = 2;
  made.out[0] = 1;
  made.out[2] = 4;
  return made;
}
template <class Net, class N = fp32>
stage_needs needs(stage_position where) {
  where.parameters = Net::stage::parameter_end(where.range) - Net::stage::parameter_begin(where.range);
  where.moments = where.seconds = where.learns ? where.parameters : 0;
  return measure_stage(table_of_net<Net, cpu::context, N>, where, replica_microbatches<Net>(5, 1, 1));
}
}  // namespace

TEST_CASE("weights with their gradient and two moments, slots, and rows at the boundaries") {
  const stage_needs found = needs<ear>(at({1, 3}));
  const motet::isize weights = 4 * (ear::stage::parameter_end({1, 3}) - ear::stage::parameter_begin({1, 3}));
  CHECK(found.own.weights == weights);
  CHECK(found.own.gradients == weights);
  CHECK(found.own.optimizer == 2 * weights);
  CHECK(found.own.boundaries == 7 * boundary_bytes<float>(30, 8));
  CHECK(found.own.slots == 3 * found.slot);
  CHECK(found.slot > 2 * 30 * 8 * 4);  // more than the rows of two blocks
  CHECK(found.work > 0);
  CHECK(found.scratch > 0);
  CHECK(found.own.total() == 4 * weights + found.own.slots + found.own.boundaries);
  CHECK(needs<ear, fp64>(at({1, 3})).own.weights == 2 * weights);
}

TEST_CASE("stages make up the whole") {
  stage_memory sum;
  for (const stage_range range : {stage_range{0, 1}, stage_range{1, 3}, stage_range{3, 4}})
    sum.add(needs<ear>(at(range)).own);
  CHECK(sum.weights == 4 * ear::parameter_size);
  CHECK(sum.optimizer == 8 * ear::parameter_size);
}

TEST_CASE("a split backward needs more room in its slot, as kept outputs do, recomputed blocks less") {
  stage_position where = at({1, 3});
  const stage_needs whole = needs<ear>(where), light = needs<wise>(where);
  where.splits = true;
  const stage_needs split = needs<ear>(where);
  CHECK(split.slot > whole.slot);
  CHECK(split.own.slots == 3 * split.slot);
  CHECK(light.slot < whole.slot / 2);
  CHECK(light.own.weights == whole.own.weights);
  where.splits = false;
  where.recompute = true;
  const stage_needs asked = needs<ear>(where);
  CHECK(asked.slot == light.slot);
  CHECK(asked.work == light.work);
  where.recompute = false;
  where.keep_outputs = true;
  CHECK(needs<ear>(where).slot > whole.slot);
  CHECK(needs<ear>(where).own.weights == whole.own.weights);
}

TEST_CASE("a stage that makes again what backward needs has no slots, and works in more room") {
  stage_position where = at({1, 3});
  const stage_needs kept = needs<ear>(where);
  where.remade = true;
  const stage_needs remade = needs<ear>(where);
  CHECK(remade.own.slots == 0);
  CHECK(remade.work >= kept.slot);
  CHECK(remade.own.boundaries == kept.own.boundaries);
}

TEST_CASE("of a shared microbatch a rank keeps its own rows at the boundaries, and less inside") {
  const replica_microbatches<ear> alone(6, 1, 1), half({6, 1, 1, 1}, 0, {2, 0}, any_group(2, 0));
  stage_position where = at({1, 3});
  where.parameters = where.moments = ear::stage::parameter_end({1, 3}) - ear::stage::parameter_begin({1, 3});
  const stage_needs one = measure_stage(table_of_net<ear, cpu::context, fp32>, where, alone);
  where.cut = {2, 0};
  where.parameters = where.moments =
      ear::stage::parameter_end({1, 3}, where.cut) - ear::stage::parameter_begin({1, 3}, where.cut);
  const stage_needs two = measure_stage(table_of_net<ear, cpu::context, fp32>, where, half);
  CHECK(2 * two.own.boundaries == one.own.boundaries);
  CHECK(two.own.weights < one.own.weights);
  CHECK(two.slot < one.slot);
}

TEST_CASE("what backward makes again is neither split nor offloaded") {
  stage_position where = at({0, 4});
  CHECK_NOTHROW(require_kept(where, 2, "ear"));
  where.remade = true;
  CHECK_NOTHROW(require_kept(where, 2, "ear"));
  where.offloaded = 3;
  CHECK_THROWS_WITH_AS(
      require_kept(where, 2, "ear"),
      doctest::Contains("stage 2 of ear makes again what backward needs, and the program offloads it"),
      error);
  where.splits = true;
  CHECK_THROWS_WITH_AS(
      require_kept(where, 2, "ear"),
      doctest::Contains("stage 2 of ear makes again what backward needs, and the schedule splits backward"),
      error);
}

TEST_CASE("what does not learn keeps nothing") {
  stage_position where = at({0, 4});
  where.learns = false;
  const stage_needs found = needs<ear>(where);
  CHECK(found.own.weights == 4 * ear::parameter_size);
  CHECK(found.own.gradients + found.own.optimizer + found.own.slots + found.slot == 0);
  CHECK(found.work > 0);
}

TEST_CASE("an arena of no bytes refuses instead of measuring") {
  arena none = arena_of(buffer<std::byte>());
  CHECK(!none.measuring());
  CHECK_THROWS_AS(none.take<int>(1), error);
  const buffer<std::byte> some(128);
  arena own = arena_of(some);
  CHECK(static_cast<void*>(own.take<int>(1)) == some.data());
}
