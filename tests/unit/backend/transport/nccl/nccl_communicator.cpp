// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/transport/nccl/nccl_communicator.hpp>

#include <doctest/doctest.h>

#include "nccl_ranks.hpp"

namespace laws = motet::laws;
namespace nccl = motet::nccl;

TEST_CASE("versions are told as people write them") {
  CHECK(nccl::version_text(22809) == "2.28.9");
  CHECK(nccl::version_text(21805) == "2.18.5");
}

TEST_CASE("what NCCL refuses is an error with the call's name") {
  CHECK_NOTHROW(nccl::check(ncclInProgress, "ncclSend"));
  CHECK_THROWS_WITH_AS(nccl::check(ncclInvalidUsage, "ncclSend"), doctest::Contains("NCCL's ncclSend: "),
                       motet::error);
}

TEST_CASE("a communicator that not all ranks make is given up in time") {
  const auto make = [] {
    ncclUniqueId id;
    nccl::check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    int looked = 0;
    nccl::waiting patience{.seconds = 0.2, .meanwhile = [&] { ++looked; }};
    try {
      nccl::communicator alone(id, 0, 2, patience);
    } catch (...) {
      CHECK(looked > 0);
      throw;
    }
  };
  CHECK_THROWS_WITH_AS(make(), doctest::Contains("is not done after 0.2"), motet::error);
}

TEST_CASE("sets that share ranks are split off one after the other, in the order of their members") {
  laws::run_nccl_ranks(3, [](nccl::session& here) {
    const std::int32_t me = here.everyone().rank();
    const std::vector<std::vector<std::int32_t>> sets{{2, 0}, {0, 1}, {1, 2}, {1}};
    const auto made = nccl::split_off(here.all(), me, sets, 1, here.patience());
    for (std::size_t s = 0; s < sets.size(); ++s) {
      const auto at = std::find(sets[s].begin(), sets[s].end(), me);
      if (static_cast<bool>(made[s]) != (at != sets[s].end()))
        throw std::logic_error("members have it, others do not");
      if (!made[s]) continue;
      int rank = -1;
      nccl::check(ncclCommUserRank(made[s].get(), &rank), "ncclCommUserRank");
      if (rank != at - sets[s].begin()) throw std::logic_error("ranks are as the set says");
    }
  });
}
