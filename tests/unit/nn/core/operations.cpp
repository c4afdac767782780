// SPDX-License-Identifier: Apache-2.0
// nn/core/operations.hpp says what a backend offers; here every line of it is called as a net calls it,
// unqualified, on the backend that runs everywhere.
#include <motet/nn/core/operations.hpp>

#include <motet/backend/cpu/operations.hpp>
#include <motet/backend/groups/microbatch_spread.hpp>
#include <motet/nn/core/routing.hpp>

#include <doctest/doctest.h>

#include <cmath>

using namespace motet;

namespace {

// In a dry run operations take memory and touch no data, so empty matrices of the right shape are enough.
template <class Context, class T>
bool offers_all(Context& ctx) {
  const sequences seq{2, 3, nullptr};
  const matrix<T> x{nullptr, 6, 4, 4}, wide{nullptr, 6, 8, 8}, one{nullptr, 6, 1, 1}, two{nullptr, 6, 2, 2},
      pooled{nullptr, 2, 4, 4}, square{nullptr, 4, 4, 4};
  const matrix<const T> none{};
  T* const vector = nullptr;
  const attention_shape shape{2, 2, 2, mask_kind::full, 0};
  const patch_geometry geometry{1, 2, 2, 0};
  const std::int32_t* ids = nullptr;
  synchronize(ctx);
  { const auto part = enter(ctx, "all"); }
  zero(ctx, seq, x);
  add(ctx, seq, x, x, x);
  copy(ctx, seq, x, x);
  linear_forward(ctx, seq, x, square, vector, x);
  linear_forward(ctx, seq, x, square, vector, x, x);
  linear_forward(ctx, seq, x, square, vector, activation::gelu, x, x);
  linear_backward_input(ctx, seq, x, square, x);
  linear_backward_input(ctx, seq, x, square, x, x);
  linear_backward_input(ctx, seq, x, square, activation::gelu, x, x, x);
  linear_backward_weight(ctx, x, x, square, vector);
  linear_backward_bias(ctx, x, vector);
  norm_forward(ctx, seq, norm_kind::layer, x, vector, vector, 1e-5, x, two);
  const auto sums = norm_sums<T>(ctx, motet::isize{6}, motet::isize{4});
  norm_backward_input(ctx, seq, norm_kind::layer, x, vector, two, x, none, x,
                      norm_also<T, T>{x, vector, x, sums});
  norm_backward_weight(ctx, norm_kind::layer, x, two, x, sums, vector, vector);
  const matrix<T> modulation{nullptr, 2, 8, 8}, behind{nullptr, 4, 4, 4}, of_behind{nullptr, 4, 2, 2};
  modulated_norm_forward(ctx, seq, x, modulation, 1e-6, behind, of_behind);
  modulated_norm_backward(ctx, seq, x, modulation, of_behind, behind, none, x, modulation, behind);
  gated_add_forward(ctx, seq, x, behind, pooled, x);
  gated_add_backward(ctx, seq, behind, pooled, x, behind, pooled);
  activation_forward(ctx, seq, activation::gelu, x, x);
  activation_backward(ctx, seq, activation::gelu, x, x, x);
  swiglu_forward(ctx, seq, wide, x);
  swiglu_backward(ctx, seq, wide, x, wide);
  dropout_apply(ctx, seq, 0.5, std::uint64_t{1}, x, x);
  attention_forward(ctx, seq, seq, shape, x, x, x, x, two);
  attention_backward(ctx, seq, seq, shape, x, x, x, x, two, x, x, x, x);
  rotary(ctx, seq, motet::isize{2}, 100.0, 1, x);
  patches(ctx, seq, geometry, x, x);
  class_token_forward(ctx, seq, static_cast<const T*>(vector), x);
  class_token_backward_weight(ctx, seq, x, vector);
  class_token_backward_bias(ctx, seq, x, vector);
  sine_position_forward(ctx, seq, geometry, x);
  time_position_forward(ctx, seq, x);
  windows_forward(ctx, seq, row_windows{3, 1}, x, wide);
  windows_backward(ctx, seq, row_windows{3, 1}, wide, x);
  mix_noise(ctx, seq, noise_draws{}, motet::isize{1}, motet::isize{4}, noise_mix::noised, x);
  time_features(ctx, seq.pooled(), noise_draws{}, pooled);
  told_classes(ctx, seq.pooled(), noise_draws{}, ids, motet::isize{3}, 0.1f,
               static_cast<std::int32_t*>(nullptr));
  token_forward(ctx, seq, ids, motet::isize{2}, square, x);
  token_backward_weight(ctx, ids, motet::isize{2}, x, square);
  add_rows_at(ctx, seq, ids, x, x);
  position_forward(ctx, seq, square, x);
  position_backward_weight(ctx, seq, x, square);
  pick_forward(ctx, seq, pick::last, x, pooled);
  pick_backward(ctx, seq, pick::last, pooled, x);
  mean_forward(ctx, seq, x, pooled);
  mean_backward(ctx, seq, pooled, x);
  sum_forward(ctx, seq, 0.5, x, pooled);
  sum_backward(ctx, seq, 0.5, pooled, x);
  normalize_forward(ctx, seq, x, x, one);
  normalize_backward(ctx, seq, x, one, x, x);
  gather_rows(ctx, x, x);
  scatter_sum_rows(ctx, x, none, x);
  CHECK_EQ(rows_of_all(ctx).rows(), 6);
  const router_shape routes{.experts = 4, .top_k = 2};
  const matrix<choice<T>> chosen{nullptr, 6, 2, 2};
  dispatched<T> to;
  router_forward(ctx, seq, x, square, x);
  route_forward(ctx, seq, routes, x, one, chosen, pooled, two);
  route_backward(ctx, seq, routes, pooled, one, chosen, two, x);
  reserve_dispatch(ctx, seq, routes, tensor_cut{}, to);
  CHECK_EQ(to.sorted.count, 12);
  dispatch(ctx, seq, routes, chosen, to);
  to_experts(ctx, to, x, take_arrived<T>(ctx, to, 4), x);
  sort_rows(ctx, to, x, x, x);
  from_experts(ctx, seq, to, x, true, none, x);
  gates_from_experts(ctx, seq, to, static_cast<const T*>(vector), two);
  grouped_linear_forward(ctx, to.sorted, x, square, x);
  grouped_linear_forward(ctx, to.sorted, x, square, activation::gelu, x, x);
  grouped_linear_backward_input(ctx, to.sorted, x, square, x);
  grouped_linear_backward_weight(ctx, to.sorted, x, x, square);
  gate_backward(ctx, to.sorted, chosen, x, x, vector);
  info_nce_loss(ctx, x, x, static_cast<const T*>(vector), 1.0, x, x, vector);
  pairwise_sigmoid_loss(ctx, x, x, static_cast<const T*>(vector), static_cast<const T*>(vector), 1.0, x, x,
                        vector, vector);
  token_losses(ctx, seq, x, ids, z_loss{}, one);
  token_slopes(ctx, seq, x, ids, z_loss{}, one, x);
  squared_error_forward(ctx, seq, 0.5, x, x, x, two);
  squared_error_backward(ctx, seq, 0.5, x, two, x);
  sum_losses(ctx, one, one);
  zero(ctx, vector, motet::isize{4});
  sum_of_squares(ctx, vector, motet::isize{4});
  release(ctx, motet::isize{0});
  return true;
}

}  // namespace

