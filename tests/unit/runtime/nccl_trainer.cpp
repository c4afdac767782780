// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/device.hpp>
#include <motet/backend/transport/nccl/nccl_group.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/plan/prove/check_plan.hpp>
#include <motet/runtime/ranks/process_rank.hpp>
#include <motet/runtime/stage/plan_choices.hpp>

#include "hand_plans.hpp"
#include "nccl_ranks.hpp"
#include "pipeline_comparisons.hpp"

// Plans of several ranks, each with a GPU of its own, train as one rank on the CPU does. Here they are
// threads; what one finds is compared when all are through.
namespace {

using picture = motet::module<
    "picture", vit<vit_config{.image = 8, .patch = 4, .width = 8, .layers = 4, .heads = 2, .embedding = 8}>>;
using caption =
    motet::module<"caption",
                  text_tower<text_config{
                      .vocabulary = 20, .context = 6, .width = 8, .layers = 4, .heads = 2, .embedding = 8}>>;
using towers = model<join<info_nce, picture, caption>>;
using sigmoid_towers = model<join<pairwise_sigmoid, picture, caption>>;

template <class Model>
using with_nccl =
    pipeline_trainer<Model, motet::cuda::device, fp32, process_rank<nccl::world, nccl::endpoint>>;

using laws::of;

template <class Model = towers>
void follow(const plan& order_of, motet::isize samples, int steps,
            const char* registered = "are registered with NCCL", bool again = false,
            const std::vector<double>& shares_of_lanes = {}, bool moves = false) {
  score order;
  REQUIRE(write_plan(order_of, facts_of<Model>(), order).ok());
  pipeline_config config;
  config.batch = samples;
  config.modules = choices_of(order_of);
  config.deadline = 120;
  config.each.shares = shares_of_lanes;
  constexpr double rate = 5e-4;
  std::vector<std::vector<step_result>> found(static_cast<std::size_t>(order_of.cluster.ranks));
  std::vector<float> weights;
  std::vector<std::string> memory(found.size());
  const bool ran = laws::run_nccl_ranks(order_of.cluster.ranks, [&](nccl::session& here) {
    const std::int32_t rank = here.everyone().rank();
    with_nccl<Model> own(order, config);
    own.ranks().set_bound(200);  // emulated GPUs are slow
    own.prepare();
    if (again) own.prepare();
    for (int step = 0; step < steps; ++step) {
      // Lanes go on in other streams, unlike ones on each rank, and in the end in those of before.
      if (moves && step > 0)
        own.share_lanes(step % 2 == rank % 2 ? std::vector{0.75, 0.25} : std::vector{0.25, 0.75});
      const test_data data(samples, static_cast<std::uint64_t>(1 + step % 3));
      found[static_cast<std::size_t>(rank)].push_back(own.step(data.batch<Model>(), rate));
    }
    memory[static_cast<std::size_t>(rank)] = own.ranks().world().memory().describe();
    const std::vector<float> all = own.weights();
    if (rank == 0) weights = all;
  });
  if (!ran) return;
  for (const std::string& each : memory) CHECK(each.find(registered) != std::string::npos);
  single_rank<Model, fp32> one(samples, order.voices()[0].joins());
  for (int step = 0; step < steps; ++step) {
    const test_data data(samples, static_cast<std::uint64_t>(1 + step % 3));
    const step_result wanted = one.step(data.batch<Model>(), rate);
    for (const auto& each : found) {
      const step_result& got = each[static_cast<std::size_t>(step)];
      CHECK(laws::off_by(got.loss, wanted.loss) <= 1e-4 * std::max(1.0, std::abs(wanted.loss)));
      CHECK(laws::off_by(got.gradient_norm, wanted.gradient_norm) <= 1e-4 * wanted.gradient_norm);
    }
  }
  REQUIRE(weights.size() == one.weights.size());
  double off = 0, size = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    off += std::pow(static_cast<double>(weights[i]) - static_cast<double>(one.weights[i]), 2);
    size += std::pow(static_cast<double>(one.weights[i]), 2);
  }
  CHECK(std::sqrt(off / size) < 1e-3);
}

}  // namespace

