// SPDX-License-Identifier: Apache-2.0
#include <motet/data/pictures/square_reader.hpp>

#include <motet/format/files/atomic_file.hpp>

#include <unit/format/scratch.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("the square in the middle, as the resampler makes it of the decoded picture") {
  const scratch folder;
  bitmap shot{5, 2, {}};
  for (int i = 0; i < 30; ++i) shot.pixels.push_back(static_cast<std::uint8_t>(8 * i));
  const std::string header = "P6\n5 2\n255\n", file = (folder / "a.png").string();
  write_file(file, header + std::string(shot.pixels.begin(), shot.pixels.end()));
  square_reader reader;
  resampler resize;
  for (const motet::isize side : {2, 3, 1}) {
    std::vector<float> read(as_size(3 * side * side)), wanted(read.size());
    reader.read(file, side, {}, read.data());
    resize(shot, centre_crop(5, 2), side, {}, wanted.data());
    CHECK(read == wanted);
  }
}

TEST_CASE("all of a picture, where a model takes any shape; one that is too long is refused") {
  const scratch folder;
  bitmap shot{9, 4, {}};
  for (int i = 0; i < 108; ++i) shot.pixels.push_back(static_cast<std::uint8_t>(2 * i));
  const std::string file = (folder / "a.ppm").string();
  write_file(file, "P6\n9 4\n255\n" + std::string(shot.pixels.begin(), shot.pixels.end()));
  square_reader reader;
  std::vector<float> read{7}, wanted(3 * 4 * 8);
  CHECK(reader.read_shape(file, {2, 9}, {}, read) == picture_grid{2, 4});
  resampler()(shot, {0, 0, 9, 4, false}, 4, 8, {}, wanted.data());
  CHECK(read.front() == 7);
  CHECK(std::equal(wanted.begin(), wanted.end(), read.begin() + 1, read.end()));
  CHECK_THROWS_WITH_AS(reader.read_shape(file, {4, 2}, {}, read), doctest::Contains("MT-D26"), error);
}

TEST_CASE("a file that is no picture is named") {
  const scratch folder;
  const std::string file = (folder / "torn.jpg").string();
  write_file(file, "nonsense");
  square_reader reader;
  float planes[12];
  CHECK_THROWS_WITH_AS(reader.read(file, 2, {}, planes), doctest::Contains("torn.jpg"), error);
  CHECK_THROWS_WITH_AS(reader.read((folder / "none.png").string(), 2, {}, planes),
                       doctest::Contains("none.png"), error);
}
