// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/core/context_attention.hpp>

#include <motet/backend/cpu/operations.hpp>
#include <motet/backend/exchange/spread_rows.hpp>
#include <motet/nn/layers/mlp.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>

#include <context_members.hpp>

using namespace motet;

namespace {

// A net without attention has nowhere for rows to meet.
static_assert(supports_context<vit<vit_config{}>> && supports_context<text_tower<text_config{}>>);
static_assert(!supports_context<mlp<8, 16>>);
// Two pieces each only where a ring is causal: heads see all rows anyway, and a full mask gives equal parts
// equal work.
static_assert(text_tower<text_config{.context_kind = context_attention::ring}>::balanced_rows);
static_assert(!text_tower<text_config{}>::balanced_rows);
static_assert(!vit<vit_config{.context_kind = context_attention::ring}>::balanced_rows);

// In a dry run operations take memory and touch no data.
template <class Context, class T>
bool offers_all(Context& ctx) {
  const attention_shape shape{2, 1, 4, mask_kind::causal, 0};
  const motet::isize rows = rows_of_blocks(ctx).rows(), samples = rows_of_samples(ctx).rows();
  const matrix<T> x{nullptr, rows, 8, 8}, k{nullptr, rows, 4, 4}, qkv{nullptr, rows, 16, 16},
      lse{nullptr, rows, 2, 2}, whole{nullptr, samples, 8, 8};
  exchanged_heads<T, T> kept;
  CHECK(rows_are_cut(ctx));
  {
    const auto scope = on_whole_samples(ctx);
    CHECK_FALSE(rows_are_cut(ctx));
    CHECK_EQ(rows_of_all(ctx).rows(), samples);
  }
  CHECK(rows_are_cut(ctx));
  const motet::isize mark = ctx.memory.mark();
  rows_to_parts(ctx, whole, x);
  rows_to_samples(ctx, x, whole);
  rotary_of_part(ctx, motet::isize{4}, 100.0, 1, x);
  reserve_exchanged(ctx, shape, kept);
  const motet::isize reserved = ctx.memory.mark();
  CHECK(reserved > mark);
  heads_attention_forward(ctx, shape, qkv, kept, x);
  heads_attention_backward(ctx, shape, kept, x, qkv);
  ring_attention_forward(ctx, shape, x, k, k, x, lse);
  ring_attention_backward(ctx, shape, x, k, k, x, lse, x, x, k, k);
  CHECK_EQ(ctx.memory.mark(), reserved);
  release(ctx, mark);
  return true;
}

constexpr motet::isize ragged[] = {0, 3, 3, 8, 9, 22};

}  // namespace

TEST_CASE("a backend offers what context parallelism needs, and a dry run of it touches no data") {
  spread_rows places({.context = 2, .context_member = 1}, 5);
  microbatch_spread shared;
  shared.context = any_group(2, 1);
  places.fill({5, 1, ragged}, shared);
  cpu::profile noted;
  cpu::context ctx;
  ctx.costs = &noted;
  ctx.shared = &shared;
  CHECK(offers_all<cpu::context, float>(ctx));
  CHECK(offers_all<cpu::context, double>(ctx));
  CHECK(ctx.scratch.mark() == 0);
  CHECK(noted.flops() > 0);
  cpu::context alone;
  CHECK_FALSE(rows_are_cut(alone));
}

TEST_CASE("exchanged heads keep no more than a rank by itself would of its rows") {
  using layer_type = self_attention<attention_config{.width = 64, .heads = 4}>;
  const auto kept = [](const microbatch_spread* shared, const sequences& seq) {
    cpu::context ctx;
    ctx.shared = shared;
    layer_type::saved<fp32> s;
    layer_type::reserve<fp32>(ctx, seq, s);
    return ctx.memory.mark();
  };
  spread_rows places({.context = 4, .context_member = 0}, 2);
  microbatch_spread shared;
  shared.context = any_group(4, 0);
  places.fill({2, 256, nullptr}, shared);
  // The own rows of what attention gives are kept as well, as the product after it needs them.
  CHECK(kept(&shared, shared.own) == kept(nullptr, shared.own) + shared.own.rows() * 64 * 4);
}
