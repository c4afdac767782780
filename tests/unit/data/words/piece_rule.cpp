// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/data/words/piece_rule.hpp>

#include <initializer_list>

using namespace motet;

TEST_CASE("the rules of captions are not those of language models") {
  for (const piece_rule each : {piece_rule::spaced, piece_rule::clip}) CHECK(!is_of_language_model(each));
  for (const piece_rule each :
       {piece_rule::gpt2, piece_rule::llama3, piece_rule::qwen2, piece_rule::whole, piece_rule::words})
    CHECK(is_of_language_model(each));
}
