// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/train/placed_stage.hpp>

#include <motet/backend/cpu/device/context.hpp>
#include <motet/backend/cpu/operations.hpp>
#include <motet/backend/transport/local/local_group.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/place/placed.hpp>
#include <motet/schedule/write/schedules.hpp>
#include <motet/strategy/mesh.hpp>

#include <doctest/doctest.h>

#include <algorithm>

using namespace motet;

namespace {

using net = text_tower<text_config{
    .vocabulary = 20, .context = 6, .width = 64, .layers = 2, .heads = 2, .hidden = 256, .embedding = 8}>;
using placed_type = placed_stage<cpu::context, fp32, local::endpoint, local::group>;

// Two replicas of the first module, each with its tensor cut in two, on ranks 0 to 3; the second module alone
// on rank 4.
program five_ranks() {
  const mesh first = mesh::from(0, {1, 2, 1, 2}), second = mesh::from(4, {1, 1, 1, 1});
  const score seats = batch_sync::write({{{1, 2, 2}, {1, 2, 2}}, 2});
  list<voice_spread> spreads;
  for (const mesh* each : {&first, &second})
    spreads.push({each->split().data, each->split().context * each->split().tensor});
  return compile(placed(
      seats, spreads, 5, [&](std::int32_t v, std::int32_t replica, std::int32_t shard, std::int32_t stage) {
        const mesh& own = v == 0 ? first : second;
        return own.rank({stage, replica, shard / own.split().tensor, shard % own.split().tensor});
      }));
}

// The stages of all ranks, joined; nobody calls anybody.
struct all_ranks {
  program of = five_ranks();
  stage_groups groups{of, {2, 1}};
  local::world world{5, 0, {}};
  local::group_set compute{world, groups.compute()}, reduce{world, groups.reduce()};
  std::vector<std::unique_ptr<local::endpoint>> ends;
  std::vector<std::unique_ptr<local::group>> made;
  std::vector<std::int32_t> asked;  // sets
  struct joined {
    voice sings;
    stage_position at;
    placed_type stage;
  };
  std::vector<std::unique_ptr<joined>> stages;

  explicit all_ranks(const module_choice& choice, bool learns = true) {
    for (std::int32_t r = 0; r < 5; ++r) ends.push_back(std::make_unique<local::endpoint>(world, r));
    auto find = [&](int set, std::int32_t number, std::int32_t rank) {
      asked.push_back(set);
      made.push_back(std::make_unique<local::group>(set == 0 ? compute : reduce, number,
                                                    *ends[static_cast<std::size_t>(rank)]));
      return made.back().get();
    };
    for (const voice& each : of.voices) {
      stages.push_back(std::make_unique<joined>());
      joined& own = *stages.back();
      own.sings = each;
      own.sings.learns = learns;
      own.at.rank = of.place(each, 0);
      own.at.range = {0, net::stage::layers};
      own.at.cut = {groups.tensor_of(each), groups.tensor_member(each)};
      own.at.parameters = net::stage::parameter_end(own.at.range, own.at.cut) -
                          net::stage::parameter_begin(own.at.range, own.at.cut);
      own.stage.parameters = net::stage::parameters_of("ear", own.at.range, own.at.cut);
      own.stage.join(outline_of_net<net>, groups, own.sings, 0, choice, {}, own.at, find);
    }
  }
};
motet::isize counted(const update_share& share) {
  motet::isize sum = 0;
  for (const interval each : share.counted) sum += each.size();
  return sum;
}

}  // namespace

TEST_CASE("a stage asks for the groups that it is in, and sums its gradients whole") {
  all_ranks all({.tensor = 2});
  REQUIRE(all.stages.size() == 5);
  for (const auto& each : all.stages) {
    placed_type& own = each->stage;
    const bool alone = each->at.rank == 4;
    CHECK((own.tensor == nullptr) == alone);  // tensor
    CHECK(own.context == nullptr);            // context
    REQUIRE(own.sums.size() == (alone ? 1u : 2u));
    for (const auto* sum : own.sums) CHECK((sum == nullptr) == alone);
    if (!alone) {
      CHECK(own.tensor->size() == 2);
      CHECK(own.sums[0]->size() == 2);
      CHECK(own.sums[1]->size() == 4);
    }
    CHECK((own.reduction == nullptr) == alone);
    CHECK(own.ring == nullptr);
    CHECK(each->at.moments == each->at.parameters);
    CHECK_FALSE(each->at.sums_each);
    CHECK((own.sums_bytes() > 0) == !alone);
    // nothing to wait for
    if (alone) CHECK(own.sums_action().run(own.sums_action().stage, instruction{}, 0));
    else CHECK(own.sums_action().stage == own.reduction.get());
  }
  CHECK(std::count(all.asked.begin(), all.asked.end(), 0) == 4);
  CHECK(std::count(all.asked.begin(), all.asked.end(), 1) == 8);
}

TEST_CASE("replicas share moments, and keep no gradients but their own where that is chosen") {
  for (const bool gradients : {false, true}) {
    all_ranks all({.tensor = 2, .shard_optimizer = true, .shard_gradients = gradients});
    motet::isize moments = 0, held = 0;
    for (const auto& each : all.stages) {
      if (each->at.rank == 4) continue;
      CHECK(each->at.moments < each->at.parameters);
      CHECK(each->at.moments == each->stage.share.moments);
      CHECK(each->at.sums_each == gradients);
      CHECK((each->stage.ring != nullptr) == gradients);
      CHECK((each->stage.reduction != nullptr) == !gradients);
      CHECK(each->stage.sums_action().stage ==
            (gradients ? static_cast<void*>(each->stage.ring.get()) : each->stage.reduction.get()));
      moments += each->at.moments;
      held += each->at.parameters;
    }
    // Two replicas hold what is cut, and four ranks what is not.
    CHECK(moments <= held / 2 + held / 8);
    CHECK(moments >= held / 4);
  }
}

TEST_CASE("weights are kept as moments are where that is chosen, and come together part by part") {
  all_ranks all({.tensor = 2, .shard_optimizer = true, .shard_gradients = true, .shard_weights = true});
  for (const auto& each : all.stages) {
    const bool alone = each->at.rank == 4;
    CHECK(each->at.gathers_each == !alone);
    CHECK((each->stage.lent != nullptr) == !alone);
    motet::isize largest = 0;
    for (const interval part : net::stage::weight_parts(each->at.range, each->at.cut))
      largest = std::max(largest, part.size());
    CHECK(each->at.lent == (alone ? 0 : largest));
    CHECK((each->at.moments < each->at.parameters) == !alone);
  }
}

TEST_CASE("what does not learn has no moments, and one of equal copies counts") {
  all_ranks all({.tensor = 2}, false);
  for (const auto& each : all.stages) {
    CHECK(each->at.moments == 0);
    CHECK(each->stage.reduction == nullptr);
    motet::isize wanted = 0;
    for (const parameter& one : each->stage.parameters)
      if (each->sings.replica == 0 && (one.by != cut_by::nothing || each->at.cut.shard == 0))
        wanted += one.held();
    CHECK(counted(each->stage.share) == wanted);
    CHECK((wanted > 0) == (each->sings.replica == 0));
  }
}

TEST_CASE("no group is a group of nobody else") {
  CHECK(any_or_none<local::group>(nullptr).size() == any_group{}.size());
}
