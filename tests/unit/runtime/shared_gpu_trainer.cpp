// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/device.hpp>
#include <motet/backend/transport/shared_gpu/shared_gpu_group.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/plan/prove/check_plan.hpp>
#include <motet/runtime/save/pipeline_checkpoint.hpp>
#include <motet/runtime/stage/plan_choices.hpp>

#include "hand_plans.hpp"
#include "pipeline_comparisons.hpp"

// Plans of several ranks that share a GPU train as one rank on the CPU does.
namespace {

using picture = motet::module<
    "picture", vit<vit_config{.image = 8, .patch = 4, .width = 8, .layers = 4, .heads = 2, .embedding = 8}>>;
using caption =
    motet::module<"caption",
                  text_tower<text_config{
                      .vocabulary = 20, .context = 6, .width = 8, .layers = 4, .heads = 2, .embedding = 8}>>;
using towers = model<join<info_nce, picture, caption>>;
using sigmoid_towers = model<join<pairwise_sigmoid, picture, caption>>;
using fixed_picture = motet::module<
    "picture",
    frozen<vit<vit_config{.image = 8, .patch = 4, .width = 8, .layers = 4, .heads = 2, .embedding = 8}>>>;
using experts_caption =
    motet::module<"caption", text_tower<text_config{.vocabulary = 20,
                                                    .context = 6,
                                                    .width = 8,
                                                    .layers = 4,
                                                    .heads = 2,
                                                    .embedding = 8,
                                                    .mix = {.experts = 5, .balance = 0.1f}}>>;
using expert_towers = model<join<info_nce, picture, experts_caption>>;
using half_frozen = model<join<info_nce, fixed_picture, caption>>;

template <class Model>
using on_gpu =
    pipeline_trainer<Model, motet::cuda::device, fp32, thread_ranks<shared_gpu::world, shared_gpu::endpoint>>;

using laws::in_groups;
using laws::in_pieces;
using laws::of;
using laws::with_zero;

// Losses, norms and in the end all weights beside the single rank's.
template <class Model = towers>
void follow(const plan& order_of, motet::isize samples, int steps, const std::vector<int>& share = {},
            const std::vector<double>& shares_of_lanes = {}) {
  score order;
  REQUIRE(write_plan(order_of, facts_of<Model>(), order).ok());
  pipeline_config config;
  config.batch = samples;
  config.modules = choices_of(order_of);
  config.deadline = 240;
  config.each.shares = shares_of_lanes;
  on_gpu<Model> many(order, config);
  many.ranks().world().share(share);
  many.prepare();
  single_rank<Model, fp32> one(samples, order.voices()[0].joins());
  CHECK(many.weights() == one.weights);
  // The rate is not larger: a course with larger steps comes where rounding grows, also between two plans on
  // the CPU.
  constexpr double rate = 5e-4;
  laws::deviation worst;
  for (int step = 0; step < steps; ++step) {
    const test_data data(samples, static_cast<std::uint64_t>(1 + step % 3));
    const auto whole = data.batch<Model>();
    const step_result wanted = one.step(whole, rate), found = many.step(whole, rate);
    worst.add(std::abs(found.loss - wanted.loss) / std::max(1.0, std::abs(wanted.loss)), found.loss,
              wanted.loss, [&] { return "step " + std::to_string(step); });
    if (step == 0)
      CHECK(laws::off_by(found.gradient_norm, wanted.gradient_norm) <= 1e-5 * wanted.gradient_norm);
  }
  CHECK(worst < 1e-4);
}

}  // namespace

TEST_CASE("1F1B over two ranks: fifty steps give the losses of one rank on the CPU") {
  follow(of(2, "1f1b",
            {in_groups(1, on_ranks("picture", 0, {2, 1, 1, 1}, 2)),
             in_groups(1, on_ranks("caption", 0, {2, 1, 1, 1}, 2))}),
         8, 50);
}

TEST_CASE("1F1B over four ranks") {
  follow(of(4, "1f1b",
            {in_groups(1, on_ranks("picture", 0, {4, 1, 1, 1}, 4)),
             in_groups(1, on_ranks("caption", 0, {4, 1, 1, 1}, 4))}),
         8, 3);
}

