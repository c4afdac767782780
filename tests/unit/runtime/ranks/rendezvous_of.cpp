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

TEST_CASE("launchers of pods have names of their own for it, and may not contradict what is set beside") {
  const auto place = [](launcher by, const environment& of) {
    const motet::rendezvous_options found = rendezvous_of({.by = by, .ranks = 8, .nodes = 2, .why = {}}, of);
    return found.address + " " + std::to_string(found.port);
  };
  const environment pet{{"PET_MASTER_ADDR", "pod0"}, {"PET_MASTER_PORT", "29400"}};
  CHECK(place(launcher::elastic, pet) == "pod0 29400");
  CHECK(place(launcher::jax, {{"JAX_COORDINATOR_ADDRESS", "pod1:6666"}}) == "pod1 6666");
  CHECK(place(launcher::jax, {{"JAX_COORDINATOR_ADDRESS", "pod1"}, {"MASTER_PORT", "7"}}) == "pod1 7");
  CHECK(place(launcher::kubernetes, {{"MASTER_ADDR", "pod2"}}) == "pod2 29500");
  environment both = pet;
  both["MASTER_ADDR"] = "pod0";
  CHECK(place(launcher::elastic, both) == "pod0 29400");
  both["MASTER_ADDR"] = "pod9";
  CHECK_THROWS_WITH_AS(place(launcher::elastic, both),
                       doctest::Contains("MASTER_ADDR is pod9, PET_MASTER_ADDR says pod0"), motet::error);
  CHECK(place(launcher::torchrun, both) == "pod9 29500");  // torchrun in a pod has its own
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
