// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/data/pictures/picture_size.hpp>

#include <unit/data/pairs.hpp>

using namespace motet;

TEST_CASE("the header tells what decoding finds") {
  for (const auto& [width, height] :
       {std::pair<motet::isize, motet::isize>{1, 1}, {9, 8}, {300, 2}, {2, 70}}) {
    const bitmap made = noise_picture(width, height, 5);
    std::vector<std::string> files{encode_ppm(made)};
    if (has_png) files.push_back(encode_png(made));
    if (has_jpeg) files.push_back(encode_jpeg(made));
    for (const std::string& file : files)
      CHECK(find_picture_size(bytes_of_text(file)) == picture_size{width, height});
  }
  CHECK(find_picture_size(bytes_of_text("P6 # a comment 7 8\n# another\n 12\t34 255\n")) ==
        picture_size{12, 34});
}

TEST_CASE("a JPEG with a thumbnail before its frame, and fill bytes") {
  if (!has_jpeg) return;
  const std::string plain = encode_jpeg(noise_picture(20, 30, 1)),
                    inner = encode_jpeg(noise_picture(5, 6, 1));
  std::string segment = "\xff\xff\xff\xe1";
  const std::size_t length = inner.size() + 2;
  segment += {static_cast<char>(length >> 8), static_cast<char>(length & 255)};
  const std::string whole = plain.substr(0, 2) + segment + inner + plain.substr(2);
  CHECK(find_picture_size(bytes_of_text(whole)) == picture_size{20, 30});
}

TEST_CASE("what tells no size, cut or overwritten anywhere, neither fails nor hangs") {
  CHECK(!find_picture_size(bytes_of_text("")));
  CHECK(!find_picture_size(bytes_of_text("GIF89a")));
  CHECK(!find_picture_size(bytes_of_text("P6 0 4 255\n")));
  CHECK(!find_picture_size(bytes_of_text("P6 # no end")));
  const bitmap made = noise_picture(9, 8, 5);
  std::vector<std::string> files{encode_ppm(made)};
  if (has_png) files.push_back(encode_png(made));
  if (has_jpeg) files.push_back(encode_jpeg(made));
  const random_stream draws(7, "damage");
  std::uint64_t at = 0;
  motet::isize told = 0;
  for (const std::string& file : files) {
    for (std::size_t length = 0; length < std::min<std::size_t>(file.size(), 200); ++length)
      told += find_picture_size(bytes_of_text(file.substr(0, length))) ? 1 : 0;
    for (int i = 0; i < 500; ++i) {
      std::string damaged = file;
      for (int k = 0; k < 4; ++k)
        damaged[draws.below(at++, static_cast<std::uint32_t>(std::min<std::size_t>(file.size(), 300)))] =
            static_cast<char>(draws.below(at++, 256));
      const auto found = find_picture_size(bytes_of_text(damaged));
      if (found) CHECK((found->width > 0 && found->height > 0));
    }
  }
  CHECK(told > 0);
}
