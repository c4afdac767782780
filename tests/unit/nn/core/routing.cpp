// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/core/routing.hpp>

#include <doctest/doctest.h>

#include <initializer_list>

namespace motet {

TEST_CASE("the room of an expert is its even share of a sample's rows, rounded up") {
  CHECK(router_shape{.experts = 4, .top_k = 2}.room(10) == 10);
  CHECK(router_shape{.experts = 4, .top_k = 2, .capacity = 1}.room(10) == 5);
  CHECK(router_shape{.experts = 4, .top_k = 2, .capacity = 1}.room(9) == 5);
  CHECK(router_shape{.experts = 4, .top_k = 2, .capacity = 1.25}.room(8) == 5);
  CHECK(router_shape{.experts = 4, .top_k = 2, .capacity = 100}.room(8) == 8);
  CHECK(router_shape{.experts = 4, .top_k = 2, .capacity = 0.01}.room(8) == 1);
  CHECK(router_shape{.experts = 4, .top_k = 2, .capacity = 1}.room(0) == 0);
}

TEST_CASE("memory is enough for every way to cut rows into samples, and grows with them") {
  for (const double capacity : {0.0, 0.3, 1.0, 1.7, 9.0})
    for (isize top_k = 1; top_k <= 3; ++top_k) {
      const router_shape shape{.experts = 7, .top_k = top_k, .capacity = capacity};
      for (isize count = 0; count <= 7; ++count)
        for (isize samples = 1; samples <= 5; ++samples)
          for (isize rows = 0; rows < 40; ++rows) {
            // One long sample and short ones: what the experts take at most, whatever the rows choose.
            isize most = 0;
            for (isize s = 0; s < samples; ++s) {
              const isize of_sample =
                  s > 0 ? rows / (2 * samples) : rows - (samples - 1) * (rows / (2 * samples));
              const isize by_room = count * shape.room(of_sample),
                          by_choice = of_sample * (top_k < count ? top_k : count);
              most += by_room < by_choice ? by_room : by_choice;
            }
            REQUIRE(shape.most_choices(rows, samples, count) >= most);
            REQUIRE(shape.most_choices(rows, samples, count) <= rows * top_k);
            REQUIRE(shape.most_choices(rows + 1, samples, count) >= shape.most_choices(rows, samples, count));
            REQUIRE(shape.most_choices(rows, samples + 1, count) >= shape.most_choices(rows, samples, count));
          }
    }
}

TEST_CASE("a choice of a float gate travels in 8 bytes") { static_assert(sizeof(choice<float>) == 8); }

}  // namespace motet
