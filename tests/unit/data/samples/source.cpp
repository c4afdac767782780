// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/data/file.hpp>
#include <motet/data/samples/source.hpp>

#include <unit/data/pairs.hpp>

#include <fstream>

using namespace motet;

TEST_CASE("every pair of every shard, read at will") {
  const scratch folder;
  const std::vector<std::string> shards{write_pairs(folder, "a.tar", 0, 5),
                                        write_pairs(folder, "b.tar", 5, 4)};
  skip_log skips;
  const pair_source source(shards, skips);
  REQUIRE(source.size() == 9);
  CHECK(skips.count() == 0);
  CHECK(source.key(7) == "pair7");
  CHECK(source.name(7) == shards[1] + ": pair7");
  std::vector<std::uint8_t> bytes;
  for (const motet::isize i : {8, 0, 4, 5}) {
    REQUIRE(source.read_caption(i, bytes));
    CHECK(std::string(bytes.begin(), bytes.end()).find("number " + std::to_string(i)) != std::string::npos);
    REQUIRE(source.read_picture(i, bytes));
    bitmap read;
    decode_picture(bytes, read);
    CHECK(read == noise_picture(9 + i % 3, 8, static_cast<std::uint64_t>(i)));
  }
}

TEST_CASE("members without a part are counted and named, strict or not") {
  const scratch folder;
  const std::vector<std::string> shards{
      write_pairs(folder, "a.tar", 0, 6, [](motet::isize i, made_sample& made) {
        if (i == 2) made.picture.clear();
        if (i == 4) made.caption.clear();
      })};
  skip_log skips;
  const pair_source source(shards, skips);
  CHECK(source.size() == 4);
  CHECK(skips.count(skip::no_picture) == 1);
  CHECK(skips.names(skip::no_caption) == std::vector<std::string>{shards[0] + ": pair4"});
  skip_log strict(true);
  CHECK(code_of([&] { pair_source{shards, strict}; }) == "MT-D07");
}

TEST_CASE("a sample with links instead of files is counted as skipped, and told why") {
  const scratch folder;
  const std::string path = (folder / "t.tar").string();
  tar_writer tar(path);
  for (const char* base : {"a", "b", "c"}) {
    tar.add(std::string(base) + ".ppm", encode_ppm(noise_picture(2, 2, 1)));
    tar.add(std::string(base) + ".txt", "one");
  }
  tar.finish();
  tar.commit();
  // The second picture and both members of the third become links.
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  for (const char* name : {"b.ppm", "c.ppm", "c.txt"}) {
    const std::size_t at = bytes.find(std::string(name) + '\0');
    REQUIRE(at % 512 == 0);
    std::string header = bytes.substr(at, 512);
    header[156] = '2';
    header.replace(124, 11, "00000000000");
    header.replace(148, 8, "        ");
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    char text[8];
    std::snprintf(text, sizeof text, "%06o", sum);
    header.replace(148, 8, std::string(text, 7) + ' ');
    bytes.replace(at, 512, header);
  }
  // Links have no bytes.
  for (const char* name : {"c.txt", "c.ppm", "b.ppm"})
    bytes.erase(bytes.find(std::string(name) + '\0') + 512, 512);
  file.close();
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  skip_log skips;
  const pair_source source({path}, skips);
  CHECK(source.size() == 1);
  CHECK(skips.names(skip::no_picture) ==
        std::vector<std::string>{path + ": b (ppm is a link)", path + ": c (txt is a link)"});
}

TEST_CASE("names: folders, several dots, capitals, other fields, hidden files") {
  const scratch folder;
  tar_writer tar((folder / "t.tar").string());
  const std::string shot = encode_ppm(noise_picture(2, 2, 1));
  tar.add("v1.0/x.seg.png", "not a picture to train on");
  tar.add("v1.0/x.PPM", shot);
  tar.add("v1.0/x.Txt", "one");
  tar.add("v1.0/x.json", "{}");
  tar.add("v2/x.ppm", shot);  // the same base name in another folder is another sample
  tar.add("v2/x.txt", "two");
  tar.add("README", "no dot");
  tar.add("v2/.hidden", "");
  tar.finish();
  tar.commit();
  skip_log skips;
  const pair_source source({(folder / "t.tar").string()}, skips);
  REQUIRE(source.size() == 2);
  CHECK(source.key(0) == "v1.0/x");
  std::vector<std::uint8_t> bytes;
  CHECK(source.read_caption(1, bytes));
  CHECK(std::string(bytes.begin(), bytes.end()) == "two");
  CHECK(skips.count() == 0);
}

