// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/transport/nccl/nccl.hpp>
#include <motet/backend/transport/nccl/nccl_group.hpp>

#include <doctest/doctest.h>

#include "nccl_ranks.hpp"
#include "transport_laws.hpp"

namespace laws = motet::laws;
namespace nccl = motet::nccl;
using laws::demand;
using motet::byte_range;
using motet::message_ends;
using size_list = std::vector<motet::isize>;

namespace {

std::vector<std::byte> text(std::int32_t tag, int step, motet::isize bytes) {
  return laws::message_text(tag, step, bytes);
}

}  // namespace

TEST_CASE("messages arrive as they left, in whatever order the receiver asks") {
  const size_list sizes{1, 0, 64, 3, 100000, 0, 4097, 12};
  const std::vector<message_ends> ends(sizes.size(), {0, 1});
  laws::run_nccl_ranks(2, [&](nccl::session&) {
    nccl::world world(2, ends, {});
    nccl::endpoint end(world, world.rank());
    for (int step = 0; step < 3; ++step) {
      end.begin_step();
      std::vector<laws::gpu_bytes> all;
      for (std::size_t t = 0; t < sizes.size(); ++t)
        all.emplace_back(world.rank() == 0 ? text(static_cast<std::int32_t>(t), step, sizes[t])
                                           : std::vector<std::byte>(static_cast<std::size_t>(sizes[t]) + 1));
      const auto count = static_cast<std::int32_t>(sizes.size());
      const auto size = [&](std::int32_t t) { return sizes[static_cast<std::size_t>(t)]; };
      const auto at = [&](std::int32_t t) { return all[static_cast<std::size_t>(t)].data(); };
      if (world.rank() == 0) {
        for (std::int32_t t = 0; t < count; ++t) end.send(t, 1, at(t), size(t));
        for (std::int32_t t = 0; t < count; ++t) laws::until(end, [&] { return end.sent(t); });
      } else {
        // A message that is asked for early waits for its turn.
        for (std::int32_t t = count; t-- > 1;)
          demand(!end.receive(t, 0, at(t), size(t)), "messages of a pair begin in their order");
        for (std::int32_t t = 0; t < count; ++t)
          laws::until(end, [&] { return end.receive(t, 0, at(t), size(t)); });
        for (std::int32_t t = 0; t < count; ++t) {
          auto got = all[static_cast<std::size_t>(t)].back(end.on());
          demand(got.back() == std::byte{}, "no more is written than was sent");
          got.pop_back();
          demand(got == text(t, step, size(t)), "rows arrive as they left");
        }
      }
      end.finish_step();
    }
  });
}

TEST_CASE("a buffer is sent as it was when it was given, and may be used again when it was sent") {
  const std::vector<message_ends> ends(20, {0, 1});
  laws::run_nccl_ranks(2, [&](nccl::session&) {
    nccl::world world(2, ends, {});
    nccl::endpoint end(world, world.rank());
    const motet::isize bytes = 5000;
    std::vector<std::vector<std::byte>> texts;
    for (std::int32_t t = 0; t < 20; ++t) texts.push_back(text(t, 0, bytes));
    laws::gpu_bytes one(static_cast<std::size_t>(bytes));
    std::vector<laws::gpu_bytes> got;
    for (int t = 0; t < 20; ++t) got.emplace_back(static_cast<std::size_t>(bytes));
    std::vector<laws::gpu_bytes> sources;
    for (const auto& each : texts) sources.emplace_back(each);
    end.begin_step();
    for (std::int32_t t = 0; t < 20; ++t) {
      const auto which = static_cast<std::size_t>(t);
      if (world.rank() == 0) {
        // Nobody waits for the GPU in between.
        motet::cuda::check(cudaMemcpyAsync(one.data(), sources[which].data(), static_cast<std::size_t>(bytes),
                                           cudaMemcpyDeviceToDevice, end.on().stream()),
                           "cudaMemcpyAsync");
        end.send(t, 1, one.data(), bytes);
        laws::until(end, [&] { return end.sent(t); });
      } else {
        laws::until(end, [&] { return end.receive(t, 0, one.data(), bytes); });
        motet::cuda::check(cudaMemcpyAsync(got[which].data(), one.data(), static_cast<std::size_t>(bytes),
                                           cudaMemcpyDeviceToDevice, end.on().stream()),
                           "cudaMemcpyAsync");
      }
    }
    end.finish_step();
    for (std::size_t t = 0; t < 20 && world.rank() == 1; ++t)
      demand(got[t].back(end.on()) == texts[t], "each message is what its buffer held");
  });
}

