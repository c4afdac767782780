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
