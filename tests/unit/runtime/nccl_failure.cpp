// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/device.hpp>
#include <motet/backend/transport/nccl/nccl_group.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/plan/prove/check_plan.hpp>
#include <motet/runtime/ranks/process_rank.hpp>
#include <motet/runtime/stage/plan_choices.hpp>

#include "nccl_ranks.hpp"
#include "pipeline_comparisons.hpp"

// One of three ranks, each with a GPU of its own, goes away in the middle of a run: NCCL alone would let the
// others wait for ever.
namespace {

using picture = motet::module<
    "picture", vit<vit_config{.image = 8, .patch = 4, .width = 8, .layers = 2, .heads = 2, .embedding = 8}>>;
using caption =
    motet::module<"caption",
                  text_tower<text_config{
                      .vocabulary = 20, .context = 6, .width = 8, .layers = 2, .heads = 2, .embedding = 8}>>;
using towers = model<join<info_nce, picture, caption>>;
using with_nccl =
    pipeline_trainer<towers, motet::cuda::device, fp32, process_rank<nccl::world, nccl::endpoint>>;

// The other two say this when rank 1 makes one step only, and then leaves by leave().
template <class Leave>
std::vector<std::string> others_say(Leave&& leave) {
  plan three;
  three.cluster.ranks = 3;
  three.schedule = "batch_sync";
  three.modules.push(on_ranks("picture", 0, {1, 2, 1, 1}, 2));
  three.modules.push(on_ranks("caption", 2, {1, 1, 1, 1}, 2));
  score order;
  REQUIRE(write_plan(three, facts_of<towers>(), order).ok());
  pipeline_config config;
  config.batch = 8;
  config.modules = choices_of(three);
  config.deadline = 120;
  std::vector<std::string> told(3);
  laws::run_nccl_ranks(3, [&](nccl::session& here) {
    const std::int32_t rank = here.everyone().rank();
    const test_data data(8);
    try {
      with_nccl own(order, config);
      own.ranks().set_bound(200);  // emulated GPUs are slow
      own.prepare();
      own.step(data.batch<towers>(), 5e-4);
      own.ranks().set_bound(8);
      if (rank == 1) return leave();
      own.step(data.batch<towers>(), 5e-4);
      told[static_cast<std::size_t>(rank)] = "went on";
    } catch (const std::exception& problem) {
      told[static_cast<std::size_t>(rank)] = problem.what();
    } catch (const nccl::stopped& why) {
      told[static_cast<std::size_t>(rank)] = why.why;
    }
  });
  return told;
}

void check_told(const std::vector<std::string>& told) {
  for (const std::size_t rank : {std::size_t{0}, std::size_t{2}}) {
    CAPTURE(told[rank]);
    CHECK(told[rank].find("rank 1 does not answer") != std::string::npos);
    CHECK(told[rank].find("in step 2") != std::string::npos);
    CHECK(told[rank].find("[MT-R25]") != std::string::npos);
  }
}

}  // namespace

TEST_CASE("when a rank fails, all others end, and say which one is lacking") {
  if (!laws::has_gpus(3)) return;
  const auto told = others_say([] { throw std::runtime_error("a bug of rank 1"); });
  check_told(told);
  CHECK(told[1] == "a bug of rank 1");
}

TEST_CASE("when a rank leaves without a word, too") {
  if (!laws::has_gpus(3)) return;
  check_told(others_say([] {}));
}
