// SPDX-License-Identifier: Apache-2.0
// labels: threads
// races: runtime/train/pipeline_trainer
#include <motet/runtime/train/placed_model.hpp>

#include <motet/backend/cpu/device/context.hpp>
#include <motet/backend/cpu/operations.hpp>
#include <motet/backend/transport/local/local_group.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/runtime/stage/program_fit.hpp>
#include <motet/schedule/write/batch_sync.hpp>
#include <motet/schedule/write/gpipe.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

using ear = text_tower<text_config{
    .vocabulary = 20, .context = 6, .width = 8, .layers = 4, .heads = 1, .embedding = 4}>;
using other = text_tower<text_config{
    .vocabulary = 9, .context = 3, .width = 16, .layers = 2, .heads = 1, .embedding = 4}>;
using both = model<join<info_nce, motet::module<"left", ear>, motet::module<"right", frozen<other>>>>;
using placed = placed_model<cpu::context, fp32, local::endpoint, local::group>;

// A model without threads.
struct stage_set {
  score_sheets sheets;
  const score_sheet& sheet = sheets[0];
  local::world world;
  std::vector<std::unique_ptr<local::endpoint>> ends;
  stage_groups groups;
  std::vector<std::int32_t> here;
  std::unique_ptr<placed> model;
  stage_set(const score& order, motet::isize samples,
            const std::vector<std::vector<motet::isize>>& layers = {})
      : sheets(only(program_for<both>(order, true))),
        world(sheet.of.ranks(), sheet.messages,
              std::vector<std::vector<std::int32_t>>(
                  static_cast<std::size_t>(sheet.graph.meeting_sizes.size()))),
        groups(sheet.of, {1, 1}) {
    for (std::int32_t r = 0; r < sheet.of.ranks(); ++r) {
      ends.push_back(std::make_unique<local::endpoint>(world, r));
      here.push_back(r);
    }
    std::vector<module_choice> choices;
    for (const auto& each : layers) choices.push_back({.layers = each});
    model = std::make_unique<placed>(
        table_of_model<both, cpu::context, fp32>, sheets, samples, choices, here, groups,
        [this](std::int32_t rank) -> local::endpoint& { return *ends[static_cast<std::size_t>(rank)]; },
        [](int, std::int32_t, std::int32_t) -> local::group* { return nullptr; });
  }
};
score order() { return without_backward(batch_sync::write({{{3, 8, 4, 1}, {2, 4, 2}}, 2}), 1); }

}  // namespace

TEST_CASE("every parameter has its place on the rank of its stage, once") {
  stage_set all(order(), 16, {{1, 2, 1}, {}});
  all.model->prepare();
  std::vector<int> covered(static_cast<std::size_t>(both::parameter_size), 0);
  std::vector<std::int32_t> ranks;
  const std::vector<parameter> parameters = both::parameters();
  all.model->each_piece([&](std::int32_t rank, const auto& piece, const auto& sums) {
    ranks.push_back(rank);
    CHECK(sums.reduction == nullptr);
    CHECK(sums.ring == nullptr);
    CHECK(piece.weights != nullptr);
    CHECK((piece.first == nullptr) == (piece.gradients == nullptr));
    each_own_run(piece, [&](const parameter& each, motet::isize, motet::isize element, motet::isize count) {
      const auto known = std::find_if(parameters.begin(), parameters.end(),
                                      [&](const parameter& other) { return other.name == each.name; });
      REQUIRE(known != parameters.end());
      CHECK((piece.gradients == nullptr) == (known->offset >= both::offsets[1]));
      for (motet::isize i = 0; i < count; ++i)
        ++covered[static_cast<std::size_t>(known->offset + element + i)];
    });
  });
  // All is covered but what lies between parameters.
  std::vector<int> wanted(covered.size(), 0);
  for (const parameter& each : parameters) std::fill_n(wanted.begin() + each.offset, each.size(), 1);
  CHECK(covered == wanted);
  // the loss lies with the first module that learns
  CHECK(ranks == std::vector<std::int32_t>{0, 1, 2, 3, 4, 2});
  CHECK(all.model->loss_gradients_on(0).empty());
  CHECK(all.model->loss_gradients_on(2)[0].owned);
  CHECK(!all.model->loss_gradients_on(4)[0].owned);
}

TEST_CASE("a forecast adds up what lies on a rank") {
  const std::vector<rank_memory> needs = stage_set(order(), 16).model->forecast();
  REQUIRE(needs.size() == 5);
  motet::isize weights = 0;
  for (const rank_memory& each : needs) {
    weights += each.stages.weights;
    CHECK(each.total() == each.stages.total() + each.features + each.packing + each.work + each.scratch);
    CHECK(each.work > 0);
  }
  CHECK(weights == 4 * (both::sizes[0] + both::sizes[1]));
  CHECK(needs[0].features == 0);
  CHECK(needs[2].features > 0);
  CHECK(needs[3].stages.slots == 0);
  // The same stages on one rank: their memory adds up, temporaries are shared.
  score here;
  for (int k = 0; k < 2; ++k) {
    voice made;
    made.module = k;
    made.stages = 2;
    made.learns = k == 0;
    made.join = 0;
    here.add(made, [](int) { return 0; });
  }
  here.rank();
  for (int k = 0; k < 2; ++k)
    for (int s = 0; s < 2; ++s) here.play(op::forward, k, s, 0);
  here.join(0, 0);
  for (int s = 2; s-- > 0;) here.play(op::backward, 0, s, 0);
  const std::vector<rank_memory> one = stage_set(here, 16).model->forecast();
  REQUIRE(one.size() == 1);
  CHECK(one[0].stages.weights == 4 * (both::sizes[0] + both::sizes[1]));
}

TEST_CASE("every instruction but updates has its action") {
  const stage_set all(order(), 16);
  for (std::int32_t i = 0; i < all.sheet.of.instructions.size(); ++i) {
    const bool has = all.model->action_of(i).run != nullptr;
    CHECK(has == (all.sheet.of.instructions[i].what != op::optimizer_step));
  }
}

TEST_CASE("batches and splits that do not fit are refused") {
  CHECK_THROWS_WITH_AS(stage_set(order(), 7),
                       doctest::Contains("a batch of 7 samples in 2 groups of 4 microbatches for left"),
                       error);
  CHECK_THROWS_WITH_AS(stage_set(order(), 6), doctest::Contains("MT-R02"), error);
  CHECK_THROWS_WITH_AS(stage_set(order(), 16, {{2, 2}}),
                       doctest::Contains("left has 3 stages in the program, and layers for 2"), error);
  CHECK_THROWS_WITH_AS(stage_set(order(), 16, {{}, {1, 2}}),
                       doctest::Contains("right has 2 layers, and its stages hold 3"), error);
  stage_set all(order(), 8);
  const std::vector<std::int32_t> ids(64, 1);
  const tokens eight{ids.data(), {8, 3, nullptr}}, seven{ids.data(), {7, 3, nullptr}},
      longer{ids.data(), {8, 4, nullptr}};
  all.model->cut(inputs_of<both>({eight, eight}));
  CHECK_THROWS_WITH_AS(all.model->cut(inputs_of<both>({eight, seven})),
                       doctest::Contains("right has 7 samples, planned for exactly 8"), error);
  CHECK_THROWS_WITH_AS(all.model->cut(inputs_of<both>({longer, longer})),
                       doctest::Contains("right has a sample longer than 3"), error);
}
