// SPDX-License-Identifier: Apache-2.0
#include "plans.hpp"
#include "quick_model.hpp"

#include <motet/plan/prove/check_plan.hpp>

// The compiler proves every plan of the catalogue for the quickstart's model and the usual batch. For other
// models and batches the same function does so when the program starts.
namespace motet::train_clip {
namespace {

using net = model<
    join<info_nce, module<"picture", vit<quick_picture>>, module<"caption", text_tower<quick_caption>>>>;

template <std::size_t I>
inline constexpr verdict found = prove_plan(plans[I].make(), facts_of<net>(), 64);
template <std::size_t... I>
consteval bool prove_all(std::index_sequence<I...>) {
  return (require<found<I>> && ...);
}
static_assert(prove_all(std::make_index_sequence<std::size(plans)>{}));

}  // namespace
}  // namespace motet::train_clip