TEST_CASE("one loss for the whole batch, forwards that come again, and backwards in two parts") {
  module_plan stashes = on_ranks("picture", 0, {2, 1, 1, 1}, 4);
  stashes.stash = 1;
  follow(of(4, "batch_sync", {stashes, on_ranks("caption", 2, {2, 1, 1, 1}, 2)}), 8, 3);
  follow(of(3, "zb_h1",
            {in_groups(1, on_ranks("picture", 0, {2, 1, 1, 1}, 3)),
             in_groups(1, on_ranks("caption", 2, {1, 1, 1, 1}, 3))}),
         6, 3);
}

TEST_CASE("tensor groups and context groups") {
  follow(
      of(3, "batch_sync", {on_ranks("picture", 0, {1, 1, 1, 2}, 2), on_ranks("caption", 2, {1, 1, 1, 1}, 2)}),
      8, 3);
  follow(of(4, "batch_sync",
            {in_pieces(2, on_ranks("picture", 0, {1, 1, 2, 2})), on_ranks("caption", 0, {2, 1, 2, 1})}),
         8, 2);
}

TEST_CASE("rows of a tensor group in pieces give the same bits, however many there are") {
  const auto learned = [](int pieces) {
    const plan order_of = of(3, "batch_sync",
                             {on_ranks("picture", 2, {1, 1, 1, 1}, 2),
                              in_pieces(pieces, on_ranks("caption", 0, {1, 1, 1, 2}, 2))});
    score order;
    REQUIRE(write_plan(order_of, facts_of<towers>(), order).ok());
    pipeline_config config;
    config.batch = 8;
    config.modules = choices_of(order_of);
    config.deadline = 240;
    on_gpu<towers> many(order, config);
    many.prepare();
    std::pair<std::vector<double>, std::vector<float>> found;
    for (int step = 0; step < 2; ++step) {
      const test_data data(8, static_cast<std::uint64_t>(1 + step));
      found.first.push_back(many.step(data.batch<towers>(), 1e-3).loss);
    }
    for (const float each : many.weights()) found.second.push_back(each);
    return found;
  };
  const auto whole = learned(1);
  CHECK(whole.first[0] != whole.first[1]);
  for (const int pieces : {2, 5}) {
    CAPTURE(pieces);
    const auto cut = learned(pieces);
    CHECK(cut.first == whole.first);
    CHECK(cut.second == whole.second);
  }
}

TEST_CASE(
    "replicas with sums of gradients, which share the optimizer's work or keep no gradients but their own") {
  for (const int zero : {0, 1, 2}) {
    CAPTURE(zero);
    follow(of(3, "batch_sync",
              {with_zero(zero, on_ranks("picture", 0, {1, 2, 1, 1}, 2)),
               on_ranks("caption", 2, {1, 1, 1, 1}, 2)}),
           8, 3);
  }
}

TEST_CASE("replicas that share experts, whose sums are shared and whose rows are not equally many") {
  for (const int zero : {0, 2}) {
    CAPTURE(zero);
    follow<expert_towers>(
        of(3, "batch_sync",
           {on_ranks("picture", 2, {1, 1, 1, 1}, 2),
            with_zero(zero, laws::sharing_experts(2, on_ranks("caption", 0, {1, 2, 1, 1}, 2)))}),
        7, 3);
  }
  // All four ranks of two tensor groups share them.
  follow<expert_towers>(of(4, "batch_sync",
                           {on_ranks("picture", 2, {1, 1, 1, 1}, 2),
                            with_zero(0, laws::sharing_experts(2, on_ranks("caption", 0, {1, 2, 1, 2}, 2)))}),
                        7, 3);
}

TEST_CASE("a frozen module, and the sigmoid loss, whose rows pass by") {
  follow<half_frozen>(
      of(3, "batch_sync", {on_ranks("picture", 0, {2, 1, 1, 1}, 2), on_ranks("caption", 2, {1, 1, 1, 1}, 2)}),
      8, 3);
  follow<sigmoid_towers>(
      of(3, "batch_sync", {on_ranks("picture", 0, {1, 2, 1, 1}, 2), on_ranks("caption", 2, {1, 1, 1, 1}, 2)}),
      8, 3);
}

TEST_CASE("each rank on its own share of the multiprocessors") {
  follow(
      of(4, "batch_sync", {on_ranks("picture", 0, {2, 1, 1, 1}, 2), on_ranks("caption", 2, {2, 1, 1, 1}, 2)}),
      8, 2, {32});
}