TEST_CASE("members of a sample need not be neighbours") {
  const scratch folder;
  tar_writer tar((folder / "t.tar").string());
  for (int i = 0; i < 3; ++i)
    tar.add("a" + std::to_string(i) + ".ppm", encode_ppm(noise_picture(2, 2, static_cast<std::uint64_t>(i))));
  tar.add("a3.txt", "alone");
  for (int i = 2; i >= 0; --i) tar.add("a" + std::to_string(i) + ".txt", "caption " + std::to_string(i));
  tar.add("a1.ppm", encode_ppm(noise_picture(2, 2, 9)));  // another sample of that name
  tar.add("a1.txt", "again");
  tar.finish();
  tar.commit();
  skip_log skips;
  const pair_source source({(folder / "t.tar").string()}, skips);
  REQUIRE(source.size() == 4);
  CHECK(skips.count(skip::no_picture) == 1);
  std::vector<std::uint8_t> bytes;
  for (motet::isize i = 0; i < 4; ++i) {
    CHECK(source.key(i) == "a" + std::to_string(i == 3 ? 1 : i));
    CHECK(source.read_caption(i, bytes));
    CHECK(std::string(bytes.begin(), bytes.end()) == (i == 3 ? "again" : "caption " + std::to_string(i)));
    bitmap read;
    CHECK(source.read_picture(i, bytes));
    decode_picture(bytes, read);
    CHECK(read == noise_picture(2, 2, static_cast<std::uint64_t>(i == 3 ? 9 : i)));
  }
}

TEST_CASE("a shard cut at any block keeps its whole samples") {
  const scratch folder;
  const std::string whole = read_text(write_pairs(folder, "a.tar", 0, 4));
  for (std::size_t length = 512; length < whole.size() - 512; length += 512) {
    const std::string path = (folder / "cut.tar").string();
    std::ofstream(path, std::ios::binary).write(whole.data(), static_cast<std::streamsize>(length));
    skip_log skips;
    CAPTURE(length);
    const std::string code = code_of([&] {
      const pair_source source({path}, skips);
      CHECK(source.size() <= 4);
      CHECK(skips.count(skip::bad_shard) == 1);
    });
    CHECK((code.empty() || code == "MT-D10"));
    skip_log strict(true);
    CHECK(!code_of([&] { pair_source{{path}, strict}; }).empty());
  }
}

TEST_CASE("the fingerprint changes with the names") {
  const scratch folder;
  skip_log skips;
  const pair_source one({write_pairs(folder, "a.tar", 0, 5)}, skips),
      same({write_pairs(folder, "b.tar", 0, 5)}, skips), other({write_pairs(folder, "c.tar", 1, 5)}, skips);
  CHECK(one.fingerprint() == same.fingerprint());
  CHECK(one.fingerprint() != other.fingerprint());
}

TEST_CASE("more shards than are kept open") {
  const scratch folder;
  const std::string even = write_pairs(folder, "even", 0, 1), odd = write_pairs(folder, "odd", 1, 1);
  std::vector<std::string> shards;
  for (motet::isize i = 0; i < 260; ++i) {
    shards.push_back((folder / (std::to_string(i) + ".tar")).string());
    std::filesystem::copy_file(i % 2 == 0 ? even : odd, shards.back());
  }
  skip_log skips;
  const pair_source source(shards, skips);
  std::vector<std::uint8_t> bytes;
  REQUIRE(source.size() == 260);
  CHECK(source.read_caption(259, bytes));
  CHECK(std::string(bytes.begin(), bytes.end()) == "a picture of number 1");
}

TEST_CASE("nothing usable, nothing there") {
  const scratch folder;
  std::ofstream((folder / "junk.tar").string()) << "this is no tar";
  skip_log skips;
  CHECK(code_of([&] { pair_source{{(folder / "junk.tar").string()}, skips}; }) == "MT-D10");
  CHECK(code_of([&] { pair_source{{(folder / "none.tar").string()}, skips}; }) == "MT-D01");
}
