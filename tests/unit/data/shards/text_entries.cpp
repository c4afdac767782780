// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/data/shards/text_entries.hpp>

#include <unit/data/pairs.hpp>

#include <fstream>

using namespace motet;

namespace {

struct found_entries {
  const scratch folder;
  std::string told, damage;

  std::string path(const std::string& text) {
    const std::string made = (folder / "file").string();
    std::ofstream(made, std::ios::binary | std::ios::trunc) << text;
    return made;
  }
  const std::string& of(const std::string& text, bool lines = false) {
    told.clear(), damage.clear();
    const input_file file(path(text));
    const auto keep = [&](const text_entry& each) {
      REQUIRE(each.offset >= 0);
      REQUIRE(each.offset + each.size <= static_cast<motet::isize>(text.size()));
      told += std::to_string(each.number) + "=" +
              text.substr(static_cast<std::size_t>(each.offset), static_cast<std::size_t>(each.size)) + ";";
    };
    if (lines) CHECK(for_each_line(file, keep));
    else for_each_entry(file, keep, [&](const std::string& where) { damage += where; });
    return told;
  }
};

}  // namespace

TEST_CASE("entries of arrays, and lines") {
  found_entries found;
  CHECK(found.of(R"( [ {"a":[1,2]} ,
 {"b":"],\"[{"}, 3 ] more)") == R"(1={"a":[1,2]};2={"b":"],\"[{"};3=3;)");
  CHECK(found.damage.empty());
  CHECK(found.of("[]").empty());
  CHECK(found.damage.empty());
  CHECK(found.of("[1,,2,]") == "1=1;2=;3=2;4=;");
  CHECK(found.of("{\"a\":1}\n\n \r\n {\"b\":2} \r\n{\"c\"") == "1={\"a\":1};4={\"b\":2};5={\"c\";");
  CHECK(found.of("").empty());
  CHECK(found.of("[1,2\n", true) == "1=[1,2;");
  CHECK(found.of("one document\n  two \n", true) == "1=one document;2=two;");
}

TEST_CASE("an array that is cut keeps its whole entries, and says where it ends") {
  found_entries found;
  const std::string whole = R"([{"a":"x"},{"b":[2]},{"c":3}])";
  for (std::size_t length = 1; length < whole.size(); ++length) {
    const std::string& told = found.of(whole.substr(0, length));
    CHECK(found.damage.starts_with("its array ends inside entry "));
    CHECK(std::string(R"(1={"a":"x"};2={"b":[2]};3={"c":3};)").starts_with(told));
  }
}

TEST_CASE("a file of more bytes than are held at once, and any bytes") {
  found_entries found;
  std::string text = "[";
  for (int i = 0; i < 60000; ++i)
    text += (i > 0 ? ", {\"number\": " : "{\"number\": ") + std::to_string(i) + "}";
  motet::isize entries = 0;
  const input_file file(found.path(text + "]"));
  for_each_entry(
      file, [&](const text_entry& each) { CHECK(each.number == ++entries); },
      [](const std::string&) { CHECK(false); });
  CHECK(entries == 60000);
  const random_stream draws(3, "bytes");
  for (std::uint64_t i = 0; i < 200; ++i) {
    std::string any = "[";
    for (std::uint64_t k = 0; k < 60; ++k) any += "{}[]\",\\ 1\n\x80"[draws.below(100 * i + k, 11)];
    found.of(any);
  }
}