TEST_CASE("a pipeline over two GPUs, one forward one backward") {
  module_plan pictures = on_ranks("picture", 0, {2, 1, 1, 1}, 2),
              captions = on_ranks("caption", 0, {2, 1, 1, 1}, 2);
  pictures.group = captions.group = 1;
  follow(of(2, "1f1b", {pictures, captions}), 8, 10);
}

TEST_CASE("eight GPUs: pipelines of two stages, each of two that share tensors, twice") {
  module_plan pictures = on_ranks("picture", 0, {2, 2, 1, 2}, 2),
              captions = on_ranks("caption", 0, {2, 2, 1, 2}, 2);
  pictures.group = captions.group = 1;
  follow(of(8, "1f1b", {pictures, captions}), 8, 2);
}

TEST_CASE("memory is registered anew with each preparation") {
  follow(
      of(2, "batch_sync", {on_ranks("picture", 0, {1, 2, 1, 1}, 2), on_ranks("caption", 0, {2, 1, 1, 1}, 2)}),
      8, 1, " buffers of ", true);
}

#if !defined(__CUDACC__)
TEST_CASE("memory that NCCL refuses on one rank is registered on none, and all goes on") {
  emulation::refuse("ncclCommRegister", cudaErrorUnknown, 3);
  follow(
      of(2, "batch_sync", {on_ranks("picture", 0, {1, 2, 1, 1}, 2), on_ranks("caption", 0, {2, 1, 1, 1}, 2)}),
      8, 2, "no memory is registered with NCCL");
}
#endif

TEST_CASE("towers apart, in groups, with forwards that come again") {
  module_plan stashes = on_ranks("picture", 0, {2, 1, 1, 1}, 4);
  stashes.stash = 1;
  follow(of(4, "batch_sync", {stashes, on_ranks("caption", 2, {2, 1, 1, 1}, 2)}), 8, 3);
}

TEST_CASE("replicas, tensor groups and context groups") {
  module_plan shares = on_ranks("picture", 0, {1, 2, 1, 1}, 2);
  shares.zero = 1;
  follow(of(3, "batch_sync", {shares, on_ranks("caption", 2, {1, 1, 1, 1}, 2)}), 8, 3);
  follow(of(4, "batch_sync",
            {laws::in_pieces(3, on_ranks("picture", 0, {1, 1, 2, 2})), on_ranks("caption", 0, {2, 1, 2, 1})}),
         8, 2);
}

TEST_CASE("two lanes of each rank, whose collectives come in one order on all") {
  const auto in_lanes = [](int ranks, module_plan one, module_plan other, const std::vector<double>& shares,
                           int steps = 3, bool moves = false) {
    other.lane = 1;
    follow(of(ranks, "batch_sync", {std::move(one), std::move(other)}), 8, steps, "are registered with NCCL",
           false, shares, moves);
  };
  in_lanes(2, on_ranks("picture", 0, {2, 1, 1, 1}, 2), on_ranks("caption", 0, {2, 1, 1, 1}, 2), {}, 4, true);
  in_lanes(2, on_ranks("picture", 0, {1, 1, 1, 2}, 2), on_ranks("caption", 0, {1, 1, 2, 1}, 2), {0.5, 0.5}, 4,
           true);
  module_plan shares = on_ranks("picture", 0, {1, 2, 1, 1}, 2);
  shares.zero = 1;
  in_lanes(2, shares, on_ranks("caption", 0, {1, 1, 1, 2}, 2), {});
}

TEST_CASE("the sigmoid loss, whose rows pass by") {
  follow<sigmoid_towers>(
      of(3, "batch_sync", {on_ranks("picture", 0, {1, 2, 1, 1}, 2), on_ranks("caption", 2, {1, 1, 1, 1}, 2)}),
      8, 3);
}
