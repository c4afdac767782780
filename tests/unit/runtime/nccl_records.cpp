// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/device.hpp>
#include <motet/backend/transport/nccl/nccl_group.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/plan/prove/check_plan.hpp>
#include <motet/runtime/ranks/process_rank.hpp>
#include <motet/runtime/stage/plan_choices.hpp>

#include <optional>

#include "hand_plans.hpp"
#include "nccl_ranks.hpp"
#include "pipeline_comparisons.hpp"

// Records of steps over several GPUs, and samples that move by what is measured there.
namespace {

using picture = motet::module<
    "picture", vit<vit_config{.image = 8, .patch = 4, .width = 8, .layers = 4, .heads = 2, .embedding = 8}>>;
using caption =
    motet::module<"caption",
                  text_tower<text_config{
                      .vocabulary = 20, .context = 6, .width = 8, .layers = 4, .heads = 2, .embedding = 8}>>;
using towers = model<join<info_nce, picture, caption>>;
using with_nccl =
    pipeline_trainer<towers, motet::cuda::device, fp32, process_rank<nccl::world, nccl::endpoint>>;

using laws::of;

// Kernels of the emulated GPU r take paces[r] seconds each, so that nothing else counts.
struct paced {
  explicit paced([[maybe_unused]] std::vector<double> seconds) : gpus(static_cast<int>(seconds.size())) {
#if !defined(__CUDACC__)
    for (int g = 0; g < gpus; ++g) emulation::pace(g, seconds[static_cast<std::size_t>(g)]);
#endif
  }
  ~paced() {
#if !defined(__CUDACC__)
    for (int g = 0; g < gpus; ++g) emulation::pace(g, 0);
#endif
  }
  int gpus;
};
// Steps on all ranks, after one at the usual pace: what each of them has as a record of the last one, and
// rank 0's shares of module 0 after it.
struct recorded {
  score order;
  std::vector<timeline> when;
  std::vector<motet::isize> shares;
  program all;
};
recorded record(const plan& order_of, motet::isize samples, const std::vector<double>& paces,
                resplit_options resplit = {}) {
  recorded found;
  std::optional<paced> clocks;
  REQUIRE(write_plan(order_of, facts_of<towers>(), found.order).ok());
  pipeline_config config;
  config.batch = samples;
  config.modules = choices_of(order_of);
  config.deadline = 120;
  config.resplit = resplit;
  found.when.resize(static_cast<std::size_t>(order_of.cluster.ranks));
  laws::run_nccl_ranks(order_of.cluster.ranks, [&](nccl::session& here) {
    const auto rank = static_cast<std::size_t>(here.everyone().rank());
    with_nccl own(found.order, config);
    own.ranks().set_bound(200);
    own.prepare();
    for (int step = 0; step < 2; ++step) {
      const test_data data(samples, static_cast<std::uint64_t>(1 + step));
      own.step(data.batch<towers>(), 5e-4, resplit.every > 0 ? nullptr : &found.when[rank]);
      own.ranks().barrier();
      if (rank == 0 && step == 0) clocks.emplace(paces);
      own.ranks().barrier();
    }
    if (rank != 0) return;
    found.all = own.of();
    const auto& shares = own.shares(0);
    found.shares.assign(shares.data(), shares.data() + shares.size());
  });
  return found;
}

}  // namespace

TEST_CASE("a record has times of the GPUs' work, the same on all ranks") {
  module_plan pictures = on_ranks("picture", 0, {2, 1, 1, 1}, 2),
              captions = on_ranks("caption", 0, {2, 1, 1, 1}, 2);
  pictures.group = captions.group = 1;
  const recorded found = record(of(2, "1f1b", {pictures, captions}), 8, {1, 1});
  if (found.all.instructions.size() == 0) return;  // too few GPUs
  const timeline& when = found.when[0];
  const score_sheet sheet(found.all);
  double longest = 0;
  for (std::int32_t i = 0; i < found.all.instructions.size(); ++i) {
    CHECK(found.when[1].start[i] == when.start[i]);
    CHECK(found.when[1].finish[i] == when.finish[i]);
    CHECK(when.start[i] >= 0);
    CHECK(when.finish[i] >= when.start[i]);
    longest = std::max(longest, when.finish[i] - when.start[i]);
    const instruction& it = found.all.instructions[i];
    // Ranks set their clocks by each other when a step begins, not exactly.
    const double apart = 0.01 * when.makespan;
    for (const std::int32_t each : sheet.graph.waits_of(i)) {
      if (each < 0 || is_receive(it.what)) continue;
      CHECK(when.start[i] >= when.finish[each] - apart);
    }
    if (!is_receive(it.what)) continue;
    for (const std::int32_t each : sheet.graph.waits_of(i))
      if (each >= 0 && is_send(found.all.instructions[each].what))
        CHECK(when.finish[i] >= when.start[each] - apart);
  }
  CHECK(when.makespan > longest);
#if !defined(__CUDACC__)
  for (std::int32_t i = 0; i < found.all.instructions.size(); ++i)
    if (is_forward(found.all.instructions[i].what) || is_backward(found.all.instructions[i].what))
      CHECK(when.finish[i] - when.start[i] > 5);
#endif
}

TEST_CASE("sums of gradients begin where the first one does, not where their turn is") {
  const recorded found = record(
      of(2, "batch_sync", {on_ranks("picture", 0, {1, 2, 1, 1}, 2), on_ranks("caption", 0, {1, 2, 1, 1}, 2)}),
      8, {1, 1});
  if (found.all.instructions.size() == 0) return;
  for (std::int32_t i = 0; i < found.all.instructions.size(); ++i) {
    const instruction& it = found.all.instructions[i];
    if (it.what != op::reduce_gradient) continue;
    double end = 0;
    for (std::int32_t b = 0; b < found.all.instructions.size(); ++b)
      if (found.all.instructions[b].voice == it.voice && is_backward(found.all.instructions[b].what))
        end = std::max(end, found.when[0].finish[b]);
    CHECK(found.when[0].start[i] <= end + 0.01 * found.when[0].makespan);
    CHECK(found.when[0].finish[i] >= end);
  }
}

#if !defined(__CUDACC__)
TEST_CASE("a slow GPU is seen as slow, in records and by shares that move") {
  const plan order =
      of(3, "batch_sync", {on_ranks("picture", 0, {1, 2, 1, 1}, 2), on_ranks("caption", 2, {1, 1, 1, 1}, 2)});
  const recorded found = record(order, 12, {1, 3, 1});
  double spent[2] = {};
  for (std::int32_t i = 0; i < found.all.instructions.size(); ++i) {
    const instruction& it = found.all.instructions[i];
    const std::int32_t rank = found.all.rank_of(i);
    if (rank < 2 && (is_forward(it.what) || is_backward(it.what)))
      spent[rank] += found.when[0].finish[i] - found.when[0].start[i];
  }
  CHECK(spent[0] > 10);
  CHECK(spent[1] / spent[0] > 2.9);
  CHECK(spent[1] / spent[0] < 3.1);
  resplit_options moves;
  moves.every = 1;
  moves.most = 1.5;
  moves.step = 0.5;
  const recorded moved = record(order, 12, {1, 3, 1}, moves);
  REQUIRE(moved.shares.size() == 2);
  CHECK(moved.shares[0] > moved.shares[1]);
}
#endif
