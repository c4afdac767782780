// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/feeds/own_samples.hpp>

#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/write/through.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

// An eye of three replicas on ranks 0 to 2, and words of two with two microbatches each, on ranks 3 and 4.
program eye_and_words() {
  through_shape of;
  for (std::int32_t r = 0; r < 5; ++r) {
    through_module made;
    made.module = r < 3 ? 0 : 1;
    made.replica = r < 3 ? r : r - 3;
    made.replicas = r < 3 ? 3 : 2;
    made.microbatches = r < 3 ? 1 : 2;
    made.meets = r >= 3;
    made.ranks.push(r);
    for (std::int32_t source = 0; r >= 3 && source < 3; ++source) made.from.push(source);
    of.modules.push(made);
  }
  return compile(write_through(of));
}
std::string told(const std::vector<interval>& of) {
  std::string out;
  for (const interval& each : of)
    out += "[" + std::to_string(each.begin) + ", " + std::to_string(each.end) + ")";
  return out;
}

}  // namespace

TEST_CASE("ranks look at the samples of their replicas, of those modules whose inputs count") {
  const program of = eye_and_words();
  const list<std::uint8_t> both{1, 1}, eye{1, 0};
  CHECK(told(own_samples(of, 12, {0, 5}, both)) == "[0, 12)");
  CHECK(told(own_samples(of, 12, {0, 1}, both)) == "[0, 4)");
  CHECK(told(own_samples(of, 12, {2, 3}, both)) == "[8, 12)");
  CHECK(told(own_samples(of, 12, {2, 4}, both)) == "[0, 3)[6, 12)");
  CHECK(told(own_samples(of, 12, {3, 5}, eye)).empty());
  CHECK(told(own_samples(of, 13, {1, 2}, eye)) == "[5, 9)");
}
