// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/backend/groups/turns.hpp>

#include <doctest/doctest.h>

#include <stdexcept>
#include <vector>

using namespace motet;

namespace {
using turn = turns::turn;
}

TEST_CASE("one thread at a time has the turn, however often it takes it, and others while it is apart") {
  turns all;
  all.share(3);
  int inside = 0, most = 0, sum = 0;
  std::atomic<int> beside{0}, most_beside{0};
  const auto work = [&] {
    for (int k = 0; k < 300; ++k) {
      const turn outer(all);
      const turn again(all);
      most = ++inside > most ? inside : most;
      ++sum;
      --inside;
      all.apart([&] {
        if (const int now = ++beside; now > most_beside) most_beside = now;
        std::this_thread::yield();
        --beside;
      });
      ++sum;
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) threads.emplace_back(work);
  for (std::thread& each : threads) each.join();
  CHECK(most == 1);
  CHECK(sum == 3 * 600);
}

TEST_CASE("who is apart and throws has the turn again") {
  turns all;
  all.share(2);
  int sum = 0;
  std::thread other;
  {
    const turn own(all);
    CHECK_THROWS_AS(all.apart([&] {
      std::thread([&] {
        const turn theirs(all);
        ++sum;
      }).join();
      throw std::runtime_error("broken");
    }),
                    std::runtime_error);
    other = std::thread([&] {
      const turn theirs(all);
      sum += 10;
    });
    std::this_thread::yield();
    CHECK(sum == 1);
  }
  other.join();
  CHECK(sum == 11);
}

TEST_CASE("a rank of one thread locks nothing") {
  turns all;
  const turn own(all);
  bool ran = false;
  std::thread([&] {
    const turn theirs(all);
    all.apart([&] { ran = true; });
  }).join();
  CHECK(ran);
}
