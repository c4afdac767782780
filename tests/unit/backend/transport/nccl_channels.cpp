// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/transport/nccl_channels.hpp>

#include <doctest/doctest.h>

#include "nccl_ranks.hpp"

namespace laws = motet::laws;
namespace nccl = motet::nccl;

TEST_CASE("the messages of a pair begin in their order, those of other pairs do not wait for them") {
  const std::vector<motet::message_ends> ends{{0, 1}, {0, 1}, {1, 0}, {0, 1}};
  laws::run_nccl_ranks(2, [&](nccl::session& here) {
    motet::cuda::engine on;
    nccl::channels all(here, ends);
    const bool first = here.place().rank() == 0;
    const auto demand = [](bool holds, const char* law) {
      if (!holds) throw std::logic_error(law);
    };
    for (int step = 0; step < 2; ++step) {
      all.begin_step();
      std::vector<std::byte> text(64, static_cast<std::byte>(step + 1));
      const laws::gpu_bytes memory[] = {laws::gpu_bytes(text), laws::gpu_bytes(text), laws::gpu_bytes(text), laws::gpu_bytes(text)};
      const auto ask = [&](std::int32_t tag) { return all.ask(tag, memory[tag].data(), 64, on.stream()); };
      demand(!ask(3), "the last one waits");
      demand(all.over(), "and nothing is under way");
      demand(ask(2), "another direction does not wait");
      std::vector<std::int32_t> lacking;
      all.lacking(lacking, ends);
      demand(lacking.empty() || lacking.front() == (first ? 1 : 0), "it is known who is waited for");
      demand(ask(0), "the first one begins");
      demand(!all.begun(3) && ask(1) && all.begun(3), "with the second one begins what waited for it");
      for (std::int32_t tag = 0; tag < 4; ++tag) all.hold(tag, on.stream());
      on.finish();
      demand(all.over(), "all are over");
    }
  });
}
