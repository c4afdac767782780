// SPDX-License-Identifier: Apache-2.0
#include <motet/front/ranks/launched_world.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {
std::string refusal(std::initializer_list<const char*> words,
                    std::initializer_list<std::string_view> own = {}) {
  std::vector<const char*> all{"program"};
  all.insert(all.end(), words);
  try {
    const launched_world world = launch(static_cast<int>(all.size()), all.data(), own);
  } catch (const error& problem) {
    return problem.what();
  }
  return "";
}
}  // namespace

TEST_CASE("a process that nobody started with others takes a plan of any number of ranks") {
  const char* const words[] = {"program", "--data", "x"};
  const launched_world world = launch(3, words, {"--data"});
  CHECK(world.is_main());
  CHECK_FALSE(world.is_one_of_many());
  CHECK(world.threads(1) >= 1);
  CHECK(world.threads(1000) == 1);
  world.require_ranks(1);
  world.require_ranks(7);
}

TEST_CASE("ranks and threads are read where they stand among other words") {
  const char* const words[] = {"program", "--ranks", "3", "--data", "x", "--threads=2"};
  const launched_world world = launch(6, words, {"--data"});
  CHECK(world.by().ranks == 3);
  CHECK(world.by().threads == 3);
  CHECK(world.threads(3) == 2);
  world.require_ranks(3);
  CHECK_THROWS_WITH_AS(world.require_ranks(4), doctest::Contains("the plan is for 4 ranks, there are 3"),
                       error);
  CHECK_THROWS_WITH_AS(world.require_ranks(1), doctest::Contains("MT-P74"), error);
}

TEST_CASE("whoever asks for one rank gets one") {
  const char* const words[] = {"program", "--ranks=1"};
  const launched_world world = launch(2, words);
  world.require_ranks(1);
  CHECK_THROWS_WITH_AS(world.require_ranks(3), doctest::Contains("the plan is for 3 ranks, there are 1"),
                       error);
}

TEST_CASE("numbers that are none are refused") {
  CHECK(refusal({"--ranks", "two"}).find("--ranks two, wanted a number from 1 on") != std::string::npos);
  CHECK(refusal({"--threads=0"}).find("--threads 0, wanted") != std::string::npos);
  CHECK(refusal({"--ranks"}).find("MT-X03") != std::string::npos);
  CHECK(refusal({"--ranks-of-mine", "x"}, {"--ranks-of-mine"}).empty());
}

TEST_CASE("words that nobody reads are refused with the nearest that somebody does") {
  const auto says = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(says(refusal({"--rnaks", "3"}), "--rnaks; did you mean --ranks"));
  CHECK(says(refusal({"--rnaks=3"}), "MT-X06"));
  CHECK(says(refusal({"--thread", "2"}), "did you mean --threads"));
  CHECK(says(refusal({"--dta", "x"}, {"--data"}), "--dta; did you mean --data"));
  CHECK(says(refusal({"--wholly-other"}), ": --wholly-other. launch() reads"));
  CHECK(says(refusal({"threads=2"}), "\"threads=2\""));
  // What stands behind --ranks is its number alone.
  CHECK(says(refusal({"--ranks", "3", "4"}), "\"4\""));
  CHECK(refusal({"--plan", "data-2", "--threads", "1"}).empty());
  CHECK(refusal({"--plan=data-2"}).empty());
  // An own option may have no value, or several; and a program may read words that no option takes.
  CHECK(refusal({"--quiet", "--data", "a", "b", "--threads", "1"}, {"--data", "--quiet"}).empty());
  CHECK(says(refusal({"--threads", "1", "a"}, {"--data"}), "\"a\""));
  CHECK(refusal({"--threads", "1", "a"}, {"FILE"}).empty());
}
