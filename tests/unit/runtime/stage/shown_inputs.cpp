// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/stage/shown_inputs.hpp>

#include <motet/nn/towers/vit.hpp>
#include <motet/runtime/stage/arranged_input.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

constexpr vit_config shape{.image = 4,
                           .patch = 2,
                           .channels = 1,
                           .width = 8,
                           .layers = 1,
                           .heads = 2,
                           .pool = pool_kind::first,
                           .most_patches = 6};
constexpr vit_config square_shape = [] {
  vit_config c = shape;
  c.most_patches = 0;
  return c;
}();
using eye = vit_rows<shape, true, 2>;
using alone = input_traits<vit<shape>>;
using traits = input_traits<eye>;

// Three pictures, of which the first sample has two: 1 x 4, 3 x 2 and 2 x 1 patches behind a class token's
// row.
struct three {
  std::vector<float> pixels = std::vector<float>(12 * 4, 1.0f);
  std::vector<isize> offsets{0, 2, 2, 3};
  picture_grids grids{4, 1};
  three() {
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(i);
    grids.add(1, 4), grids.add(3, 2), grids.add(2, 1);
  }
  seen_pictures get() const { return {grids.with(pixels.data()), 3, offsets.data()}; }
};
const float* numbers_of(const pictures& of, motet::isize which) {
  return reinterpret_cast<const float*>(of.packed.of(which));
}

}  // namespace

TEST_CASE("parts of pictures of any shape have their own rows") {
  const three data;
  const seen_pictures all = data.get();
  CHECK_EQ(traits::unknown(all), "");
  CHECK(traits::fits(all, 3));
  CHECK_EQ(traits::first_row(all, 1), 5 + 7);
  CHECK_EQ(eye::rows_that_go_on(all), 15);
  CHECK_EQ(eye::rows(traits::largest(2)).rows(), 2 * 2 * 7);
  auto room = traits::room(3);
  const seen_pictures some = traits::slice(all, 1, 2, room);
  CHECK_EQ(some.samples, 1);
  CHECK_EQ(some.before(1), 0);
  CHECK_EQ(eye::rows(some).rows(), 3);
  CHECK_EQ(traits::unknown(some), "");
  CHECK_EQ(numbers_of(some, 0), data.pixels.data() + 40);
  // Samples of a net that pools are pictures.
  auto own_room = alone::room(3);
  const pictures last = alone::slice(all, 1, 2, own_room);
  CHECK_EQ(vit<shape>::rows(last).rows_of(0), 7);
  CHECK_EQ(vit<shape>::rows(last).rows(), 10);
  std::vector<motet::isize> told, other;
  traits::shape(all, told);
  three turned;
  turned.grids.clear();
  turned.grids.add(4, 1), turned.grids.add(3, 2), turned.grids.add(2, 1);
  traits::shape(turned.get(), other);
  CHECK(told != other);
  CHECK(traits::same(all, all));
}

TEST_CASE("pictures of any shape in another order") {
  const three data;
  arranged_input<eye> room;
  const seen_pictures moved = room.of(data.get(), {2, 0, 1});
  CHECK_EQ(traits::unknown(moved), "");
  CHECK_EQ(moved.before(1), 1);
  CHECK_EQ(moved.packed.each[1].columns, 4);
  for (motet::isize k = 0; k < 3; ++k) {
    const motet::isize was = k == 0 ? 2 : k - 1;
    CHECK_EQ(moved.row_offsets[k + 1] - moved.row_offsets[k], data.grids.rows_of(was));
    CHECK_EQ(*numbers_of(moved, k), *numbers_of(data.get(), was));
  }
}

TEST_CASE("shapes that the net does not take are told") {
  three data;
  CHECK_EQ(input_traits<vit<square_shape>>::unknown(data.get()),
           "pictures come with grids, and the net sees squares");
  CHECK_EQ(traits::unknown({{data.pixels.data(), 3}, 3, data.offsets.data()}),
           "pictures come without grids, and the net sees pictures of any shape");
  data.grids.clear();
  data.grids.add(1, 4), data.grids.add(1, 7), data.grids.add(1, 1);
  CHECK_EQ(traits::unknown(data.get()),
           "picture 1 has 1 x 7 patches, the net takes 6 at most, and one at least");
  picture_grids no_class(4);
  no_class.add(2, 2);
  CHECK_EQ(alone::unknown(no_class.with(data.pixels.data())),
           "picture 0 has 4 rows for 2 x 2 patches, and 1 before them");
  const three whole;
  three broken;
  broken.pixels[20] = std::numeric_limits<float>::infinity();
  CHECK_EQ(alone::first_bad_sample(whole.get()), -1);
  CHECK_EQ(alone::first_bad_sample(broken.get()), 1);
  CHECK_EQ(traits::first_bad_sample(broken.get()), 0);
}

TEST_CASE("pictures of any shape where a device has memory of its own") {
  const three data;
  const pictures all = data.get();
  std::vector<std::byte> there(static_cast<std::size_t>(alone::staged_bytes(all)));
  const pictures staged =
      alone::stage(all, there.data(),
                   []<class T>(const T* from, T* to, motet::isize count) { std::copy_n(from, count, to); });
  CHECK_EQ(alone::unknown(staged), "");
  CHECK_EQ(*numbers_of(staged, 2), 40.0f);
  CHECK_EQ(numbers_of(staged, 2)[7], 47.0f);
}
