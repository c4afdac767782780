// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/gradients/parameter_piece.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {
struct net {
  static void parameters(parameter_list& list) {
    list.matrix("a", 3, 10, {});
    list.vector("b", 4, {});
    list.matrix("c", 2, 8, {});
    list.vector("d", 16, {});
  }
};
}  // namespace

TEST_CASE("what a rank counts as its own comes once, with its place in the tensor") {
  parameter_list list;
  net::parameters(list);
  std::vector<float> data(static_cast<std::size_t>(list.used()));
  parameter_piece<float> piece{list.used(), list.items(), data.data()};
  std::vector<int> seen(data.size(), 0);
  const auto count = [&](const parameter& of, motet::index at, motet::index element, motet::index size) {
    CHECK(at == of.offset + element);
    CHECK(element + size <= of.size());
    for (motet::index i = at; i < at + size; ++i) ++seen[static_cast<std::size_t>(i)];
  };
  each_own_run(piece, count);
  motet::index sum = 0;
  for (const int each : seen) sum += each;
  CHECK(sum == 30 + 4 + 16 + 16);  // what lies between them belongs to nobody
  CHECK(moments_of(piece, 33) == 33);

  // The first half counts elsewhere; moments are there for what is updated.
  update_share share{{{{40, list.used()}, 0}}, {{40, list.used()}}, list.used() - 40};
  piece.share = &share;
  seen.assign(seen.size(), 0);
  each_own_run(piece, count);
  for (std::size_t i = 0; i < 40; ++i) CHECK(seen[i] == 0);
  CHECK(seen[50] == 1);
  CHECK(moments_of(piece, 41) == 1);
  CHECK(moments_of(piece, 39) == -1);
}
