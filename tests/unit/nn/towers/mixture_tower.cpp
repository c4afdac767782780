// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/model/describe.hpp>

#include <context_members.hpp>

namespace motet {
namespace {

constexpr text_config ear{.vocabulary = 11,
                          .context = 9,
                          .width = 8,
                          .layers = 2,
                          .heads = 4,
                          .hidden = 7,
                          .embedding = 5,
                          .recompute = true,
                          .context_kind = context_attention::ring,
                          .mix = {.experts = 5, .capacity = 1.2f, .balance = 0.3f, .z = 0.1f}};
using net = text_tower<ear>;

laws::tower_part<net> captions(const laws::token_batch& batch, isize at = 0) {
  return {batch.input,
          [&batch](interval samples, const sequences& own) {
            return laws::take_tokens(batch.input, samples, own);
          },
          at};
}
}  // namespace

TEST_CASE("a tower with experts over tensor and context ranks, as one and in stages") {
  static_assert(!net::picks_block);
  const laws::token_batch batch({0, 3, 12, 13, 17, 19}, 11);
  laws::check_places(captions(batch), {{2, 1}, {3, 1}, {1, 2}, {2, 2}, {1, 2, 5}});
  laws::check_places(captions(batch, 1), {{2, 1}, {2, 2}});
}

TEST_CASE("a config says what the experts of its blocks are") {
  constexpr mixture_config each = ear.tower().experts_of_block();
  static_assert(each.width == 8 && each.hidden == 7 && each.experts == 5 && each.top_k == 2 && !each.gated);
  static_assert(check(text_config{.width = 8, .heads = 2, .mix = {.experts = 1}}).why ==
                reason::experts_do_not_fit);
  static_assert(!text_config{}.tower().has_experts());
  const json said = describe(ear);
  CHECK(said.at("mixture").at("experts").integer() == 5);
  CHECK(describe(text_config{}).find("mixture") == nullptr);
  bool found = false;
  for (const parameter& p : layer::parameters_of<net>())
    if (p.name == "blocks.1.mlp.experts.up.weight") {
      found = true;
      CHECK(p.rows == 5 * 7);
    }
  CHECK(found);
}

}  // namespace motet
