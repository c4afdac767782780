// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/core/rounded_rows.hpp>

#include <motet/nn/compose/recompute.hpp>
#include <motet/nn/compose/repeat.hpp>
#include <motet/nn/compose/residual.hpp>
#include <motet/nn/compose/sequential.hpp>
#include <motet/nn/layers/attention.hpp>
#include <motet/nn/layers/gated_mlp.hpp>
#include <motet/nn/layers/mixture.hpp>
#include <motet/nn/layers/mlp.hpp>

#include "layer_laws.hpp"

namespace motet {
namespace {

// The CPU's operations, for nets that are to spare passes.
struct sparing : cpu::context {
  static constexpr bool spares_passes = true;
  static inline int rounded = 0;
};
// Passes that round rows of the stream.
template <class X>
void copy(sparing& ctx, const sequences& seq, matrix<X> x, matrix<bf16> y) {
  ++sparing::rounded;
  cpu::copy(ctx, seq, x, y);
}

using block = sequential<residual<layer_norm<8>, self_attention<attention_config{.width = 8, .heads = 2}>>,
                         residual<rms_norm<8>, mlp<8, 12>>>;
constexpr mixture_config experts{.width = 8, .experts = 3, .hidden = 6};
using other_block =
    sequential<residual<layer_norm<8>, mixture<experts>>, residual<rms_norm<8>, gated_mlp<8, 6>>>;

template <class L>
struct found {
  std::vector<float> y, dx, g;
  template <class C>
  void run(C& ctx, laws::way how) {
    const sequences seq{2, 3, nullptr};
    const laws::layer_subject<L> subject{seq, seq};
    const auto w = laws::narrowed<float>(laws::random_weights(layer::parameters_of<L>(), L::parameter_size));
    const auto x = laws::narrowed<float>(laws::random_reals(48, "x")),
               dy = laws::narrowed<float>(laws::random_reals(48, "dy"));
    y.assign(48, 0), dx.assign(48, 0), g.assign(w.size(), 0);
    subject.run(ctx, how, weights<mixed_bf16>{w.data()}, x.data(), y.data(), dy.data(), dx.data(),
                gradients<mixed_bf16>{g.data()});
  }
};

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    most = std::max(most,
                    std::abs(static_cast<double>(a[i] - b[i])) / (1 + std::abs(static_cast<double>(b[i]))));
  return most;
}

template <class L>
void compare() {
  // Products with instructions for bf16 round what they read; others read gradients as they are, unless
  // these were rounded before.
  const double near = cpu::current_kernel() >= cpu::kernel_kind::avx512_bf16 ? 2e-2 : 1e-1;
  for (const laws::way how : {laws::way::whole, laws::way::split}) {
    found<L> as_usual, spared;
    laws::cpu_run_foretold(1, [&](cpu::context& ctx) { as_usual.run(ctx, how); });
    laws::cpu_run_foretold(1, [&](cpu::context& ctx) {
      sparing own{ctx};
      sparing::rounded = 0;
      spared.run(own, how);
      ctx.memory = own.memory, ctx.scratch = own.scratch;  // for its peak
    });
    CHECK(sparing::rounded == 1);  // what comes in from above
    CHECK(spared.y == as_usual.y);
    CHECK(largest_difference(spared.dx, as_usual.dx) < near);
    CHECK(largest_difference(spared.g, as_usual.g) < near);
  }
}

}  // namespace

TEST_CASE("to whom asks for a view, rounded rows are the rows") {
  float numbers[6] = {};
  bf16 narrow[6] = {};
  const rounded_rows<float, bf16, 3> rows{view<float, 3>(numbers, 2), view<bf16, 3>(narrow, 2)};
  const auto data_of = []<class T>(view<T, 3> x) { return x.data; };
  CHECK(data_of(rows) == numbers);
  CHECK(rounded_of<bf16>(rows).data == narrow);
  CHECK_FALSE(rounded_of<bf16>(view<float, 3>(numbers, 2)));
  const rounded_rows<const float, bf16, 3> constant{rows, rows.rounded};
  CHECK(constant.data == numbers);
}

TEST_CASE("they are kept where that spares a pass, and by layers that fill them") {
  static_assert(keeps_rounded<sparing, mixed_bf16> && !keeps_rounded<sparing, fp32> &&
                !keeps_rounded<cpu::context, mixed_bf16>);
  static_assert(rounds_gradient<block> && rounds_gradient<recompute<block>> &&
                !rounds_gradient<layer_norm<8>>);
  sparing ctx;
  const sequences seq{1, 4, nullptr};
  CHECK(take_rounded<block, mixed_bf16>(ctx, seq).rows == 4);
  CHECK_FALSE(take_rounded<layer_norm<8>, mixed_bf16>(ctx, seq));
}

TEST_CASE("a tower's blocks hand their gradients on rounded: one pass rounds, for the topmost") {
  compare<block>();
  compare<repeat<block, 3>>();
  compare<repeat<recompute<block>, 3>>();
  compare<other_block>();
}

}  // namespace motet
