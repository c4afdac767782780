// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/data/make/listing.hpp>
#include <motet/format/files/atomic_file.hpp>

#include <unit/data/pairs.hpp>

using namespace motet;

TEST_CASE("a folder: pictures in the order of their paths, captions beside, classes by folders") {
  const scratch folder;
  const auto put = [&](const std::string& name, const std::string& text) {
    std::filesystem::create_directories((folder / name).parent_path());
    write_file(folder / name, text);
  };
  const std::string shot = encode_ppm(noise_picture(2, 2, 1));
  put("b/two.JPG", "not looked at");
  put("b/two.txt", "second");
  put("a/one.x.ppm", shot);
  put("a/one.x.caption", "first");
  put("top.png", "");
  put(".hidden/three.png", "");
  put("notes.txt", "no picture");
  skip_log skips;
  listing found(skips);
  list_folder(found, folder.path(), true);
  REQUIRE(found.pairs().size() == 3);
  CHECK(found.name(0) == (folder / "a/one.x.ppm").string());
  CHECK(found.pairs()[0].caption == "first");
  CHECK(found.pairs()[0].label == "a");
  CHECK(found.pairs()[1].caption == "second");
  CHECK(found.pairs()[2].label.empty());
  std::vector<std::uint8_t> bytes;
  found.read(0, bytes);
  CHECK(std::string(bytes.begin(), bytes.end()) == shot);
  found.caption_by_class("a photo of a {}.");
  CHECK(found.pairs()[0].caption == "first");
  CHECK(found.pairs()[2].caption.empty());
  std::filesystem::remove(folder / "b/two.txt");
  listing again(skips);
  list_folder(again, folder.path(), true);
  again.caption_by_class("a photo of a {}.");
  CHECK(again.pairs()[1].caption == "a photo of a b.");
  CHECK(code_of([&] { again.caption_by_class("no place"); }).empty());  // nothing is left that needs it
  CHECK(code_of([&] { listing::caption_of_class("no place", "x"); }) == "MT-D13");
  std::filesystem::create_directory(folder / "empty");
  CHECK(code_of([&] { list_folder(again, folder / "empty"); }) == "MT-D10");
  CHECK(code_of([&] { list_folder(again, folder / "none"); }) == "MT-D01");
}

TEST_CASE("shards are listed as they are") {
  const scratch folder;
  skip_log skips;
  listing found(skips);
  found.add_shards(write_pairs(folder, "a.tar", 0, 3));
  REQUIRE(found.pairs().size() == 3);
  CHECK(found.pairs()[2].caption == "a picture of number 2");
  std::vector<std::uint8_t> bytes;
  bitmap read;
  found.read(found.pairs()[1].picture, bytes);
  decode_picture(bytes, read);
  CHECK(read == noise_picture(10, 8, 1));
}
