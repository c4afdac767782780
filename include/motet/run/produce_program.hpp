// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/front/feed/sample_producer.hpp>
#include <motet/tools/process/exit_code.hpp>
#include <motet/tools/process/interrupt.hpp>
#include <motet/tools/process/options.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include <poll.h>
#include <unistd.h>

namespace motet {

namespace detail {

// Where one that was started by a run's own process listens; its standard input ends with that process.
inline constexpr int handed_down_socket = 3;

// Says whether whoever holds the other end of the standard input is gone.
inline bool is_left_alone() {
  pollfd watched{STDIN_FILENO, POLLIN, 0};
  if (::poll(&watched, 1, 200) < 1) return false;
  char some[64];
  return ::read(STDIN_FILENO, some, sizeof some) <= 0;
}

inline int produce(const std::string& name, int count, const char* const* words) {
  producer_options how;
  std::string listens = "127.0.0.1:29600";
  bool child = false;
  options line(name,
               "reads shards, decodes, resizes and tokenizes, and serves finished steps to runs that ask for "
               "them (--producers)");
  line.text("--data", how.data, "FOLDER", "the data of the runs, as their own --data");
  line.text(
      "--listen", listens, "ADDRESS:PORT",
      "an address or an interface of this machine, and a port, 0 for one that is free; beyond loopback with "
      "MOTET_TOKEN, which its runs have too");
  line.count("--threads", how.threads, 1, 4096, "that prepare data");
  line.flag("--child", child, "serves at a socket that was handed down, until the standard input ends");
  if (!line.parse(count, words)) {
    std::fputs((line.help() + exit_table()).c_str(), stdout);
    return 0;
  }
  if (how.data.empty()) fail(option_missing, "--data");
  if (const char* const token = std::getenv("MOTET_TOKEN"); token != nullptr) how.token = token;
  how.say = [](const std::string& text) {
    std::printf("%s\n", text.c_str());
    std::fflush(stdout);
  };
  if (child) {
    how.listens = handed_down_socket;
  } else {
    const producer_address at = read_producer_address(listens, 0);
    how.address = at.host, how.port = at.port;
  }
  const interrupt stop;
  const sample_producer serves(how);
  if (!child) how.say(sentence({"listens at ", how.address, ":", serves.port()}));
  while (!stop.asked())
    if (child) {
      if (is_left_alone()) return 0;
    } else {
      ::poll(nullptr, 0, 200);
    }
  return 0;
}

}  // namespace detail

// The main of a program that serves finished steps to runs: its options, signals and exit codes.
// Asks for: the words of a command line, the program's name first.
// Memory: that of sample_producer.
// Errors: MT-B18, MT-D13, MT-X01, MT-X02, MT-X03
// Example:
//   int main(int count, char** words) { return produce_program("produce", count, words); }
inline int produce_program(const std::string& name, int count, const char* const* words) {
  try {
    return detail::produce(name, count, words);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), problem.what());
    return exit_code_of(problem).status;
  }
}

}  // namespace motet
