// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/towers/cross_decoder.hpp>
#include <motet/nn/towers/decoder.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/plan/describe/model_facts.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

using picture =
    module<"picture",
           vit<vit_config{.image = 8, .patch = 4, .width = 16, .layers = 3, .heads = 4, .embedding = 8}>>;
using words = text_tower<text_config{
    .vocabulary = 20, .context = 6, .width = 8, .layers = 2, .heads = 2, .embedding = 8}>;
constexpr decoder_config speaking{.vocabulary = 20, .context = 6, .width = 8, .layers = 2, .heads = 2};
constexpr decoder_config tied = [] {
  decoder_config c = speaking;
  c.tied = true;
  return c;
}();
template <decoder_config Config>
using speech = model<join<next_token, module<"talk", decoder<Config>>>>;
using both = model<join<info_nce, picture, module<"caption", frozen<words>>>>;

}  // namespace

TEST_CASE("a model's facts are known to the compiler, in its order") {
  static constexpr auto count = [] { return facts_of<both>().size(); };
  static_assert(count() == 2);
  static_assert(facts_of<both>()[0].layers == 3 && facts_of<both>()[1].layers == 2);
  const list<module_facts> facts = facts_of<both>();
  REQUIRE(facts.size() == 2);
  CHECK(
      (facts[0].name.view() == "picture" && facts[0].key_heads == 4 && facts[0].attends && !facts[0].frozen));
  CHECK(
      (facts[1].name.view() == "caption" && facts[1].key_heads == 2 && facts[1].attends && facts[1].frozen));
  CHECK((facts[0].rows == 5 && facts[1].rows == 6));
}

TEST_CASE("a language model's last product is work, whether its table is another one or not") {
  const double with = detail::work_of_sample(speaking.tower(), 6, 20);
  CHECK(with - detail::work_of_sample(speaking.tower(), 6, 0) == 6 * 8 * 20);
  CHECK(facts_of<speech<speaking>>()[0].work == with);
  CHECK(facts_of<speech<tied>>()[0].work == with);
}

TEST_CASE("so is what blocks make of rows of another module") {
  using looking = cross_decoder<speaking, 4, 10>;
  const double alone = facts_of<speech<speaking>>()[0].work;
  // Of each layer: queries and what goes out of 6 rows, keys and values of 10, and both sides of attention.
  CHECK(detail::facts_of_module<module<"talk", looking>>().work - alone ==
        2 * (6 * 2 * 8 * 8 + 10 * 2 * 4 * 8 + 6 * 2 * 10 * 8));
  CHECK(work_of_rows<looking>(6) == detail::facts_of_module<module<"talk", looking>>().work);
}
