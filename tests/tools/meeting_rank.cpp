// SPDX-License-Identifier: Apache-2.0
// One rank of a program that a launcher started: meeting_rank HOW SECONDS. It finds out which rank it is,
// meets the others by TCP, and says what it heard. Where a launcher started one process for a machine, it
// starts that machine's ranks. HOW: `well`, or `die` (rank 1 goes away between two meetings), or `stay`
// (until a signal asks to leave). `meeting_rank port` prints a port of this machine that is free, as is the
// next one.
#include <motet/backend/transport/meet/forum.hpp>
#include <motet/front/ranks/local_ranks.hpp>
#include <motet/tools/process/interrupt.hpp>

#include <cstdio>
#include <cstdlib>
#include <random>

namespace {

// The socket is bound, and the port is given back when it goes.
int bind_to(std::uint16_t port) {
  const int one = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  here.sin_port = htons(port);
  if (::bind(one, reinterpret_cast<const sockaddr*>(&here), sizeof here) == 0) return one;
  ::close(one);
  return -1;
}
// Below the ports that the system gives to connections, or one of another program could take it before it is
// used.
int free_port() {
  std::random_device any;
  for (int tries = 0; tries < 1000; ++tries) {
    const auto port = static_cast<std::uint16_t>(20000 + any() % 12000);
    const int first = bind_to(port), second = bind_to(static_cast<std::uint16_t>(port + 1));
    for (const int each : {first, second})
      if (each >= 0) ::close(each);
    if (first >= 0 && second >= 0) return port;
  }
  return 0;
}

int meet(const std::string& how, double seconds) {
  motet::environment around = motet::read_environment();
  motet::launched by = motet::find_launch(around, {.processes = true});
  if (by.to_start > 0) {
    if (const std::optional<int> ended = motet::start_local_ranks(by, around, 1)) return *ended;
    around = motet::read_environment();
    by = motet::find_launch(around, {.processes = true});
  }
  const motet::interrupt asked;
  const motet::forum all(motet::rendezvous_of(by, around, seconds));
  const auto says = [](std::int32_t rank, int round) {
    return "rank " + std::to_string(rank) + " in round " + std::to_string(round);
  };
  for (int round = 0; round < 3; ++round) {
    const auto heard = all.all_gather(says(all.rank(), round));
    for (std::int32_t r = 0; r < all.ranks(); ++r)
      if (heard.size() != static_cast<std::size_t>(all.ranks()) ||
          heard[static_cast<std::size_t>(r)] != says(r, round))
        throw std::runtime_error("heard something else");
    if (how == "die" && round == 1 && all.rank() == 1) std::_Exit(3);
  }
  std::printf("%s: heard %d\n", motet::describe(by).c_str(), all.ranks());
  std::fflush(stdout);
  while (how == "stay" && !asked.asked()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return how == "stay" ? asked.exit_code() : 0;
}

}  // namespace

int main(int count, char** words) {
  const std::string how = count > 1 ? words[1] : "well";
  if (how == "port") {
    std::printf("%d\n", free_port());
    return 0;
  }
  try {
    return meet(how, count > 2 ? std::atof(words[2]) : 20);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return motet::exit_code_of(problem).status;
  }
}
