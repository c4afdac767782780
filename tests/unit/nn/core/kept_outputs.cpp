// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/core/kept_outputs.hpp>

#include <motet/nn/compose/recompute.hpp>
#include <motet/nn/compose/residual.hpp>
#include <motet/nn/compose/sequential.hpp>
#include <motet/nn/layers/attention.hpp>
#include <motet/nn/layers/gated_mlp.hpp>
#include <motet/nn/layers/mlp.hpp>
#include <motet/nn/towers/picked.hpp>

#include "layer_laws.hpp"

using namespace motet;

namespace {

constexpr attention_config attends{.width = 16, .heads = 2};
using branches =
    sequential<residual<layer_norm<16>, mlp<16, 32>>, recompute<residual<layer_norm<16>, mlp<16, 32>>>,
               residual<rms_norm<16>, gated_mlp<16, 48>>,
               residual_picked<layer_norm<16>, attends, pick::first>>;

// Layers run in a context that keeps outputs, or that does not.
struct asked : laws::layer_subject<branches> {
  bool keep = false;
  template <class C, class... Of>
  void run(C& ctx, laws::way how, const Of&... of) const {
    ctx.keep_outputs = keep;
    laws::layer_subject<branches>::run(ctx, how, of...);
  }
};

}  // namespace

TEST_CASE("a context without the question keeps no outputs") {
  struct silent {};
  CHECK_FALSE(keeps_outputs(silent{}));
  cpu::context ctx;
  CHECK_FALSE(keeps_outputs(ctx));
  ctx.keep_outputs = true;
  CHECK(keeps_outputs(ctx));
}

// Values round the same way whether they are kept or made again, but that an activation sees a number
// before it is rounded, or after.
TEST_CASE_TEMPLATE("kept outputs are those made again, for their own bytes of memory", N, fp32, mixed_bf16) {
  const sequences seq{4, 4, nullptr};
  const auto list = layer::parameters_of<branches>();
  const auto w = laws::random_weights(list, branches::parameter_size), x = laws::random_reals(16 * 16, "x"),
             dy = laws::random_reals(4 * 16, "dy"), g = laws::random_reals(branches::parameter_size, "g");
  constexpr motet::isize rows = 16, samples = 4, bytes = sizeof(typename N::value);
  constexpr motet::isize kept = (rows * (16 + 32 + 16 + 48 + 16) + samples * 16) * bytes;
  const auto held = [&](bool keep) {
    cpu::context dry;
    dry.keep_outputs = keep;
    typename branches::saved<N> s;
    layer::reserve<branches, N>(dry, seq, s, {});
    return dry.memory.mark();
  };
  CHECK(held(true) == held(false) + kept);
  for (const laws::way how : {laws::way::whole, laws::way::split})
    for (const int threads : {1, 3}) {
      const auto made = [&](bool keep) {
        const asked subject{{seq, seq.pooled()}, keep};
        return laws::evaluate<N>(subject, how, threads, w, x, dy, g);
      };
      const laws::outcome again = made(false), once = made(true);
      laws::check_close(list, once, again, std::is_same_v<N, fp32> ? 1e-6 : 1e-2);
      CHECK(once.used == once.foretold);
      CHECK(once.foretold > again.foretold);
    }
}
