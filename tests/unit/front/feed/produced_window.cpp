// SPDX-License-Identifier: Apache-2.0
#include <motet/front/feed/produced_window.hpp>

#include <doctest/doctest.h>

#include <array>
#include <stdexcept>
#include <thread>

using namespace motet;

namespace {

// Two producers, and room for three steps of one byte.
struct two_producers {
  std::array<std::byte, 3> memory{};
  produced_window steps{
      {{"a", 1}, {"b", 2}}, {7, 8, 9, 0}, {{&memory[0], 1}, {&memory[1], 1}, {&memory[2], 1}}, 0.01, {}};

  std::vector<std::uint64_t> asked_of(std::size_t p) {
    std::vector<std::uint64_t> out;
    for (const std::string& each : steps.claim(p))
      out.push_back(read_json(each, "a request").at("step").unsigned_integer());
    return out;
  }
  void send(std::size_t p, std::uint64_t step) {
    produced_window::cell* const own = steps.asked_cell(p, step);
    REQUIRE(own != nullptr);
    own->words.next = static_cast<motet::isize>(10 * (step + 1));
    steps.finish(*own, nullptr);
  }
};
using all_steps = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("steps are asked of whose they are, taken in turn, and asked of others when one is lost") {
  two_producers of;
  of.steps.begin(0);
  of.steps.begin(1);
  CHECK(of.asked_of(0) == all_steps{0, 2});
  CHECK(of.asked_of(1) == all_steps{1});
  CHECK(of.asked_of(1).empty());
  CHECK(of.steps.owed(0) == 2);
  CHECK(of.steps.asked_cell(1, 0) == nullptr);
  of.send(1, 1);
  CHECK_FALSE(of.steps.ahead().has_value());
  of.send(0, 0);
  CHECK(of.steps.ready() == 2);
  CHECK(of.steps.next() == 0);
  CHECK(of.steps.position().next == 10);
  CHECK(of.steps.ahead() == 1);
  of.steps.lose(0, std::runtime_error("it is gone"), "it is gone");
  CHECK(of.asked_of(1) == all_steps{2});
  CHECK(of.steps.next() == 1);
  CHECK(of.steps.position().next == 20);
  const std::vector<std::string> next = of.steps.claim(1);
  REQUIRE(next.size() == 1);
  CHECK(next[0].find("\"share\"") == std::string::npos);
  // What it knows is the nearest place before.
  CHECK(read_json(next[0], "a request").at("known").unsigned_integer() == 2);
  CHECK(
      of.steps.take_notes() ==
      std::vector<std::string>{"the producer at a:1 is lost, its steps are asked for elsewhere: it is gone"});
}

TEST_CASE("a step that comes damaged thrice, and a run without producers, are refused") {
  two_producers of;
  of.steps.begin(0);
  for (int time = 0; time < 3; ++time) {
    of.asked_of(0);
    of.steps.ask_again(0, *of.steps.asked_cell(0, 0), "a bit is another one");
  }
  CHECK_THROWS_WITH_AS(of.steps.next(), doctest::Contains("step 0 of the producer at a:1, 3 times: a bit is"),
                       error);
  two_producers none;
  CHECK_THROWS_WITH_AS(none.steps.next(), doctest::Contains("for 0.01 s, for step 0 of this run"), error);
  CHECK(none.steps.reach(0, -1));
  none.steps.end();
  CHECK(none.steps.ends());
  CHECK_FALSE(none.steps.reach(0, -1));
}

TEST_CASE(
    "where words are asked for first, pictures follow when somebody says whose, and all when nobody does") {
  std::array<std::byte, 2> memory{};
  produced_window steps({{"a", 1}, {"b", 2}}, {7, 8, 9, 0}, {{&memory[0], 1}, {&memory[1], 1}}, 5, {}, true);
  const auto asked_of = [&](std::size_t p) {
    std::string all;
    for (const std::string& each : steps.claim(p)) {
      const json one = read_json(each, "a request");
      all += sentence({one.at("step").integer(), " ", one.at("parts").string()});
      if (const json* const share = one.find("share")) all += " " + write_json(*share);
      all += ";";
    }
    return all;
  };
  const auto hear = [&](std::size_t p, std::uint64_t step) { steps.hear(*steps.asked_cell(p, step)); };
  const auto send = [&](std::size_t p, std::uint64_t step) {
    steps.finish(*steps.asked_cell(p, step), nullptr);
  };
  steps.begin(0);
  CHECK(asked_of(0) == "0 words;1 words;");
  steps.want(step_share({{0, 1}}));
  CHECK(asked_of(0).empty());
  hear(0, 0);
  hear(0, 1);
  CHECK(steps.ready() == 2);
  CHECK(steps.ahead() == 0);
  CHECK(asked_of(0).empty());
  // Of the step that is next, and of no other one.
  steps.want(step_share({{0, 2}}));
  steps.want(step_share({{3, 4}}));
  CHECK(asked_of(0) == "0 pictures [[0, 2]];");
  send(0, 0);
  const auto none = [](isize) { FAIL("a choice was made before"); };
  CHECK(steps.next(none) == 0);
  CHECK(steps.ahead() == 1);
  steps.want(step_share(std::vector<interval>{}));
  CHECK(asked_of(0) == "1 pictures [];");
  // Pictures alone are asked of another one when theirs is lost.
  steps.begin(1);
  steps.lose(0, std::runtime_error("it is gone"), "it is gone");
  CHECK(asked_of(1) == "1 pictures [];");
  send(1, 1);
  CHECK(steps.next(none) == 1);
  CHECK(asked_of(1) == "2 words;");
  hear(1, 2);
  // next() asks who chooses, and waits until the pictures are there.
  int chose = 0;
  std::string then;
  CHECK(steps.next([&](isize room) {
    ++chose;
    CHECK(room == 0);
    steps.want(step_share({{1, 2}}));
    then = asked_of(1);
    send(1, 2);
  }) == 0);
  CHECK(chose == 1);
  CHECK(then == "2 pictures [[1, 2]];3 words;");
  hear(1, 3);
  // Words of the step after it may be asked for before anybody says whose pictures are wanted.
  then.clear();
  std::jthread other([&] {
    while (steps.asked_cell(1, 3) == nullptr) then += asked_of(1), std::this_thread::yield();
    send(1, 3);
  });
  CHECK(steps.next([&](isize) { ++chose; }) == 1);
  other.join();
  CHECK(chose == 2);
  CHECK(then.find("3 pictures;") != std::string::npos);
}
