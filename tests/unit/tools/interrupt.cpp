// SPDX-License-Identifier: Apache-2.0
#include <motet/tools/interrupt.hpp>

#include <doctest/doctest.h>

TEST_CASE("the first Ctrl-C asks, and the handling from before comes back") {
  struct sigaction before {
  }, now{};
  sigaction(SIGINT, nullptr, &before);
  {
    const motet::interrupt stop;
    CHECK(!stop.asked());
    std::raise(SIGINT);
    CHECK(stop.asked());
    CHECK(stop.exit_code() == 130);
    // The second one would end the program.
    sigaction(SIGINT, nullptr, &now);
    CHECK((now.sa_handler == SIG_DFL));
  }
  {
    const motet::interrupt stop;
    CHECK(!stop.asked());
    std::raise(SIGTERM);
    CHECK(stop.exit_code() == 143);
  }
  sigaction(SIGINT, nullptr, &now);
  CHECK((now.sa_handler == before.sa_handler));
}
