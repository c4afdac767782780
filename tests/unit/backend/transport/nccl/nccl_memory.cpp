// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/transport/nccl/nccl_memory.hpp>

#include <doctest/doctest.h>

#include "nccl_ranks.hpp"
#include "transport_laws.hpp"

namespace laws = motet::laws;
namespace nccl = motet::nccl;
using laws::demand;

TEST_CASE("memory is known while it is kept, to each communicator by itself") {
  laws::run_nccl_ranks(2, [](nccl::session& here) {
    const auto pairs = here.split({{0, 1}, {1, 0}});
    nccl::kept_memory all;
    {
      const laws::gpu_bytes one(std::size_t{1000}), two(std::size_t{64});
      const auto a = all.keep(pairs[0], one.data(), 1000), b = all.keep(pairs[1], one.data() + 10, 500),
                 c = all.keep(pairs[0], two.data(), 64);
      demand(a && b && c, "NCCL takes it");
      demand(all.describe() == "3 buffers of 1564 bytes are registered with NCCL", "it is told what is kept");
      demand(all.keep(pairs[0], nullptr, 0) == nullptr, "of nothing nothing is kept");
      demand(all.keep(nccl::communicator(), one.data(), 10) == nullptr,
             "and nothing for ranks that do not talk");
      demand(all.refused() == 0, "neither of which is a refusal");
    }
    demand(all.describe() == "0 buffers of 0 bytes are registered with NCCL",
           "it is forgotten with its keeper");
  });
}

TEST_CASE("all do without when that is decided, and from then on") {
  laws::run_nccl_ranks(1, [](nccl::session& here) {
    const auto own = here.split({{0}});
    const laws::gpu_bytes one(std::size_t{100}), two(std::size_t{100});
    nccl::kept_memory all;
    const auto kept = all.keep(own[0], one.data(), 100);
    all.turn_off();
    demand(all.keep(own[0], two.data(), 100) == nullptr, "nothing more is kept");
    demand(all.describe() == "no memory is registered with NCCL: another rank could not", "and it is told");
  });
}

#if !defined(__CUDACC__)
TEST_CASE("a refusal is no error, and is told") {
  laws::run_nccl_ranks(1, [](nccl::session& here) {
    const auto own = here.split({{0}});
    const laws::gpu_bytes one(std::size_t{100});
    nccl::kept_memory all;
    motet::emulation::refuse("ncclCommRegister", cudaErrorUnknown);
    demand(all.keep(own[0], one.data(), 100) == nullptr && all.refused() == 1, "NCCL refused it");
    all.turn_off();
    demand(all.describe() == "no memory is registered with NCCL: an error of the fake", "why is told");
    const auto said = motet::warnings::of_process().said();
    demand(said.size() == 1 && said[0] ==
                                   "motet: NCCL copies messages and sums once more, as it could not register "
                                   "their memory: 100 bytes: an error of the "
                                   "fake. NCCL_DEBUG=INFO says more, NCCL_LOCAL_REGISTER=0 does without; "
                                   "MOTET_QUIET=1 says nothing [MT-B39]",
           "once, as a warning");
  });
}
#endif
