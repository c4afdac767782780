// SPDX-License-Identifier: Apache-2.0
// Ranks of MPI of which one fails in the way that the first word says: what the others do is looked at by tests/programs/mpi_failure.sh.
#include <motet/backend/transport/mpi_group.hpp>
#include <motet/runtime/launch.hpp>

#include <csignal>
#include <string_view>

using namespace motet;

namespace {

// A ring of messages and a sum in each step, in which rank 1 fails.
int train(mpi::session& here, std::string_view how) {
  const std::int32_t ranks = here.ranks(), me = here.rank(), next = (me + 1) % ranks, before = (me + ranks - 1) % ranks;
  std::vector<std::vector<std::int32_t>> all(1);
  for (std::int32_t r = 0; r < ranks; ++r) all[0].push_back(r);
  std::vector<float> sum(100000, 1.0f);
  std::vector<std::byte> from(300000), to(from.size());
  const auto bytes = static_cast<motet::index>(from.size());
  mpi::world world(ranks, ranks, {});
  mpi::endpoint end(world, me);
  mpi::group_set set(world, all);
  mpi::group group(set, 0, end);
  std::jthread watch;
  for (int step = 0; step < 50; ++step) {
    end.begin_step();
    if (step == 20 && me == 1) {
      if (how == "throw") fail(mpi_failed, "rank 1 broke in step 20");
      if (how == "kill") std::raise(SIGKILL);
      // Not before rank 2 is there.
      if (how == "deaf") std::this_thread::sleep_for(std::chrono::milliseconds(700));
      if (how == "deaf") fail(mpi_failed, "rank 1 broke, and rank 2 does not listen");
    }
    if (step == 20 && me == 2 && how == "deaf") std::this_thread::sleep_for(std::chrono::seconds(60));
    end.send(me, next, from.data(), bytes);
    for (bool received = false, sent = false; !received || !sent;) {
      const std::uint32_t seen = end.observe();
      received = received || end.receive(before, before, to.data(), bytes);
      sent = sent || end.sent(me);
      if (!received || !sent) end.pause(seen);
    }
    if (step == 20 && me == 1) {
      if (how == "stuck") {
        watch = std::jthread([&] {
          std::this_thread::sleep_for(std::chrono::milliseconds(300));
          world.stop("nothing moved for 0.3 s");
        });
        for (;;) end.pause(end.observe());
      }
      if (how == "short") group.wait(group.barrier());
    }
    group.wait(group.all_reduce_sum(sum.data(), 100000));
  }
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::string_view how = count > 1 ? words[1] : "";
  try {
    const launched as = find_launch(read_environment(), {.processes = how != "alone"});
    if (as.rank == 0) std::printf("%s\n", describe(as).c_str());
    return mpi::run({.rank = as.rank, .ranks = as.ranks, .patience = 2}, [&](mpi::session& here) { return train(here, how); });
  } catch (const error& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 2;
  }
}
