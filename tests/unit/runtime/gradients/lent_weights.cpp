// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/runtime/gradients/lent_weights.hpp>

#include <doctest/doctest.h>
#include <reduction_threads.hpp>

using namespace motet;

namespace {
using lent = lent_weights<float, local::group, cpu::context>;
const std::vector<interval> two = {{0, 64}, {64, 160}};
reduction_layout layout_of(std::int32_t rank, bool shards = true) {
  return lay_out_reduction(160, {2, rank}, {}, {.elements = 96, .packed = 16, .shards = shards}, two);
}
const float* where(lent& of, motet::isize begin, motet::isize count) {
  const weight_lender asked = of.lender();
  return static_cast<const float*>(asked.where(asked.self, standing_address<float>() + begin, count));
}
// Of each rank's stage every layer comes together from shares, in the order of forward and in that of
// backward, and after an update the new numbers do.
int check_lent(const laws::made_ranks& ranks, std::int32_t rank, local::group* cut, local::group* shared,
               std::uint64_t seed) {
  const auto parameters = laws::make_parameters(seed, ranks.tensor);
  const laws::made_stage own = laws::stage_of(parameters, ranks.tensor, rank % ranks.tensor);
  const std::vector<interval> layers = laws::layers_of(own, seed);
  const reduction_layout layout = ranks.layout(own, rank, laws::make_options(seed, true), layers);
  std::vector<float> shares(as_size(layout.share.moments), -1000);
  laws::host_site host;
  lent all(layout, layers, {cut, shared});
  all.prepare(host.ctx, standing_address<float>(), shares.data());
  int wrong = 0;
  const auto each_number = [&](std::uint64_t step, auto&& visit) {
    for (const auto& part : own.parts)
      for (motet::isize e = 0; e < part.at.size(); ++e)
        visit(part.at.begin + e,
              laws::sum_of(ranks, rank, parameters[part.parameter], step, part.parameter, part.global + e));
  };
  for (std::uint64_t step = 0; step < 2; ++step) {
    all.begin_step();
    each_number(step, [&](motet::isize at, float number) {
      for (const owned_elements& each : layout.share.owned)
        if (at >= each.at.begin && at < each.at.end)
          shares[as_size(each.moments + at - each.at.begin)] = number;
    });
    for (std::size_t turn = 0; turn < 2 * layers.size(); ++turn) {
      const interval at = layers[turn < layers.size() ? turn : 2 * layers.size() - 1 - turn];
      const float* const here = where(all, at.begin, at.size());
      wrong += where(all, at.begin, at.size()) != here;
      each_number(step, [&](motet::isize e, float number) {
        if (e >= at.begin && e < at.end) wrong += here[e - at.begin] != number;
      });
    }
  }
  return wrong;
}
}  // namespace

TEST_CASE("layers come together from the shares of all who have them") {
  for (std::uint64_t seed = 0; seed < 48; ++seed) {
    const laws::made_ranks ranks{1 + static_cast<std::int32_t>(seed % 4),
                                 1 + static_cast<std::int32_t>(seed / 4 % 3)};
    if (ranks.size() > 4) continue;
    CAPTURE(seed);
    std::atomic<int> wrong{0};
    CHECK(laws::run_reduction(ranks, 4, [&](local::endpoint& end, local::group* cut, local::group* shared) {
            wrong += check_lent(ranks, end.rank(), cut, shared, seed);
          }) == "");
    CHECK(wrong == 0);
  }
}

TEST_CASE("there is memory for the largest part, and what is no part is refused") {
  CHECK_THROWS_WITH_AS(lent(lay_out_reduction(160, {}, {}, {}, two), two, {nullptr}),
                       doctest::Contains("shards"), error);
  CHECK_THROWS_WITH_AS(lent(layout_of(0), two, {nullptr}), doctest::Contains("got member 0 of 1"), error);
  std::vector<float> shares(160, 3);
  lent alone(lay_out_reduction(160, {}, {}, {.shards = true}, two), two, {nullptr});
  CHECK(alone.elements() == 96);
  laws::host_site host;
  alone.prepare(host.ctx, standing_address<float>(), shares.data());
  CHECK(where(alone, 64, 96)[95] == 3);
  CHECK_THROWS_WITH_AS(where(alone, 32, 32), doctest::Contains("elements 32 to 64 are no part"), error);
  CHECK_THROWS_WITH_AS(where(alone, 0, 60), doctest::Contains("are no part"), error);
  const laws::made_ranks ranks{2, 1};
  const std::string outside =
      laws::run_reduction(ranks, 4, [&](local::endpoint& end, local::group* cut, local::group*) {
        const std::vector<interval> halves = {{0, 80}, {80, 160}};
        lent(layout_of(end.rank()), halves, {cut});
      });
  CHECK(outside.find("lie in no part") != std::string::npos);
}
