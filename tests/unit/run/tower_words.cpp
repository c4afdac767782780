// SPDX-License-Identifier: Apache-2.0
#include <motet/run/tower_words.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("towers in words") {
  const vit_config picture{.image = 64, .patch = 8, .width = 192, .layers = 6, .heads = 3};
  const text_config caption{.vocabulary = 1024, .context = 32, .width = 128, .layers = 4, .heads = 2};
  CHECK(outline_of(picture).first == "picture");
  CHECK(outline_of(picture).second == "64 x 64 pixels, patch 8, width 192, 6 layers, 3 heads");
  CHECK(outline_of(caption).first == "caption");
  CHECK(outline_of(caption).second == "vocabulary 1024, context 32, width 128, 4 layers, 2 heads");
  CHECK(words_of(picture) == "6 layers of width 192, 3 heads, pictures of 64 x 64 in patches of 8");
  vit_config any = picture;
  any.most_patches = 96;
  CHECK(words_of(any) ==
        "6 layers of width 192, 3 heads, pictures of any shape of at most 96 patches of 8 x 8");
  CHECK(words_of(caption) == "4 layers of width 128, 2 heads, at most 32 of 1024 tokens");
}