TEST_CASE("rings and pairs that talk both ways keep nobody waiting") {
  constexpr std::int32_t ranks = 4;
  std::vector<message_ends> ends;
  for (std::int32_t round = 0; round < 5; ++round)
    for (std::int32_t r = 0; r < ranks; ++r) {
      ends.push_back({r, (r + 1) % ranks});
      ends.push_back({r, (r + ranks - 1) % ranks});
    }
  laws::run_nccl_ranks(ranks, [&](nccl::session&) {
    nccl::world world(ranks, ends, {});
    nccl::endpoint end(world, world.rank());
    end.begin_step();
    const motet::isize bytes = 777;
    std::vector<std::unique_ptr<laws::gpu_bytes>> kept;
    std::vector<std::pair<std::int32_t, laws::gpu_bytes*>> came;
    for (std::int32_t t = 0; t < static_cast<std::int32_t>(ends.size()); ++t) {
      const message_ends& of = ends[static_cast<std::size_t>(t)];
      if (of.from == world.rank()) {
        kept.push_back(std::make_unique<laws::gpu_bytes>(text(t, 0, bytes)));
        end.send(t, of.to, kept.back()->data(), bytes);
      } else if (of.to == world.rank()) {
        kept.push_back(std::make_unique<laws::gpu_bytes>(static_cast<std::size_t>(bytes)));
        came.push_back({t, kept.back().get()});
        laws::until(end, [&] { return end.receive(t, of.from, kept.back()->data(), bytes); });
      }
    }
    end.finish_step();
    for (const auto& [t, memory] : came)
      demand(memory->back(end.on()) == text(t, 0, bytes), "each gets what was sent to it");
  });
}

TEST_CASE("meetings bring numbers, ranges, and rows that are fetched") {
  const laws::meeting_list meetings{{0, 1, 2}, {0, 2}, {0, 1, 2}, {1}, {0, 1, 2}};
  laws::run_nccl_ranks(3, [&](nccl::session&) {
    nccl::world world(3, {}, meetings);
    nccl::endpoint end(world, world.rank());
    const std::int32_t me = world.rank();
    for (int step = 0; step < 3; ++step) {
      end.begin_step();
      const double own[2] = {me + 10.0 * step, -1.0 * me};
      double all[6] = {};
      laws::until(end, [&] {
        return end.gather(0, me, reinterpret_cast<const std::byte*>(own), sizeof own,
                          reinterpret_cast<std::byte*>(all));
      });
      for (int r = 0; r < 3; ++r)
        demand(all[2 * r] == r + 10.0 * step && all[2 * r + 1] == -1.0 * r,
               "numbers of all, in the order of members");

      // Member a gives b so many bytes: 100 a + b + 1, none from 1 to 2.
      const auto bytes = [](std::int32_t a, std::int32_t b) {
        return a == 1 && b == 2 ? motet::isize{0} : motet::isize{100 * a + b + 1};
      };
      std::vector<std::byte> mine;
      std::vector<byte_range> out(3), in(3);
      motet::isize end_of_in = 0;
      for (std::int32_t m = 0; m < 3; ++m) {
        const auto part = text(10 * me + m, step, bytes(me, m));
        out[static_cast<std::size_t>(m)] = {static_cast<motet::isize>(mine.size()), bytes(me, m)};
        mine.insert(mine.end(), part.begin(), part.end());
        in[static_cast<std::size_t>(m)] = {end_of_in, bytes(m, me)};
        end_of_in += bytes(m, me);
      }
      const laws::gpu_bytes from(mine), to(static_cast<std::size_t>(end_of_in));
      laws::until(end, [&] { return end.exchange(2, me, from.data(), out, to.data(), in); });
      const auto got = to.back(end.on());
      for (std::int32_t m = 0; m < 3; ++m) {
        const byte_range range = in[static_cast<std::size_t>(m)];
        demand(std::vector<std::byte>(got.begin() + range.offset, got.begin() + range.offset + range.bytes) ==
                   text(10 * m + me, step, bytes(m, me)),
               "each member gets its range");
      }
      // One after the other, into room for one; member 2 only shows what it has.
      const laws::gpu_bytes room(1000);
      for (std::int32_t m = 0; m < 3; ++m) {
        const motet::isize want = me == 2 ? 0 : bytes(m, me);
        laws::until(end, [&] { return end.fetch(4, me, from.data(), out, m, room.data(), want); });
        if (m == me || want == 0) continue;
        auto fetched = room.back(end.on());
        fetched.resize(static_cast<std::size_t>(want));
        demand(fetched == text(10 * m + me, step, want), "what is fetched is what that member shows");
      }
      end.finish_step();
    }
  });
}

TEST_CASE("a rank that fails ends the waits of one that it told, and a wait that lasts too long is watched") {
  const std::vector<message_ends> ends(1, {0, 1});
  std::atomic<int> stopped{0};
  const bool ran = laws::run_nccl_ranks(2, [&](nccl::session&) {
    nccl::world world(2, ends, {});
    nccl::endpoint end(world, world.rank());
    end.begin_step();
    if (world.rank() == 0) return world.stop("the test wants it");
    const laws::gpu_bytes to(8);
    world.watch_waits([&](double seconds) {
      if (seconds > 0.2) world.stop("nothing comes");
    });
    demand(end.receive(0, 0, to.data(), 8), "a receive is under way at once");
    // Once its own work before the receive is through.
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (world.lacking().empty() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    demand(world.lacking() == std::vector<std::int32_t>{0}, "it is known whom it waits for");
    try {
      end.finish_step();
    } catch (const nccl::stopped& why) {
      demand(why.why == "rank 1 stopped because nothing comes", "why it stopped is told");
      ++stopped;
    }
  });
  CHECK(stopped == (ran ? 1 : 0));
}
