// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/data/shards/tar.hpp>
#include <motet/data/shards/tar_writer.hpp>

#include <fuzz/data_targets.hpp>
#include <fuzz/mutate.hpp>
#include <unit/format/scratch.hpp>

using namespace motet;

namespace {

std::string octal(std::size_t value, std::size_t digits) {
  std::string text(digits, '0');
  for (std::size_t i = digits; i-- > 0; value /= 8) text[i] = static_cast<char>('0' + value % 8);
  return text;
}

// One header with everything in the hands of the test.
std::string header(const std::string& name, const std::string& size_field, char kind,
                   const std::string& magic = std::string("ustar\0"
                                                          "00",
                                                          8),
                   const std::string& prefix = "") {
  std::string out(512, '\0');
  out.replace(0, name.size(), name);
  out.replace(100, 7, "0000644");
  out.replace(124, size_field.size(), size_field);
  out.replace(136, 11, "00000000000");
  out[156] = kind;
  out.replace(257, magic.size(), magic);
  out.replace(345, prefix.size(), prefix);
  out.replace(148, 8, "        ");
  std::size_t sum = 0;
  for (const char c : out) sum += static_cast<unsigned char>(c);
  out.replace(148, 8, octal(sum, 6) + std::string("\0 ", 2));
  return out;
}
std::string member(const std::string& name, const std::string& bytes, char kind = '0') {
  return header(name, octal(bytes.size(), 11), kind) + bytes +
         std::string((512 - bytes.size() % 512) % 512, '\0');
}
const std::string closing(1024, '\0');

struct walk {
  std::vector<tar_member> members;
  std::vector<std::string> contents;
  std::vector<std::string> damage;
  explicit walk(const std::string& bytes) {
    const memory_file file{bytes};
    tar_reader reader(file);
    for (tar_member found; reader.next(found);) {
      members.push_back(found);
      contents.push_back(
          bytes.substr(static_cast<std::size_t>(found.offset), static_cast<std::size_t>(found.size)));
    }
    damage = reader.damage();
  }
};

}  // namespace

TEST_CASE("members come in order with their bytes") {
  const walk read(member("a.txt", "hello") + member("folder/", "", '5') +
                  member("b.png", std::string(700, 'x')) + member("empty.txt", "") + closing);
  REQUIRE(read.members.size() == 3);
  CHECK(read.members[0].name == "a.txt");
  CHECK(read.contents[0] == "hello");
  CHECK(read.contents[1] == std::string(700, 'x'));
  CHECK(read.contents[2].empty());
  CHECK(read.damage.empty());
}

TEST_CASE("names: prefix, pax, GNU long names, and the format before ustar") {
  const std::string long_name(230, 'n');
  const std::string record = std::to_string(230 + 10) + " path=" + long_name + "\n";
  const walk read(header("file.txt", octal(0, 11), '0',
                         std::string("ustar\0"
                                     "00",
                                     8),
                         "some/folder") +
                  member("PaxHeader", record, 'x') + member("cut", "pax") +
                  member("PaxHeader", "18 comment=global\n", 'g') +
                  member("././@LongLink", long_name + std::string(1, '\0'), 'L') + member("cut", "gnu") +
                  header("old.txt", octal(0, 11), '\0', "") +
                  header("gnu.txt", octal(0, 11), '0', "ustar  ", "12345670") + closing);
  REQUIRE(read.members.size() == 5);
  CHECK(read.members[0].name == "some/folder/file.txt");
  CHECK(read.members[1].name == long_name);
  CHECK(read.contents[1] == "pax");
  CHECK(read.members[2].name == long_name);
  CHECK(read.contents[2] == "gnu");
  CHECK(read.members[3].name == "old.txt");
  CHECK(read.members[4].name == "gnu.txt");  // GNU keeps times where ustar keeps the prefix
  CHECK(read.damage.empty());
}

TEST_CASE("links are told as such, without bytes") {
  const walk read(header("hard.png", octal(512, 11), '1') + header("soft.png", octal(0, 11), '2') +
                  member("a.txt", "hello") + closing);
  REQUIRE(read.members.size() == 3);
  CHECK(read.members[0].link);
  CHECK(read.members[0].size == 0);
  CHECK(read.members[1].link);
  CHECK_FALSE(read.members[2].link);
}

TEST_CASE("a pax name belongs to one member") {
  const walk read(member("PaxHeader", "14 path=x.txt\n", 'x') + member("cut", "1") + member("own.txt", "2") +
                  closing);
  REQUIRE(read.members.size() == 2);
  CHECK(read.members[0].name == "x.txt");
  CHECK(read.members[1].name == "own.txt");
}

