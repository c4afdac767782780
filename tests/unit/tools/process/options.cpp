// SPDX-License-Identifier: Apache-2.0
#include <motet/tools/process/options.hpp>

#include <motet/format/files/atomic_file.hpp>

#include <doctest/doctest.h>

#include <unit/format/scratch.hpp>

using namespace motet;

namespace {
struct all_kinds {
  bool fast = false;
  std::string name = "nobody", kind = "a";
  motet::isize count = 3;
  std::uint64_t seed = 7;
  double rate = 0.5;
  options line{"program", "does something"};

  all_kinds() {
    line.flag("--fast", fast, "fast");
    line.text("--name", name, "NAME", "a name");
    line.choice("--kind", kind, {"a", "b"}, "a kind");
    line.count("--count", count, 1, "a count");
    line.count("--seed", seed, "a seed");
    line.real("--rate", rate, 0, 1, "a rate");
  }
  bool parse(std::vector<const char*> words) {
    words.insert(words.begin(), "program");
    return line.parse(static_cast<int>(words.size()), words.data());
  }
  std::string failure(std::vector<const char*> words) {
    try {
      parse(std::move(words));
    } catch (const error& problem) {
      return problem.what();
    }
    return "";
  }
};
bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }
}  // namespace

TEST_CASE("options set their variables") {
  all_kinds all;
  CHECK(all.parse({"--fast", "--name", "me", "--kind=b", "--count", "12", "--seed", "18446744073709551615",
                   "--rate", "2.5e-1"}));
  CHECK(all.fast);
  CHECK(all.name == "me");
  CHECK(all.kind == "b");
  CHECK(all.count == 12);
  CHECK(all.seed == 18446744073709551615u);
  CHECK(all.rate == 0.25);
  CHECK(all.line.given("--count"));
  CHECK(!all_kinds().line.given("--count"));
}

TEST_CASE("an option that may be given several times keeps all values in order") {
  std::vector<std::string> all;
  options line("program", "does something");
  line.texts("--pin", all, "TEXT", "of something");
  const char* words[] = {"program", "--pin", "a", "--pin=b=c", "--pin", "a"};
  CHECK(line.parse(6, words));
  CHECK(all == std::vector<std::string>{"a", "b=c", "a"});
  CHECK(has(line.help(), "--pin TEXT  of something\n"));
  const char* empty[] = {"program", "--pin="};
  CHECK_THROWS_WITH_AS(line.parse(2, empty), doctest::Contains("MT-X02"), error);
}

TEST_CASE("help shows every option with its default") {
  all_kinds all;
  CHECK(!all.parse({"--help"}));
  const std::string help = all.line.help();
  CHECK(has(help, "--kind a|b"));
  CHECK(has(help, "[nobody]"));
  CHECK(has(help, "[0.5]"));
}

TEST_CASE("mistakes are explained") {
  CHECK(has(all_kinds().failure({"--cuont", "3"}), "did you mean --count"));
  CHECK(has(all_kinds().failure({"--cuont", "3"}), "MT-X01"));
  CHECK(!has(all_kinds().failure({"--entirely-different", "3"}), "did you mean"));
  CHECK(has(all_kinds().failure({"--count"}), "MT-X02"));
  CHECK(has(all_kinds().failure({"--count", "--fast"}), "MT-X02"));
  CHECK(has(all_kinds().failure({"--name", ""}), "MT-X02"));
  for (const char* bad : {"x", "1x", "", "1.5", "0", "-4", "99999999999999999999"}) {
    CAPTURE(bad);
    CHECK(has(all_kinds().failure({"--count", bad}), "MT-X03"));
  }
  for (const char* bad : {"x", "nan", "inf", "1.5", "-0.1", "1e999"}) {
    CAPTURE(bad);
    CHECK(has(all_kinds().failure({"--rate", bad}), "MT-X03"));
  }
  CHECK(has(all_kinds().failure({"--seed", "-1"}), "MT-X03"));
  CHECK(has(all_kinds().failure({"--kind", "c"}), "a|b"));
  CHECK(has(all_kinds().failure({"--fast=1"}), "MT-X03"));
  CHECK(has(all_kinds().failure({"loose"}), "MT-X05"));
  CHECK_THROWS_WITH_AS(all_kinds().line.require("--name"), doctest::Contains("MT-X04"), error);
}

