// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/backend/groups/courier.hpp>

#include <motet/backend/transport/local/local_group.hpp>

#include <doctest/doctest.h>

#include <stdexcept>
#include <vector>

using namespace motet;

namespace {
// An end that notes who uses it.
struct noted_end {
  static constexpr bool takes_turns = true;
  turns inside;
  std::thread::id user;
  std::atomic<bool> stopped{false};
  void share(int threads) { inside.share(threads); }
  auto turn() { return turns::turn(inside); }
  template <class Body>
  void apart(Body&& body) {
    inside.apart(body);
  }
  void wake() {}
  void stop(const char*) { stopped = true; }
  void take_over() { user = std::this_thread::get_id(); }
};
}  // namespace

TEST_CASE("calls are made in order on another thread, which uses the end until all are done") {
  noted_end end;
  courier by(end);
  std::vector<int> order;
  std::thread::id made_by;
  courier::number last = 0;
  for (int i = 0; i < 100; ++i)  // more than there is room for
    last = by.send([&order, &made_by, &end, i] {
      order.push_back(i);
      made_by = std::this_thread::get_id();
      if (end.user != made_by) throw std::runtime_error("the end is another's");
    });
  by.wait(last);
  CHECK(order.size() == 100);
  for (int i = 0; i < 100; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);
  const bool elsewhere = made_by != std::this_thread::get_id();
  CHECK(elsewhere);
  by.rest();
  const bool mine = end.user == std::this_thread::get_id();
  CHECK(mine);
}

TEST_CASE("a call goes on while its sender does something else") {
  noted_end end;
  courier by(end);
  std::atomic<bool> asked{false}, answered{false};
  by.send([&] {
    while (!asked) std::this_thread::yield();
    answered = true;
  });
  asked = true;
  while (!answered) std::this_thread::yield();  // without asking the courier
  by.rest();
}

TEST_CASE("rows of threads come while neither of their ranks looks") {
  local::world world(2, 0, {});
  const std::vector<std::vector<std::int32_t>> lists{{0, 1}};
  local::group_set set(world, lists);
  std::atomic<int> wrong{0};
  const auto rank = [&](std::int32_t r) {
    local::endpoint end(world, r);
    local::group group(set, 0, end);
    courier by(end);
    const std::int32_t own = 10 + r;
    std::int32_t all[2] = {};
    const std::vector<isize> bytes{4, 4};
    std::atomic<bool> here{false};
    by.send([&] {
      group.wait(group.all_gather(reinterpret_cast<const std::byte*>(&own), reinterpret_cast<std::byte*>(all),
                                  bytes));
      here = true;
    });
    while (!here) std::this_thread::yield();
    wrong += all[0] != 10 || all[1] != 11;
    by.rest();
  };
  std::thread other([&] { rank(1); });
  rank(0);
  other.join();
  CHECK(wrong == 0);
}

TEST_CASE("a failure comes out where it is waited for, and nothing is begun behind it") {
  noted_end end;
  courier by(end);
  bool begun = false;
  const courier::number fails = by.send([] { throw std::runtime_error("no way through"); });
  by.send([&begun] { begun = true; });
  CHECK_THROWS_WITH(by.wait(fails), "no way through");
  CHECK_THROWS_WITH(by.rest(), "no way through");
  CHECK_FALSE(begun);
  CHECK_FALSE(end.stopped);
}

TEST_CASE("who gives up ends what is under way, and throws nothing") {
  noted_end end;
  courier by(end);
  by.give_up();  // nothing is
  CHECK_FALSE(end.stopped);
  by.send([&end] {
    while (!end.stopped) std::this_thread::yield();
    throw std::runtime_error("stopped");
  });
  by.give_up();
  CHECK(end.stopped);
}

TEST_CASE("calls beside are done at the end of their scope, with a courier or without") {
  noted_end end;
  courier by(end);
  for (courier* const who : {&by, static_cast<courier*>(nullptr)}) {
    int made = 0;
    calls_beside calls(who);
    const courier::number first = calls.begin([&made] { ++made; });
    calls.finish(first);
    CHECK(made == 1);
    calls.begin([&made] { ++made; });
    calls.finish();
    CHECK(made == 2);
  }
  try {
    calls_beside calls(&by);
    calls.begin([&end] {
      while (!end.stopped) std::this_thread::yield();
    });
    throw std::runtime_error("elsewhere");
  } catch (const std::runtime_error& problem) {
    CHECK(std::string(problem.what()) == "elsewhere");
  }
  CHECK(end.stopped);
}
