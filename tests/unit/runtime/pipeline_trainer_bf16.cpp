// SPDX-License-Identifier: Apache-2.0
// labels: threads
// races: runtime/train/pipeline_trainer and tests of kernels
// pipeline_trainer in other precisions.
#include <motet/runtime/train/pipeline_trainer.hpp>

#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/schedule/write/schedules.hpp>

#include "pipeline_comparisons.hpp"

namespace {

using picture = motet::module<
    "picture", vit<vit_config{.image = 8, .patch = 4, .width = 16, .layers = 3, .heads = 2, .embedding = 8}>>;
using caption =
    motet::module<"caption",
                  text_tower<text_config{
                      .vocabulary = 20, .context = 6, .width = 8, .layers = 2, .heads = 2, .embedding = 8}>>;
using towers = model<join<info_nce, picture, caption>>;

std::vector<score> orders() {
  const auto both = [](const char* name, int groups) {
    return joined(beside(write_schedule(name, {.stages = 3, .microbatches = 4}),
                         write_schedule(name, {.stages = 2, .microbatches = 4})),
                  groups);
  };
  return {both("gpipe", 2), both("zb_h2", 4), batch_sync::write({{{3, 8, 4, 1}, {2, 4, 2, 0, 1}}, 2})};
}

// Wide enough that roundings are many and their sum is small beside the gradient.
using wide_towers = model<
    join<info_nce,
         motet::module<
             "picture",
             vit<vit_config{.image = 8, .patch = 4, .width = 64, .layers = 2, .heads = 4, .embedding = 64}>>,
         motet::module<
             "caption",
             text_tower<text_config{
                 .vocabulary = 20, .context = 6, .width = 64, .layers = 2, .heads = 4, .embedding = 64}>>>>;
template <class Numbers>
double first_norm(std::uint64_t seed) {
  const test_data data(32, seed);
  single_rank<wide_towers, Numbers> one(32, 1, {}, seed);
  return one.step(data.batch<wide_towers>(), 0).gradient_norm;
}

// A microbatch rounds its values as the whole batch does; sums are in float. They differ in their last bit,
// for which now and then, in about one of ten batches, a value of bf16 is rounded to the other side.
template <class Numbers>
void check_roundings(const score& order) {
  constexpr int batches = 5;
  int alike = 0;
  for (std::uint64_t seed = 1; seed <= batches; ++seed)
    alike += compare_with_single_rank<towers, Numbers>(order, 12, 1e-2, {}, seed) <= 1e-5 ? 1 : 0;
  CHECK(alike >= 3);
}

}  // namespace

// docs/precision.md has what each rounding does, and what PyTorch's autocast does to the same towers.
TEST_CASE("the norm of a gradient in bf16 is within 1 % of that in fp32") {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    const double wanted = first_norm<fp32>(seed), found = first_norm<mixed_bf16>(seed);
    CAPTURE(wanted);
    CAPTURE(found);
    CHECK(std::abs(found / wanted - 1) < 0.01);
    CHECK(found != wanted);
  }
}

TEST_CASE("bf16 values, float sums") {
  for (const score& order : orders()) check_roundings<mixed_bf16>(order);
}
// Rows that go from stage to stage are those that a single rank keeps, too.
TEST_CASE("bf16 values and streams, messages of half the bytes") {
  check_roundings<bf16_streams>(orders()[0]);
}
