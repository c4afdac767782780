// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/core/shape.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("counts") {
  CHECK(check_counts({4, 8}).ok());
  CHECK(check_counts({1, 1}).ok());
  CHECK(check_counts({4, 8, 1}).ok());
  CHECK(check_counts({4, 8, 3}, 3).ok());
  CHECK(check_counts({4, 8, 3}, 0).ok());
  const verdict none = check_counts({0, 8});
  CHECK((none.why == reason::no_stages && none.got == 0 && none.wanted == 1));
  CHECK(check_counts({4, -2}).got == -2);
  CHECK(check_counts({4, 8, -1}).why == reason::no_stages);
  const verdict chunks = check_counts({4, 8, 2});
  CHECK(
      (chunks.why == reason::chunks_are_fixed && chunks.where == 2 && chunks.got == 2 && chunks.wanted == 1));
  CHECK(check_counts({1 << 19, 1}).why == reason::too_large);
  CHECK(check_counts({1, 1 << 20}).why == reason::too_large);
  CHECK(check_counts({1 << 14, 1 << 14}).why == reason::too_large);
  CHECK(check_counts({1 << 14, 1 << 13}).ok());
}

TEST_CASE("chunks that are not said are the schedule's own") {
  CHECK(pipeline_shape{4, 8}.chunks_or(2) == 2);
  CHECK(pipeline_shape{4, 8, 3}.chunks_or(2) == 3);
  CHECK(pipeline_shape{4, 8, 3}.cells() == 96);
}

TEST_CASE("stages go round in a loop, or down and up a V") {
  const int loop[] = {0, 1, 2, 0, 1, 2}, vee[] = {0, 1, 2, 2, 1, 0};
  for (int s = 0; s < 6; ++s) {
    CHECK(device_of(placement::loop, 3, s) == loop[s]);
    CHECK(device_of(placement::vee, 3, s) == vee[s]);
  }
  score made;
  CHECK(add_voice(made, {3, 5}, 2, placement::vee) == 0);
  CHECK(made.places() == list<std::int32_t>{0, 1, 2, 2, 1, 0});
  const voice& of = made.voices()[0];
  CHECK((of.stages == 6 && of.chunks == 2 && of.microbatches == 5 && of.join == -1 && of.learns));
}

static_assert(least(2, 3) == 2 && least(3, 2) == 2 && most(2, 3) == 3 && most(3, 2) == 3);

TEST_CASE("every stage needs a layer") {
  CHECK(check_layers({4, 8}, 4).ok());
  CHECK(check_layers({2, 8, 3}, 6).ok());
  const verdict found = check_layers({2, 8}, 3, 2);
  CHECK((found.why == reason::more_stages_than_layers && found.got == 4 && found.wanted == 3));
}
