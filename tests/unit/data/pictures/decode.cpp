// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/data/pictures/decode.hpp>

#include <fuzz/data_targets.hpp>
#include <fuzz/mutate.hpp>
#include <unit/data/pairs.hpp>

using namespace motet;

TEST_CASE("the bytes tell the format") {
  const bitmap made = noise_picture(6, 4, 2);
  bitmap read;
  decode_picture(bytes_of_text(encode_ppm(made)), read);
  CHECK(read == made);
  if (has_png) {
    decode_picture(bytes_of_text(encode_png(made)), read);
    CHECK(read == made);
  }
  if (has_jpeg) {
    decode_picture(bytes_of_text(encode_jpeg(made)), read);
    CHECK(read.width == 6);
  }
  CHECK(code_of([&] { decode_picture(bytes_of_text("GIF89a"), read); }) == "MT-D05");
  CHECK(code_of([&] { decode_picture({}, read); }) == "MT-D05");
  CHECK(is_picture_field("jpg"));
  CHECK(!is_picture_field("seg.png"));
  CHECK(is_caption_field("txt"));
  CHECK(!is_caption_field("json"));
}

TEST_CASE("mutations are decoded or refused") {
  const bitmap made = noise_picture(12, 10, 3);
  std::vector<std::string> seeds{encode_ppm(made)};
  if (has_png) seeds.push_back(encode_png(made));
  if (has_jpeg) seeds.push_back(encode_jpeg(made));
  motet::isize refused = 0;
  for (std::uint64_t run = 0; run < 4000; ++run) refused += fuzz_picture(mutated(seeds, run)) ? 0 : 1;
  CHECK(refused > 300);
}
