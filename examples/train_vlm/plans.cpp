// SPDX-License-Identifier: Apache-2.0
#include "plans.hpp"
#include "draw_models.hpp"
#include "models.hpp"
#include "sense_model.hpp"

#include <motet/plan/prove/check_plan.hpp>

#include <iterator>
#include <utility>

// The compiler proves every plan of the catalogue for the quickstart's model and the usual batch, for
// say-quick-experts what shares experts or cuts blocks, and for say-small what asks for more layers than
// either has. For other models and batches the same function does so when the program starts.
namespace motet::train_vlm {
namespace {

constexpr verdict prove_for_catalogue(const plan& of) {
  if (of.modules.size() == 4) return prove_plan(of, facts_of<draw_quick_model>(), 64);
  if (of.modules.size() == 5) return prove_plan(of, facts_of<sense_quick_model>(), 64);
  const verdict found = prove_plan(of, facts_of<say_quick_model>(), 64);
  if (found.why == reason::too_few_experts || found.why == reason::layers_do_not_add_up)
    return prove_plan(of, facts_of<say_quick_experts_model>(), 64);
  return found.why == reason::more_stages_than_layers ? prove_plan(of, facts_of<say_small_model>(), 64)
                                                      : found;
}
template <std::size_t I>
inline constexpr verdict found = prove_for_catalogue(plans[I].make());
template <std::size_t... I>
consteval bool prove_all(std::index_sequence<I...>) {
  return (require<found<I>> && ...);
}
static_assert(prove_all(std::make_index_sequence<std::size(plans)>{}));

}  // namespace
}  // namespace motet::train_vlm
