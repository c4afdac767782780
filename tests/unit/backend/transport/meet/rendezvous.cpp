// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/transport/meet/rendezvous.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <functional>

#include "laws/free_port.hpp"

namespace {

using motet::rendezvous;
using motet::rendezvous_options;
using motet::laws::free_port;

void on_threads(std::int32_t ranks, const std::function<void(std::int32_t)>& body) {
  std::vector<std::thread> all;
  for (std::int32_t r = 0; r < ranks; ++r) all.emplace_back(body, r);
  for (auto& each : all) each.join();
}
// Returns what a call says when it refuses; empty: it does not.
template <class Call>
std::string refusal(Call&& call) {
  try {
    call();
  } catch (const motet::error& problem) {
    return problem.what();
  }
  return {};
}
void wait_until(const std::atomic<bool>& it) {
  const motet::tcp::deadline until(20);
  while (!it && !until.over()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}
rendezvous_options place(std::int32_t rank, std::int32_t ranks, std::uint16_t port) {
  return {.rank = rank, .ranks = ranks, .port = port, .token = "only we know this one", .seconds = 20};
}

}  // namespace

TEST_CASE("ranks meet, and each hears what all bring, in their order") {
  const std::uint16_t port = free_port();
  std::atomic<int> right{0};
  on_threads(5, [&](std::int32_t rank) {
    rendezvous here(place(rank, 5, port));
    for (int round = 0; round < 20; ++round) {
      const auto text = [&](std::int32_t r) {
        return std::string(static_cast<std::size_t>((r * 7919 + round * 104729) % 20011),
                           static_cast<char>('a' + r));
      };
      const std::vector<std::string> all = here.all_gather(text(rank));
      bool same = all.size() == 5;
      for (std::int32_t r = 0; r < 5; ++r) same = same && all[static_cast<std::size_t>(r)] == text(r);
      right += same;
    }
    here.barrier();
  });
  CHECK(right == 100);
}

TEST_CASE("on one machine a token is made where none is given, and nobody finds it later") {
  const std::uint16_t port = free_port();
  std::atomic<int> in{0};
  on_threads(3, [&](std::int32_t r) {
    rendezvous_options own = place(r, 3, port);
    own.token.clear();
    rendezvous here(own);
    in += here.all_gather("x").size() == 3;
  });
  CHECK(in == 3);
  CHECK(motet::token_file::read(0x7f000001, port).empty());
}

TEST_CASE("who was given no token is not let in where one was") {
  const std::uint16_t port = free_port();
  std::string refused;
  on_threads(2, [&](std::int32_t r) {
    rendezvous_options own = place(r, 2, port);
    if (r == 0) return void(rendezvous(own));
    own.token.clear();
    refused = refusal([&] { rendezvous here(own); });
    rendezvous(place(r, 2, port));  // so that rank 0 need not wait
  });
  CHECK(refused.find("did not let rank 1 of 2 in (another token, or another run)") != std::string::npos);
}

TEST_CASE("one rank meets itself") {
  rendezvous here({.rank = 0, .ranks = 1});
  CHECK(here.all_gather("alone") == std::vector<std::string>{"alone"});
}

TEST_CASE("who has another token is not let in, and keeps nobody else out") {
  const std::uint16_t port = free_port();
  std::string refused;
  std::atomic<int> in{0};
  std::atomic<bool> was_here{false};
  on_threads(3, [&](std::int32_t r) {
    rendezvous_options own = place(r, 2, port);
    if (r == 2) {
      own.rank = 1;
      own.token = "another";
      refused = refusal([&] { rendezvous here(own); });
      was_here = true;
      return;
    }
    // The stranger comes first.
    if (r == 1) wait_until(was_here);
    rendezvous here(own);
    in += here.all_gather("x").size() == 2;
  });
  CHECK(in == 2);
  CHECK(refused.find("did not let rank 1 of 2 in (another token, or another run)") != std::string::npos);
}

TEST_CASE("who speaks nonsense is sent away") {
  const std::uint16_t port = free_port();
  std::atomic<int> in{0};
  std::atomic<bool> was_here{false};
  on_threads(3, [&](std::int32_t r) {
    if (r == 2) {
      const motet::tcp::deadline until(20);
      const auto guest = motet::tcp::connect("127.0.0.1", port, until);
      guest.receive(until, "host");
      guest.send(std::string(100, '\xff'), until, "host");
      was_here = true;
      return;
    }
    if (r == 1) wait_until(was_here);
    rendezvous here(place(r, 2, port));
    in += here.all_gather("x").size() == 2;
  });
  CHECK(in == 2);
}

TEST_CASE("guests that say nothing, or half of it, keep nobody out") {
  const std::uint16_t port = free_port();
  std::atomic<int> in{0};
  std::atomic<bool> met{false}, all_sit{false};
  std::string told;
  on_threads(3, [&](std::int32_t r) {
    rendezvous_options own = place(r, 2, port);
    own.seconds = 60;  // the silent ones together could take 5 of each of them
    if (r < 2) {
      if (r == 1) wait_until(all_sit);
      rendezvous here(own);
      in += here.all_gather("x").size() == 2;
      met = in == 2;
      return;
    }
    const motet::tcp::deadline until(50);
    std::vector<motet::tcp::connection> silent;
    for (int i = 0; i < 80; ++i) silent.push_back(motet::tcp::connect("127.0.0.1", port, until));
    // Half of a message's size, and then half of a message.
    const int half[] = {0, 0, 0, 0};
    for (std::size_t i = 0; i < 10; ++i) CHECK(::send(silent[i + 60].watched().fd, half, 4 + i % 2, 0) > 0);
    all_sit = true;
    // Of too many, the first are told.
    silent[0].receive(until, "host");
    told = refusal([&] { told = silent[0].receive(until, "host"); }) + told;
    while (!met && !until.over()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  });
  CHECK(in == 2);
  CHECK(told == "late");
}

TEST_CASE("guests that come all the time do not hold rank 0 beyond its time") {
  const std::uint16_t port = free_port();
  std::string told;
  std::atomic<bool> ended{false};
  on_threads(2, [&](std::int32_t r) {
    rendezvous_options own = place(0, 2, port);
    own.seconds = 0.6;
    if (r == 0) {
      told = refusal([&] { rendezvous here(own); });
      ended = true;
      return;
    }
    const motet::tcp::deadline until(60);
    std::vector<motet::tcp::connection> all;
    while (!ended && !until.over()) {
      refusal([&] { all.push_back(motet::tcp::connect("127.0.0.1", port, motet::tcp::deadline(0))); });
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    CHECK_FALSE(until.over());
  });
  CHECK(told.find("these ranks did not come: 1, in 0.6") != std::string::npos);
}

TEST_CASE("when a rank goes away, all others are told which") {
  const std::uint16_t port = free_port();
  std::string told[4];
  on_threads(4, [&](std::int32_t r) {
    rendezvous here(place(r, 4, port));
    here.barrier();
    if (r != 2) told[r] = refusal([&] { here.all_gather("still here"); });
  });
  CHECK(told[0].find("rank 2 at 127.0.0.1") != std::string::npos);
  for (const int r : {1, 3}) CHECK(told[r].find("heard nothing from rank 2.") != std::string::npos);
}

TEST_CASE("when rank 0 goes away, the others say so") {
  const std::uint16_t port = free_port();
  std::string told[3];
  on_threads(3, [&](std::int32_t r) {
    rendezvous here(place(r, 3, port));
    here.barrier();
    if (r != 0) told[r] = refusal([&] { here.all_gather("still here"); });
  });
  for (const int r : {1, 2}) CHECK(told[r].find("rank 0 at 127.0.0.1") != std::string::npos);
}

TEST_CASE("what cannot be is refused, with who is missing") {
  const auto refused = [](rendezvous_options options) { return refusal([&] { rendezvous here(options); }); };
  rendezvous_options lonely = place(0, 3, free_port());
  lonely.seconds = 0.2;
  const std::string text = refused(lonely);
  CHECK(text.find("these ranks did not come: 1 2, in 0.2") != std::string::npos);
  CHECK(text.find("[MT-B18]") != std::string::npos);
  rendezvous_options early = place(1, 2, free_port());
  early.seconds = 0.2;
  CHECK(refused(early).find("nobody listens at 127.0.0.1") != std::string::npos);
  rendezvous_options open = place(0, 2, free_port());
  open.address = "192.0.2.1";
  open.token = "short";
  CHECK(refused(open).find("a token of at least 16 characters is wanted, got 5") != std::string::npos);
  CHECK(refused(place(2, 2, 1)).find("rank 2 of 2") != std::string::npos);
  rendezvous_options nowhere = place(0, 2, free_port());
  nowhere.address = "no such place";
  CHECK(refused(nowhere).find("neither an address nor an interface") != std::string::npos);
}
