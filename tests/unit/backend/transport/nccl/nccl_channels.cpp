// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/transport/nccl/nccl_channels.hpp>

#include <doctest/doctest.h>

#include "nccl_ranks.hpp"

namespace laws = motet::laws;
namespace nccl = motet::nccl;

TEST_CASE("the messages of a pair begin in their order, those of other pairs do not wait for them") {
  const std::vector<motet::message_ends> ends{{0, 1}, {0, 1}, {1, 0}, {0, 1}};
  laws::run_nccl_ranks(2, [&](nccl::session& here) {
    motet::cuda::engine on;
    motet::cuda::time_marks marks;
    nccl::channels all(here, ends);
    motet::cuda::event zero = motet::cuda::event::timed();
    zero.mark(on.stream());
    const bool first = here.everyone().rank() == 0;
    const auto demand = [](bool holds, const char* law) {
      if (!holds) throw std::logic_error(law);
    };
    for (int step = 0; step < 2; ++step) {
      all.begin_step();
      marks.begin_step();
      std::vector<std::byte> text(64, static_cast<std::byte>(step + 1));
      const laws::gpu_bytes memory[] = {laws::gpu_bytes(text), laws::gpu_bytes(text), laws::gpu_bytes(text),
                                        laws::gpu_bytes(text)};
      // Times are of when a message was under way, though that was later than asked for.
      const auto ask = [&](std::int32_t tag) {
        if (step == 1) marks.open(tag, on.stream());
        const bool begun = all.ask(tag, memory[tag].data(), 64, on.stream(), marks);
        begun ? marks.close(on.stream()) : marks.drop();
        return begun;
      };
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
      if (step == 0) continue;
      for (std::int32_t tag = 0; tag < 4; ++tag)
        demand(marks.seconds_of(tag) >= 0, "each message has its time");
      demand(marks.begin_of(3, zero) >= marks.end_of(1, zero),
             "the last one began behind the one that it waited for");
    }
  });
}