TEST_CASE("sizes: pax, base 256, negative, huge") {
  const walk pax(member("PaxHeader", "9 size=4\n", 'x') + header("a", octal(0, 11), '0') + "four" +
                 std::string(508, '\0') + member("b", "!") + closing);
  REQUIRE(pax.members.size() == 2);
  CHECK(pax.contents[0] == "four");
  std::string binary(12, '\0');
  binary[0] = static_cast<char>(0x80);
  binary[11] = 4;
  const walk base256(header("a", binary, '0') + "four" + std::string(508, '\0') + member("b", "!") + closing);
  REQUIRE(base256.members.size() == 2);
  CHECK(base256.contents[0] == "four");
  for (const std::string& bad : {std::string(12, '\xff'), "\x80" + std::string(11, '\xff'),
                                 std::string("77777777777"), std::string("12x")}) {
    const walk read(header("a", bad, '0') + member("b", "!") + closing);
    CAPTURE(bad);
    REQUIRE(read.members.size() == 1);  // what follows is found again
    CHECK(read.members[0].name == "b");
    CHECK(read.damage.size() == 1);
  }
  const walk far(member("PaxHeader", "34 size=99999999999999999999999999\n", 'x') + member("a", "1") +
                 member("PaxHeader", "28 size=9223372036854775800\n", 'x') + member("b", "2") +
                 member("c", "3") + closing);
  CHECK(far.damage.size() >= 2);
  CHECK(far.members.back().name == "c");
}

TEST_CASE("damage in the middle loses one member, not the rest") {
  std::string bytes = member("a", "1") + member("b", "2") + member("c", "3") + closing;
  bytes[1024 + 3] = 'X';  // in the name of b: the checksum no longer fits
  const walk read(bytes);
  REQUIRE(read.members.size() == 2);
  CHECK(read.members[1].name == "c");
  REQUIRE(read.damage.size() == 1);
  CHECK(read.damage[0] == "has a damaged header at byte 1024");
}

TEST_CASE("cut at every byte: whole members are found, the cut is told") {
  const std::string bytes = member("a.txt", "hello") + member("PaxHeader", "14 path=b.txt\n", 'x') +
                            member("cut", std::string(600, 'b')) + member("c", "3") + closing;
  const walk whole(bytes);
  REQUIRE(whole.members.size() == 3);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const walk read(bytes.substr(0, length));
    CAPTURE(length);
    REQUIRE(read.members.size() <= 3);
    for (std::size_t i = 0; i < read.members.size(); ++i) {
      REQUIRE(read.members[i].name == whole.members[i].name);
      REQUIRE(read.contents[i] == whole.contents[i]);
    }
    // Nothing but the second closing block may be missing without a word.
    if (length < bytes.size() - 512) REQUIRE(!read.damage.empty());
  }
}

TEST_CASE("the writer's files read back, long names and all") {
  const scratch folder;
  std::vector<std::string> names{"a.txt", std::string(100, 'x'), std::string(101, 'y'),
                                 std::string(300, 'z')};
  for (std::size_t length = 85; length < 120; ++length) names.push_back("d/" + std::string(length, 'n'));
  for (int round = 0; round < 2; ++round) {
    tar_writer tar((folder / ("t" + std::to_string(round) + ".tar")).string());
    for (const std::string& name : names) tar.add(name, "content of " + name);
    tar.finish();
    tar.commit();
  }
  const std::string bytes = read_text((folder / "t0.tar").string());
  CHECK(bytes == read_text((folder / "t1.tar").string()));  // no dates
  CHECK(bytes.size() % 512 == 0);
  const walk read(bytes);
  CHECK(read.damage.empty());
  REQUIRE(read.members.size() == names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    CHECK(read.members[i].name == names[i]);
    CHECK(read.contents[i] == "content of " + names[i]);
  }
}

TEST_CASE("mutations never crash the reader") {
  const std::vector<std::string> seeds{
      member("a.txt", "hello") + member("b.png", std::string(700, 'x')) + closing,
      member("PaxHeader", "14 path=x.txt\n9 size=3\n", 'x') + member("cut", "abc") + closing,
      member("././@LongLink", std::string(200, 'n'), 'L') + member("cut", "gnu") + closing};
  for (const std::string& seed : seeds) CHECK(fuzz_tar(seed));
  motet::isize refused = 0;
  for (std::uint64_t run = 0; run < 20000; ++run) refused += fuzz_tar(mutated(seeds, run)) ? 0 : 1;
  CHECK(refused > 1000);
}
