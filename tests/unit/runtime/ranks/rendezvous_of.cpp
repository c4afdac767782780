// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/ranks/rendezvous_of.hpp>

#include <doctest/doctest.h>

using motet::environment;
using motet::launched;
using motet::launcher;
using motet::rendezvous_of;

TEST_CASE("ranks of one machine need to be told nothing") {
  const motet::rendezvous_options found =
      rendezvous_of({.by = launcher::slurm, .rank = 2, .ranks = 4, .nodes = 1, .why = {}}, {});
  CHECK(found.rank == 2);
  CHECK(found.ranks == 4);
  CHECK(found.address == "127.0.0.1");
  CHECK(found.token.empty());
}

TEST_CASE("address, port and token are taken from the environment; beside torchrun's store the next port") {
  const environment of{{"MASTER_ADDR", "eth0"}, {"MASTER_PORT", "1234"}, {"MOTET_TOKEN", "abc"}};
  const motet::rendezvous_options found =
      rendezvous_of({.by = launcher::slurm, .ranks = 8, .nodes = 2, .why = {}}, of);
  CHECK(found.address == "eth0");
  CHECK(found.port == 1234);
  CHECK(found.token == "abc");
  CHECK(rendezvous_of({.by = launcher::torchrun, .ranks = 8, .nodes = 2, .why = {}}, of).port == 1235);
}

TEST_CASE("what is missing or wrong is named") {
  CHECK_THROWS_WITH_AS(
      rendezvous_of({.by = launcher::slurm, .ranks = 8, .nodes = 2, .why = {}}, {}),
      doctest::Contains(
          "MASTER_ADDR, the address of rank 0, is not set, and Slurm started ranks on 2 machines"),
      motet::error);
  for (const char* port : {"0", "65536", "12a", "-1"})
    CHECK_THROWS_WITH_AS(
        rendezvous_of({.by = launcher::slurm, .ranks = 2, .nodes = 1, .why = {}}, {{"MASTER_PORT", port}}),
        doctest::Contains((std::string("MASTER_PORT is ") + port).c_str()), motet::error);
}
