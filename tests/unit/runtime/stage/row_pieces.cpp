// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/stage/row_pieces.hpp>

#include "unit/runtime/small_fan.hpp"

#include <doctest/doctest.h>

using namespace motet;

namespace {

using model_type = small_fed_speech<>;
using eye = model_type::module_at<0>::net;

struct stage {};

}  // namespace

TEST_CASE("pieces are found by what messages call them") {
  row_pieces<stage> all;
  CHECK(all.of(0) == nullptr);
  CHECK(all.most() == 0);
  stage here;
  all.add(3, 1, {nullptr, 0, 0, {0, 2}});
  all.add(3, 1, {&here, 1, 2, {2, 5}});
  REQUIRE(all.of(1) != nullptr);
  CHECK(all.of(1)->size() == 2);
  CHECK(all.of(2)->empty());
  CHECK(all.most() == 2);
  CHECK(all.find(1, 2).here == &here);
  CHECK(all.find(1, 2).samples.begin == 2);
  CHECK(all.find(1, 0).here == nullptr);
}

TEST_CASE("the numbers of some samples within a microbatch's rows") {
  // Six samples with 1, 0, 2, 1, 1 and 2 pictures; the second replica has the last three.
  const std::vector<motet::isize> offsets{0, 1, 1, 3, 4, 5, 7};
  const std::vector<float> pixels(7 * 16, 1);
  const seen_pictures batch{{pixels.data(), 7}, 6, offsets.data()};
  replica_microbatches<eye> parts({6, 1, 2, 1}, 1, {});
  parts.cut(batch);
  const net_outline& net = outline_of_net<eye>;
  const motet::isize row = net.embedding, picture = eye::rows_of_picture * row;
  CHECK(numbers_given(net, parts, 0, {3, 4}).begin == 0);
  CHECK(numbers_given(net, parts, 0, {3, 4}).end == picture);
  CHECK(numbers_given(net, parts, 0, {4, 6}).begin == picture);
  CHECK(numbers_given(net, parts, 0, {4, 6}).end == 4 * picture);
  CHECK(numbers_given(net, parts, 0, {4, 4}).size() == 0);
}

TEST_CASE("rows of several modules lie one module behind the other") {
  const small_fan_text data(6, 4);
  const small_fan::batch batch = data.get();
  const placed_tokens& text = std::get<2>(batch);
  using talk = small_fan::module_at<4>::net;
  replica_microbatches<talk> parts({6, 1, 2, 1}, 1, {});
  parts.cut(text);
  const net_outline& net = outline_of_net<talk>;
  motet::isize last = 0;
  for (motet::isize door = 0; door < 3; ++door) {
    const sequences rows = text.rows_that_enter(door);
    const interval all = numbers_taken(net, parts, 0, {3, 6}, door);
    CHECK(all.begin == last);
    CHECK(all.size() == (rows.begin(6) - rows.begin(3)) * net.takes_rows);
    CHECK(numbers_taken(net, parts, 0, {4, 5}, door).begin == last + rows.rows_of(3) * net.takes_rows);
    last = all.end;
  }
  CHECK(last == parts.entering(0) * net.takes_rows);
}
