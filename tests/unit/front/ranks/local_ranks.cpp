// SPDX-License-Identifier: Apache-2.0
#include <motet/front/ranks/local_ranks.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

// The exit code of ranks that are started here, each of which does as told and ends with what that gives.
template <class Rank>
int run(std::int32_t nodes, std::int32_t node, const environment& of, Rank&& rank) {
  launched by{.by = launcher::elastic, .rank = 3 * node, .ranks = 3 * nodes, .nodes = nodes, .why = {}};
  by.to_start = 3;
  const std::optional<int> ended = start_local_ranks(by, of, 0.3);
  if (!ended) std::_Exit(rank(find_launch(read_environment()), read_environment()));
  return *ended;
}
int wait_in_vain() {
  ::sleep(20);
  return 99;
}

TEST_CASE("where nothing is to be started the program goes on") {
  CHECK_FALSE(start_local_ranks(launched{}, {}).has_value());
  CHECK(count_gpus() >= 0);
}

TEST_CASE("each rank finds itself, and where all meet") {
  const int ended = run(1, 0, {{"PET_MASTER_ADDR", "elsewhere"}, {"PET_MASTER_PORT", "1234"}},
                        [](const launched& it, const environment& of) {
                          const rendezvous_options at = rendezvous_of(it, of);
                          const bool good = it.by == launcher::torchrun && it.ranks == 3 && it.nodes == 1 &&
                                            it.rank == it.local_rank && at.address == "127.0.0.1" &&
                                            at.port == 1235 && at.token.size() == 32;
                          return good ? 0 : 1;
                        });
  CHECK(ended == 0);
}

TEST_CASE("of several machines, with the address and the token that were given") {
  const int ended = run(2, 1, {{"PET_MASTER_ADDR", "node0"}, {"MOTET_TOKEN", "ours"}},
                        [](const launched& it, const environment& of) {
                          const bool good = it.rank == 3 + it.local_rank && it.ranks == 6 && it.nodes == 2 &&
                                            of.at("MASTER_ADDR") == "node0" && !of.contains("MOTET_TOKEN");
                          return good ? 0 : 1;
                        });
  CHECK(ended == 0);
}

TEST_CASE("the first that fails gives the exit code; others that wait are ended") {
  CHECK(run(1, 0, {},
            [](const launched& it, const environment&) { return it.rank == 1 ? 7 : wait_in_vain(); }) == 7);
}

TEST_CASE("who lost another rank does not say why, whoever is seen first") {
  const auto ends = [](int first, int second) {
    return run(1, 0, {}, [=](const launched& it, const environment&) {
      if (it.rank == 2) return first;
      if (it.rank == 1) ::usleep(150'000);
      return it.rank == 1 ? second : wait_in_vain();
    });
  };
  CHECK(ends(exit_peer_lost.status, 3) == 3);
  CHECK(ends(3, exit_peer_lost.status) == 3);
  CHECK(ends(exit_peer_lost.status, exit_peer_lost.status) == exit_peer_lost.status);
}

TEST_CASE("a rank that a signal ends counts as one that failed") {
  CHECK(run(1, 0, {}, [](const launched& it, const environment&) {
          if (it.rank == 2) ::raise(SIGKILL);
          return wait_in_vain();
        }) == 128 + SIGKILL);
}

TEST_CASE("what the starting process is asked, all ranks are") {
  CHECK(run(1, 0, {}, [](const launched& it, const environment&) {
          if (it.rank == 0) ::kill(::getppid(), SIGTERM);
          return wait_in_vain();
        }) == 128 + SIGTERM);
}

}  // namespace
