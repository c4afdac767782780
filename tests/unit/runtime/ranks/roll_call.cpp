// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/runtime/ranks/roll_call.hpp>

#include <doctest/doctest.h>

#include <memory>

using namespace motet;

namespace {

// Some ranks in one process, which reach each other as processes do.
struct crew {
  std::vector<std::unique_ptr<roll_call>> all;
  double bound;

  explicit crew(std::int32_t ranks, double seconds = 3) : bound(seconds) {
    std::vector<std::string> addresses;
    for (std::int32_t r = 0; r < ranks; ++r) {
      all.push_back(std::make_unique<roll_call>(r, bound));
      addresses.push_back(all.back()->address());
    }
    for (auto& each : all) each->begin(addresses, 0x1234567890abcdef);
  }
  roll_call& operator[](std::size_t rank) { return *all[rank]; }
  // Rank `who` has waited so long already; asks until it knows, or for so many turns.
  roll_call::verdict ask(std::size_t who, const std::vector<std::int32_t>& lacking, int turns = 100) {
    roll_call::verdict found;
    for (int turn = 0; turn < turns && !found.hopeless; ++turn) {
      found = all[who]->look(100, lacking);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    all[who]->goes_on();
    return found;
  }
  // Asks until the verdict is this one: where the machine stands still, who lives answers too late, and a few
  // turns are not enough to know.
  bool settles(std::size_t who, const std::vector<std::int32_t>& lacking, bool hopeless,
               const std::vector<std::int32_t>& silent = {}) {
    for (int tries = 0; tries < 20; ++tries)
      if (const auto found = ask(who, lacking); found.hopeless == hopeless && found.silent == silent)
        return true;
    return false;
  }
};

}  // namespace

TEST_CASE("ranks reach each other") {
  crew all(3, 10);
  for (std::size_t r = 0; r < 3; ++r) CHECK(all[r].reaches(static_cast<std::int32_t>((r + 1) % 3), 20));
  CHECK(all[0].can_ask());
}

TEST_CASE("whoever computes will come") {
  crew all(3);
  CHECK(all.settles(0, {1, 2}, false));
}

TEST_CASE("whoever is gone does not answer") {
  crew all(3);
  all.all[2].reset();
  CHECK(!all[0].reaches(2, 0.05));
  CHECK(all.settles(0, {1, 2}, true, {2}));
}

TEST_CASE("the one who is gone is found behind those who wait for it") {
  crew all(4);
  all.all[3].reset();
  all[1].look(100, {2});
  all[2].look(100, {3});
  CHECK(all.settles(0, {1}, true, {3}));
}

TEST_CASE("the one who computes is found behind those who wait for it") {
  crew all(4);
  all[1].look(100, {2, 0});
  all[2].look(100, {3});
  CHECK(all.settles(0, {1}, false));
  // One that waits since now alone is going on, too; after some tries it would not be now any more.
  bool goes_on = false;
  for (int tries = 0; tries < 20 && !goes_on; ++tries) {
    all[3].goes_on();
    all[3].look(0.1, {0});
    goes_on = !all.ask(0, {1}).hopeless;
  }
  CHECK(goes_on);
}

TEST_CASE("one who is gone is found beside one who computes") {
  crew all(4);
  all.all[2].reset();
  all.all[3].reset();
  CHECK(all.settles(0, {1, 2, 3}, true, {2, 3}));
}

TEST_CASE("where all wait for each other nobody will come") {
  crew all(3);
  all[1].look(100, {2});
  all[2].look(100, {0});
  CHECK(all.settles(0, {1}, true));
  all[2].goes_on();
  CHECK(all.settles(0, {1}, false));
  // A rank that waits for nobody at all.
  CHECK(all.ask(0, {}).hopeless);
}

TEST_CASE("ranks that cannot ask wait for a time only") {
  crew all(2);
  all[0].cannot_ask();
  CHECK(!all[0].can_ask());
  CHECK(!all[0].look(1.45, {1}).hopeless);
  const auto found = all[0].look(1.55, {1});
  CHECK(found.hopeless);
  CHECK(found.silent == std::vector<std::int32_t>{1});
}

TEST_CASE("letters of another run are not heard") {
  roll_call one(0, 1), other(1, 1);
  const std::vector<std::string> addresses{one.address(), other.address()};
  one.begin(addresses, 1);
  other.begin(addresses, 2);
  CHECK(!one.reaches(1, 0.05));
  // Nonsense is not reached, nor is an address that is none.
  roll_call third(2, 1);
  third.begin({"", "nowhere", "machine 99999999999999", "machine 80 1.2.3.4.5 x"}, 3);
  for (const std::int32_t each : {0, 1, 2, 3}) CHECK(!third.reaches(each, 0.01));
}
