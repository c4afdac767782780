// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <doctest/doctest.h>

#include <motet/backend/cpu/device/team.hpp>

#include "laws/refused_threads.hpp"

#include <stdexcept>

namespace {

TEST_CASE("every thread of a team runs, and all meet at barriers") {
  for (const int size : {1, 2, 5}) {
    motet::cpu::team crew(size);
    CHECK(crew.size() == size);
    for (int round = 0; round < 200; ++round) {
      double total = 0;
      crew.run([&](int thread) {
        crew.slot(thread) = thread + round;
        crew.barrier();
        double sum = 0;
        for (int t = 0; t < size; ++t) sum += crew.slot(t);
        crew.barrier();
        crew.slot(thread) = -1;  // after the second barrier nobody reads the old value any more
        if (thread == 0) total = sum;
      });
      CHECK(total == size * (size - 1) / 2 + size * round);
    }
  }
}

TEST_CASE("threads that the system refuses are an error that counts them") {
  const motet::laws::refused_threads none;
  CHECK_THROWS_WITH_AS(motet::cpu::team(4), doctest::Contains("threads of a rank: wanted 4, got 1 ("),
                       motet::error);
  CHECK(motet::cpu::team(1).size() == 1);
}

TEST_CASE("an exception in one thread ends the step of all and reaches the caller, and the team works on") {
  for (const int size : {1, 2, 4}) {
    motet::cpu::team crew(size);
    for (int round = 0; round < 20; ++round) {
      CHECK_THROWS_WITH_AS(crew.run([&](int thread) {
        crew.barrier();
        if (thread == size - 1) throw std::runtime_error("here");
        crew.barrier();
        crew.barrier();
      }),
                           "here", std::runtime_error);
      int count = 0;
      crew.run([&](int thread) {
        crew.barrier();
        if (thread == 0) ++count;
      });
      CHECK(count == 1);
    }
  }
}

}  // namespace