TEST_CASE("a backend offers every operation that nets call, and a dry run of each touches no data") {
  cpu::profile noted;
  cpu::context ctx;
  ctx.costs = &noted;
  microbatch_spread shared;
  shared.part = {2, 3, nullptr};
  shared.tensor_rows = {6};
  ctx.shared = &shared;
  CHECK(offers_all<cpu::context, float>(ctx));
  CHECK(offers_all<cpu::context, double>(ctx));
  CHECK(ctx.memory.mark() == 0);
  CHECK(ctx.scratch.mark() == 0);
  CHECK(noted.flops() > 0);
}

TEST_CASE("shapes start as the simplest case") {
  CHECK_EQ(attention_shape{}.heads, 1);
  CHECK(attention_shape{}.mask == mask_kind::full);
  CHECK_EQ(patch_geometry{}.lead, 0);
}

TEST_CASE("turns slow down as in released Llama 3 models, or all alike") {
  // Of the transformers package, in float: base 10000, factor 8, between 1 and 4 turns in 64 positions.
  const double wanted[] = {1,
                           0.244384587,
                           0.0130422562,
                           0.00395284733,
                           0.00124999997,
                           0.000395284733,
                           0.000125000006,
                           3.95284733e-05};
  const rotary_angles plain(1e4), alike(1e4, 8, 1, 4, 0), slowed(1e4, 8, 1, 4, 64);
  for (motet::isize i = 0; i < 8; ++i) {
    CHECK(slowed.of(i, 8) == doctest::Approx(wanted[i]).epsilon(1e-6));
    CHECK(plain.of(i, 8) == doctest::Approx(std::pow(1e4, -static_cast<double>(i) / 8)).epsilon(1e-12));
    CHECK(alike.of(i, 8) == doctest::Approx(plain.of(i, 8) / 8).epsilon(1e-12));
  }
}
