// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/backend/cpu/operations.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>
#include "contrastive_step.hpp"

// The CPU backend offers every operation of the contract: a whole model is planned on it by unqualified calls
// alone.
namespace {

using namespace motet;
using picture = module<
    "picture",
    vit<vit_config{
        .image = 16, .patch = 8, .width = 16, .layers = 2, .heads = 2, .embedding = 8, .pre_norm = true}>>;
using caption =
    module<"caption",
           text_tower<text_config{
               .vocabulary = 20, .context = 6, .width = 16, .layers = 2, .heads = 2, .embedding = 8}>>;
using pair_model = model<join<info_nce, picture, caption>>;

TEST_CASE("a dry run of a step counts what its products need") {
  cpu::profile costs;
  cpu::context ctx;
  ctx.costs = &costs;
  const motet::isize offsets[] = {0, 4, 10, 11};
  const pair_model::batch batch{pictures{nullptr, 3}, tokens{nullptr, sequences{3, 0, offsets}}};
  contrastive_step<pair_model>::run(ctx, weights<fp32>{}, gradients<fp32>{},
                                    std::span<const pair_model::batch>(&batch, 1));
  // One full block of each tower: 12 w^2 multiplications a row, twice that in FLOPs, three times for forward
  // and both parts of backward.
  const double block_rows = 3 * 5 + 11;
  CHECK(costs.flops() > 6 * 12 * 16 * 16 * block_rows);
  CHECK(costs.flops() < 4 * 6 * 12 * 16 * 16 * block_rows);
  CHECK(ctx.memory.mark() == 0);
  CHECK(ctx.memory.peak() > 0);
  CHECK(ctx.scratch.peak() > 0);
}

}  // namespace
