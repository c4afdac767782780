// SPDX-License-Identifier: Apache-2.0
#include <motet/tools/options.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {
struct all_kinds {
  bool fast = false;
  std::string name = "nobody", kind = "a";
  motet::index count = 3;
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
  motet::index few = 1;
  options line("program", "does something");
  line.count("--few", few, 0, 16, "of them");
  const char* words[] = {"program", "--few", "17"};
  CHECK_THROWS_WITH(line.parse(3, words), doctest::Contains("--few wants at most 16, got 17"));
  words[2] = "16";
  CHECK(line.parse(3, words));
}
