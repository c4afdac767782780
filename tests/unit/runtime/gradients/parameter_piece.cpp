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
  const auto count = [&](const parameter& of, motet::isize at, motet::isize element, motet::isize size) {
    CHECK(at == of.offset + element);
    CHECK(element + size <= of.size());
    for (motet::isize i = at; i < at + size; ++i) ++seen[static_cast<std::size_t>(i)];
  };
  each_own_run(piece, count);
  motet::isize sum = 0;
  for (const int each : seen) sum += each;
  CHECK(sum == 30 + 4 + 16 + 16);  // what lies between them belongs to nobody
  CHECK(moments_of(piece, 33) == 33);

  // The first half counts elsewhere; moments are there for what is updated.
  update_share share{{{{40, list.used()}, 0, 0}}, {{40, list.used()}}, list.used() - 40, list.used() - 40};
  piece.share = &share;
  seen.assign(seen.size(), 0);
  each_own_run(piece, count);
  for (std::size_t i = 0; i < 40; ++i) CHECK(seen[i] == 0);
  CHECK(seen[50] == 1);
  CHECK(moments_of(piece, 41) == 1);
  CHECK(moments_of(piece, 39) == -1);
  // Weights lie where they belong, or as moments do, and only those that are updated.
  CHECK(weight_of(piece, 39) == data.data() + 39);
  CHECK(piece.weight(share.owned[0], 41) == data.data() + 41);
  piece.shares_only = true;
  CHECK(weight_of(piece, 41) == data.data() + 1);
  CHECK(weight_of(piece, 39) == nullptr);
  CHECK(piece.weight(share.owned[0], 41) == data.data() + 1);
}

TEST_CASE("second moments take room for what has them") {
  parameter_list list;
  list.vector("before", 5, {});
  list.in_block(0, [&] { list.matrix("one", 4, 4, {}); });
  list.in_block(1, [&] {
    list.vector("bias", 3, {});
    list.matrix("two", 4, 8, {});
  });
  list.matrix("head", 2, 9, {});
  const update_share whole = whole_share(list.used());
  CHECK(with_moments_of(whole, list.items(), optimizer_kind::adamw).seconds == list.used());
  const update_share lion = with_moments_of(whole, list.items(), optimizer_kind::lion),
                     muon = with_moments_of(whole, list.items(), optimizer_kind::muon);
  CHECK(lion.seconds == 0);
  CHECK(lion.moments == list.used());
  CHECK(muon.moments == list.used());
  CHECK(muon.seconds == 16 + 16 + 32);  // before, bias, head
  parameter_piece<float> piece{list.used(), list.items()};
  piece.share = &muon;
  const auto second = [&](motet::isize at) { return moments_of(piece, at, &owned_elements::seconds); };
  for (motet::isize at = 0; at < list.used(); ++at) CHECK(moments_of(piece, at) == at);
  CHECK(second(4) == 4);
  CHECK(second(16) == -1);
  CHECK(second(32) == 16);
  CHECK(second(48) == -1);
  CHECK(second(80 + 17) == 32 + 17);
  piece.share = &lion;
  CHECK(second(80) == -1);
}