TEST_CASE("a rank with more to do on more of them") {
  follow(
      of(3, "batch_sync", {on_ranks("picture", 0, {2, 1, 1, 1}, 2), on_ranks("caption", 2, {1, 1, 1, 1}, 2)}),
      8, 2, {56, 40, 24});
}

// The second module computes in a lane of its own.
plan in_lanes(int ranks, module_plan one, module_plan other) {
  other.lane = 1;
  return of(ranks, "batch_sync", {std::move(one), std::move(other)});
}

TEST_CASE("two lanes of a rank, each with a stream of its own: as one rank on the CPU") {
  follow(in_lanes(1, on_ranks("picture", 0, {1, 1, 1, 1}, 2), on_ranks("caption", 0, {1, 1, 1, 1}, 2)), 8, 3);
  follow(in_lanes(2, on_ranks("picture", 0, {2, 1, 1, 1}, 2), on_ranks("caption", 0, {2, 1, 1, 1}, 2)), 8, 3);
  follow(in_lanes(3, on_ranks("picture", 0, {1, 1, 1, 2}, 2), on_ranks("caption", 0, {1, 2, 1, 1}, 2)), 8, 3);
  // Both compute with the other rank, in both lanes.
  follow(in_lanes(2, on_ranks("picture", 0, {1, 1, 1, 2}, 2), on_ranks("caption", 0, {1, 1, 2, 1}, 2)), 8, 3);
  for (const int zero : {0, 1, 2})
    follow(in_lanes(2, with_zero(zero, on_ranks("picture", 0, {1, 2, 1, 1}, 2)),
                    with_zero(zero, on_ranks("caption", 0, {1, 2, 1, 1}, 2))),
           8, 3);
}

TEST_CASE("lanes count their own memory, record graphs of their own, and divide multiprocessors by shares") {
  const plan both =
      in_lanes(1, on_ranks("picture", 0, {1, 1, 1, 1}, 2), on_ranks("caption", 0, {1, 1, 1, 1}, 2));
  score order;
  REQUIRE(write_plan(both, facts_of<towers>(), order).ok());
  pipeline_config config;
  config.batch = 8;
  config.modules = choices_of(both);
  std::vector<std::vector<float>> learned;
  for (const std::vector<double>& shares : {std::vector<double>{}, {0.75, 0.25}}) {
    config.each.shares = shares;
    on_gpu<towers> many(order, config);
    many.prepare();
    CHECK(many.forecast()[0].beside > 0);
    auto& lanes = many.ranks().end(0).lanes();
    CHECK(lanes.of(0).stream() != lanes.of(1).stream());
    if (shares.empty()) CHECK(lanes.of(0).processors() == lanes.of(1).processors());
#if !defined(__CUDACC__)
    if (!shares.empty()) CHECK(lanes.of(0).processors() == 88);
    if (!shares.empty()) CHECK(lanes.of(1).processors() == 32);
#endif
    for (int step = 0; step < 4; ++step) {
      const test_data data(8, static_cast<std::uint64_t>(1 + step % 3));
      many.step(data.batch<towers>(), 1e-3);
    }
    for (const std::int32_t lane : {0, 1}) CHECK(lanes.of(lane).part<motet::cuda::recorder>().replayed() > 0);
    learned.push_back(many.weights());
  }
  CHECK(learned[0] == learned[1]);
}

TEST_CASE("lanes that yield have streams of less priority, until shares divide the multiprocessors") {
  const plan both =
      in_lanes(1, on_ranks("picture", 0, {1, 1, 1, 1}, 2), on_ranks("caption", 0, {1, 1, 1, 1}, 2));
  score order;
  REQUIRE(write_plan(both, facts_of<towers>(), order).ok());
  pipeline_config config;
  config.batch = 8;
  config.modules = choices_of(both);
  const auto priorities = [&] {
    on_gpu<towers> many(order, config);
    many.prepare();
    std::vector<int> found;
    for (const std::int32_t lane : {0, 1})
      motet::cuda::check(
          cudaStreamGetPriority(many.ranks().end(0).lanes().of(lane).stream(), &found.emplace_back()),
          "cudaStreamGetPriority");
    return found;
  };
  CHECK(priorities() == std::vector<int>{0, 0});
  config.each.yields = {false, true};
  const std::vector<int> unlike = priorities();
  CHECK(unlike[0] < unlike[1]);  // the lower number comes first
}