TEST_CASE("no count is larger than what programs keep it in") {
  CHECK(has(all_kinds().failure({"--count", "2147483648"}),
            "--count wants at most 2147483647, got 2147483648"));
  CHECK(has(all_kinds().failure({"--count", "4294967298"}), "MT-X03"));
  CHECK(has(all_kinds().failure({"--count", "9223372036854775807"}), "MT-X03"));
  CHECK(has(all_kinds().failure({"--count", "9223372036854775808"}), "--count wants a whole number, got"));
  all_kinds all;
  CHECK(all.parse({"--count", "2147483647"}));
  CHECK(all.count == 2147483647);
  motet::isize few = 1;
  options line("program", "does something");
  line.count("--few", few, 0, 16, "of them");
  const char* words[] = {"program", "--few", "17"};
  CHECK_THROWS_WITH(line.parse(3, words), doctest::Contains("--few wants at most 16, got 17"));
  words[2] = "16";
  CHECK(line.parse(3, words));
}

TEST_CASE("options from a file, and what they are, as a file again") {
  const scratch folder;
  const std::string path = (folder / "c.json").string();
  write_file(
      path,
      R"({"fast": true, "name": "me", "kind": "b", "count": 12, "seed": 18446744073709551615, "rate": 0.25})");
  all_kinds all;
  CHECK(all.parse({"--count", "5", "--config", path.c_str()}));
  CHECK(all.fast);
  CHECK(all.name == "me");
  CHECK(all.kind == "b");
  CHECK(all.count == 5);  // the command line counts
  CHECK(all.seed == 18446744073709551615u);
  CHECK(all.rate == 0.25);
  CHECK(all.line.given("--rate"));
  const json now = all.line.settings({"--name"});
  CHECK(now.find("name") == nullptr);
  write_file(path, write_json(now));
  all_kinds again;
  CHECK(again.parse({("--config=" + path).c_str()}));
  CHECK(again.line.settings({"--name"}) == now);
  CHECK(all_kinds().line.settings().find("fast") == nullptr);

  std::vector<std::string> pins;
  options line("program", "does something");
  line.texts("--pin", pins, "TEXT", "of something");
  write_file(path, R"({"pin": ["a", "b"]})");
  const char* words[] = {"program", "--config", path.c_str(), "--pin", "c", "--pin", "d"};
  CHECK(line.parse(3, words));
  CHECK(pins == std::vector<std::string>{"a", "b"});
  CHECK(line.parse(7, words));
  CHECK(pins == std::vector<std::string>{"c", "d"});
  CHECK(has(all.line.help(), "--config FILE.json"));
}

TEST_CASE("mistakes in a file are explained, with its name") {
  const scratch folder;
  const std::string path = (folder / "c.json").string();
  const auto said = [&](const char* text) {
    write_file(path, text);
    std::string out = all_kinds().failure({"--config", path.c_str()});
    CHECK(has(out, "c.json"));
    return out;
  };
  CHECK(has(said(R"({"cuont": 3})"), "--cuont; did you mean --count"));
  CHECK(has(said(R"({"count": "many"})"), "--count wants a number, got a string"));
  CHECK(has(said(R"({"count": 1.5})"), "--count wants a whole number, got \"1.5\""));
  CHECK(has(said(R"({"count": 0})"), "--count wants at least 1, got 0"));
  CHECK(has(said(R"({"fast": 1})"), "--fast wants true or false, got an integer"));
  CHECK(has(said(R"({"name": ["x"]})"), "--name wants a text, got an array"));
  CHECK(has(said(R"({"config": "d.json"})"), "MT-X01"));
  CHECK(has(said("[]"), "wants an object of options"));
  CHECK(has(said("{"), "MT-F01"));
  CHECK(has(all_kinds().failure({"--config"}), "MT-X02"));
  CHECK(has(all_kinds().failure({"--config", "/nowhere/c.json"}), "MT-D01"));
}
