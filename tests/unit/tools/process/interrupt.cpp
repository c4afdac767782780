// SPDX-License-Identifier: Apache-2.0
#include <motet/tools/process/interrupt.hpp>

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

TEST_CASE("what asks a run to leave is told from a stop by hand") {
  for (const int which : {SIGTERM, SIGHUP, SIGUSR1}) {
    const motet::interrupt stop;
    std::raise(which);
    CHECK(stop.asked());
    CHECK(stop.exit_code() == motet::exit_restart.status);
  }
}

TEST_CASE("nobody reading and a lost terminal under nohup do not stop a run") {
  struct sigaction ignoring {
  }, before{}, now{};
  ignoring.sa_handler = SIG_IGN;
  sigaction(SIGHUP, &ignoring, &before);
  {
    const motet::interrupt stop;
    std::raise(SIGPIPE);
    std::raise(SIGHUP);
    CHECK(!stop.asked());
  }
  sigaction(SIGPIPE, nullptr, &now);
  CHECK((now.sa_handler == SIG_DFL));
  sigaction(SIGHUP, &before, nullptr);
}