TEST_CASE("shares of lanes change between steps, and what is learned does not") {
  const plan both =
      in_lanes(2, on_ranks("picture", 0, {2, 1, 1, 1}, 2), on_ranks("caption", 0, {2, 1, 1, 1}, 2));
  score order;
  REQUIRE(write_plan(both, facts_of<towers>(), order).ok());
  pipeline_config config;
  config.batch = 8;
  config.modules = choices_of(both);
  // Ranks with all multiprocessors and with their own, lanes with none at first and with some.
  for (const std::vector<int>& own : {std::vector<int>{}, {64, 48}})
    for (const std::vector<double>& first : {std::vector<double>{}, {0.5, 0.5}}) {
      CAPTURE(own.size());
      CAPTURE(first.size());
      const auto learned = [&](const std::vector<std::vector<double>>& shares) {
        config.each.shares = first;
        on_gpu<towers> many(order, config);
        many.ranks().world().share(own);
        many.prepare();
        for (std::size_t step = 0; step < 8; ++step) {
          if (step % 2 == 0 && step / 2 < shares.size()) {
            many.share_lanes(shares[step / 2]);
#if !defined(__CUDACC__)
            auto& lanes = many.ranks().end(0).lanes();
            const int all = own.empty() ? 120 : 64;
            const double part = shares[step / 2][1] / (shares[step / 2][0] + shares[step / 2][1]);
            CHECK(lanes.of(0).processors() + lanes.of(1).processors() == all);
            CHECK(std::abs(lanes.of(1).processors() - part * all) < 8);
#endif
          }
          const test_data data(8, static_cast<std::uint64_t>(1 + step % 2));
          many.step(data.batch<towers>(), 1e-3);
        }
        return many.weights();
      };
      CHECK(learned({{1, 3}, {3, 1}, {1, 3}}) == learned({}));
    }
  on_gpu<towers> many(order, config);
  many.ranks().world().share({64, 8});
  CHECK_THROWS_WITH_AS(many.share_lanes({1, -1}), doctest::Contains("MT-R63"), error);
}

TEST_CASE("a rank's own share of the multiprocessors is divided among its lanes") {
  plan two = in_lanes(2, on_ranks("picture", 0, {2, 1, 1, 1}, 2), on_ranks("caption", 0, {2, 1, 1, 1}, 2));
  follow(two, 8, 2, {64, 32}, {0.5, 0.5});
  CHECK_THROWS_WITH_AS(follow(two, 8, 1, {64, 8}, {0.5, 0.5}), doctest::Contains("MT-B15"), error);
}

TEST_CASE("times are of the GPU's work, and a record has them for every instruction") {
  const plan two = of(2, "1f1b",
                      {in_groups(1, on_ranks("picture", 0, {2, 1, 1, 1}, 2)),
                       in_groups(1, on_ranks("caption", 0, {2, 1, 1, 1}, 2))});
  score order;
  REQUIRE(write_plan(two, facts_of<towers>(), order).ok());
  pipeline_config config;
  config.batch = 8;
  config.modules = choices_of(two);
  on_gpu<towers> many(order, config);
  many.prepare();
  const test_data data(8);
  timeline when;
  many.step(data.batch<towers>(), 1e-3, &when);
  const program& all = many.of();
  for (std::int32_t i = 0; i < all.instructions.size(); ++i) {
    CHECK(when.start[i] >= 0);
    CHECK(when.finish[i] >= when.start[i]);
  }
  CHECK(when.makespan > 0);
}

TEST_CASE("a checkpoint of these ranks goes on on the CPU, and back") {
  const plan two =
      of(2, "batch_sync", {on_ranks("picture", 0, {1, 1, 1, 1}, 2), on_ranks("caption", 1, {1, 1, 1, 1}, 2)});
  score order;
  REQUIRE(write_plan(two, facts_of<towers>(), order).ok());
  pipeline_config config;
  config.batch = 8;
  config.modules = choices_of(two);
  on_gpu<towers> gpu(order, config);
  pipeline<towers, fp32> host(order, config);
  gpu.prepare();
  host.prepare();
  const test_data data(8);
  const auto whole = data.batch<towers>();
  gpu.step(whole, 1e-3);
  host.set_state(gpu.state());
  CHECK(host.weights() == gpu.weights());
  CHECK(laws::off_by(host.step(whole, 1e-3).loss, gpu.step(whole, 1e-3).loss) < 1e-4);
  gpu.set_state(host.state());
  CHECK(host.state().second == gpu.state().second);
}
