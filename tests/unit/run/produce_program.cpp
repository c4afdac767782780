// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <doctest/doctest.h>
#include <motet/run/produce_program.hpp>

#include "laws/free_port.hpp"

#include <csignal>
#include <thread>

using namespace motet;

namespace {

int run_with(std::vector<std::string> words) {
  std::vector<const char*> all{"produce"};
  for (const std::string& each : words) all.push_back(each.c_str());
  return produce_program("produce", static_cast<int>(all.size()), all.data());
}

}  // namespace

TEST_CASE("the program listens until it is asked to end, and says in its exit code what was wrong before") {
  CHECK(run_with({}) == 2);
  CHECK(run_with({"--data"}) == 2);
  CHECK(run_with({"--data", "shapes", "--listen", "here"}) == 3);
  const tcp::listener taken("127.0.0.1", 0);
  CHECK(run_with({"--data", "shapes", "--listen",
                  "127.0.0.1:" + std::to_string(ntohs(taken.address().sin_port))}) == 138);
  const std::uint16_t port = laws::free_port();
  int status = -1;
  // Data are looked at when a run asks for them.
  std::thread program([&] {
    status = run_with({"--data", "nowhere", "--listen", "127.0.0.1:" + std::to_string(port)});
  });
  const sockaddr_in there = tcp::address_of("127.0.0.1", port);
  bool listens = false;
  for (const tcp::deadline until(60); !listens && !until.over();) {
    listens = static_cast<bool>(tcp::reach(there, tcp::deadline(1)));
    if (!listens) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  CHECK(listens);
  ::pthread_kill(program.native_handle(), SIGTERM);
  program.join();
  CHECK(status == 0);
  CHECK_FALSE(tcp::reach(there, tcp::deadline(1)));
}

TEST_CASE("its help has its options, and the exit codes") { CHECK(run_with({"--help"}) == 0); }

TEST_CASE("one that a run started knows by its standard input that it is left alone") {
  const int before = ::dup(STDIN_FILENO);
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  ::dup2(ends[0], STDIN_FILENO);
  CHECK_FALSE(detail::is_left_alone());
  // Words of whoever started it do not end it.
  REQUIRE(::write(ends[1], "on", 2) == 2);
  CHECK_FALSE(detail::is_left_alone());
  ::close(ends[1]);
  CHECK(detail::is_left_alone());
  ::dup2(before, STDIN_FILENO);
  ::close(before);
  ::close(ends[0]);
}
