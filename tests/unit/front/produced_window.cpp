// SPDX-License-Identifier: Apache-2.0
#include <motet/front/produced_window.hpp>

#include <doctest/doctest.h>

#include <array>
#include <stdexcept>

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
