// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/transport/nccl/nccl_session.hpp>

#include <doctest/doctest.h>

#include "nccl_ranks.hpp"

namespace laws = motet::laws;
namespace nccl = motet::nccl;

namespace {

std::string refusal(std::int32_t ranks,
                    const std::function<void(std::int32_t, nccl::session_options&)>& change,
                    const std::function<std::string(std::int32_t, std::string)>& says = {}) {
  const std::uint16_t port = laws::free_port();
  std::vector<std::string> told(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (std::int32_t r = 0; r < ranks; ++r)
    threads.emplace_back([&, r] {
      try {
        motet::rendezvous place(
            {.rank = r, .ranks = ranks, .port = port, .token = "of the tests", .seconds = 10});
        const motet::forum at(
            r, ranks, [&](const std::string& own) { return place.all_gather(says ? says(r, own) : own); });
        nccl::session_options options;
        options.local_rank = r;
        change(r, options);
        nccl::session session(at, options);
      } catch (const motet::error& problem) {
        told[static_cast<std::size_t>(r)] = problem.what();
      }
    });
  for (std::thread& each : threads) each.join();
  return told[0].empty() ? told.back() : told[0];
}

}  // namespace

TEST_CASE("ranks with a GPU each meet, and split into pairs") {
  laws::run_nccl_ranks(4, [](nccl::session& here) {
    if (&nccl::session::here() != &here) throw std::logic_error("the session of a thread is its own");
    if (here.all().size() != 4) throw std::logic_error("all ranks are in");
    const auto made = here.split({{0, 1}, {1, 2}, {3, 2}, {0, 1, 2, 3}});
    const std::int32_t me = here.everyone().rank();
    const bool in[] = {me < 2, me == 1 || me == 2, me > 1, true};
    for (std::size_t s = 0; s < 4; ++s)
      if (static_cast<bool>(made[s]) != in[s] || (in[s] && made[s].size() != (s == 3 ? 4 : 2)))
        throw std::logic_error("each set has its members");
  });
}

TEST_CASE("two ranks with one GPU, other versions and too few GPUs are refused") {
  const std::string twice =
      refusal(2, [](std::int32_t, nccl::session_options& options) { options.local_rank = 0; });
  CHECK(twice.find("ranks 0 and 1 both have the GPU at ") != std::string::npos);
  CHECK(twice.find("[MT-B16]") != std::string::npos);
  const std::string few =
      refusal(1, [](std::int32_t, nccl::session_options& options) { options.local_rank = 64; });
  CHECK(few.find("rank 0 is number 64 on this machine, where") != std::string::npos);
  if (!laws::has_gpus(2)) return;
  const std::string versions = refusal(
      2, [](auto, auto&) {},
      [](std::int32_t rank, std::string own) {
        return rank == 1 && own == nccl::version_text(nccl::version()) ? std::string("2.18.3") : own;
      });
  CHECK(versions.find("on rank 0 and 2.18.3 on rank 1") != std::string::npos);
  CHECK(versions.find("[MT-B17]") != std::string::npos);
}

TEST_CASE("a world without a session is refused") {
  CHECK_THROWS_WITH_AS(nccl::session::here(), doctest::Contains("no nccl::session is alive"), motet::error);
}
