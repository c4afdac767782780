// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/layers/mixture.hpp>

#include <motet/nn/compose/residual.hpp>

#include "layer_laws.hpp"

namespace motet {
namespace {
constexpr mixture_config even{.width = 6, .experts = 5, .hidden = 7};
constexpr mixture_config gated{
    .width = 4, .experts = 3, .hidden = 5, .top_k = 1, .gated = true, .gates = gate_kind::probability};
constexpr mixture_config tight{
    .width = 6, .experts = 4, .hidden = 3, .top_k = 3, .act = activation::silu, .capacity = 0.75f};
}  // namespace

TEST_CASE("a mixture is a layer, alone and as a branch") {
  laws::check_layer<mixture<even>>();
  laws::check_layer<mixture<gated>>();
  laws::check_layer<mixture<tight>>();
  // rounding the norm to bf16 chooses other experts
  laws::check_layer<residual<layer_norm<6>, mixture<even>>>({.reduced = false});
}

TEST_CASE("the rules of a config") {
  CHECK(check(even).ok());
  CHECK(check(mixture_config{.width = 4, .experts = 2, .hidden = 3, .top_k = 3}).why ==
        reason::experts_do_not_fit);
  CHECK(check(mixture_config{.width = 4, .experts = 70000, .hidden = 3}).why == reason::experts_do_not_fit);
  CHECK(check(mixture_config{.width = 4, .experts = 2, .hidden = 3, .top_k = 1}).why ==
        reason::gate_is_constant);
  CHECK(check(mixture_config{.width = 4, .experts = 2, .hidden = 0}).why == reason::not_positive);
}

}  // namespace motet
