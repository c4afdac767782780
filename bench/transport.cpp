// SPDX-License-Identifier: Apache-2.0
// Collectives of the transports: between threads beside a memcpy of as many bytes by all of them at once,
// between processes beside the plain calls of MPI, in turns. The faster quarter of each counts; a ratio above
// 1 says that ours is faster.
//
//   bench_transport [--ranks 2] [--most-mib 64] [flags of Google Benchmark]
//   mpirun -n 2 bench_transport [--most-mib 64] [flags of Google Benchmark]
#include "suite.hpp"

#include <motet/backend/transport/local/local_group.hpp>
#include <motet/runtime/ranks/launch.hpp>
#include <motet/tensor/arena.hpp>
#if defined(MOTET_HAS_MPI)
#include <motet/backend/transport/mpi/mpi_group.hpp>
#endif

#include <barrier>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>

#include <sched.h>

namespace {

using motet::bf16;
using motet::buffer;
using count = motet::isize;

// Memory of one rank: what it has, what it gets, and another of each for the calls compared with.
struct room {
  buffer<std::byte> from, to, other;
  room(count bytes, count ranks) : from(bytes * ranks), to(bytes * ranks), other(bytes * ranks) {
    for (buffer<std::byte>* each : {&from, &to, &other})
      std::memset(each->data(), 0, static_cast<std::size_t>(bytes * ranks));
  }
};

// One collective of ours: how a member calls it, and how many bytes it then reads or writes at the least, as
// a fraction of what all copy at once.
template <class Group>
struct ours {
  const char* name;
  std::function<motet::ticket(Group&, room&, count bytes)> call;
  std::function<double(double bytes, double ranks)> moved;  // bytes that each member has to copy
};
std::vector<count> even(count whole, count parts, count unit) {
  return std::vector<count>(static_cast<std::size_t>(parts), whole / parts / unit);
}

template <class Group>
std::vector<ours<Group>> all_of_ours() {
  const auto sum_parts = [](Group& g, count bytes) -> const std::vector<count>& {
    thread_local std::vector<count> all;
    return all = even(bytes, g.size(), 4);
  };
  const auto byte_parts = [](Group& g, count bytes) -> const std::vector<count>& {
    thread_local std::vector<count> all;
    return all = std::vector<count>(static_cast<std::size_t>(g.size()), bytes);
  };
  return {
      {"all_reduce_sum float",
       [](Group& g, room& m, count bytes) {
         return g.all_reduce_sum(reinterpret_cast<float*>(m.to.data()), bytes / 4);
       },
       [](double bytes, double) { return bytes; }},
      {"all_reduce_sum bf16",
       [](Group& g, room& m, count bytes) {
         return g.all_reduce_sum(reinterpret_cast<bf16*>(m.to.data()), bytes / 2);
       },
       [](double bytes, double) { return bytes; }},
      {"reduce_scatter_sum float",
       [=](Group& g, room& m, count bytes) {
         return g.reduce_scatter_sum(reinterpret_cast<const float*>(m.from.data()),
                                     reinterpret_cast<float*>(m.to.data()), sum_parts(g, bytes));
       },
       [](double bytes, double ranks) { return (bytes + bytes / ranks) / 2; }},
      {"all_gather",
       [=](Group& g, room& m, count bytes) {
         return g.all_gather(m.from.data(), m.to.data(), byte_parts(g, bytes));
       },
       [](double bytes, double ranks) { return bytes * ranks; }},
      {"all_to_all",
       [=](Group& g, room& m, count bytes) {
         const auto& all = byte_parts(g, bytes / g.size());
         return g.all_to_all(m.from.data(), all, m.to.data(), all);
       },
       [](double bytes, double) { return bytes; }},
      {"broadcast", [](Group& g, room& m, count bytes) { return g.broadcast(m.to.data(), bytes, 0); },
       [](double bytes, double) { return bytes; }},
  };
}

// `moved` bytes are what each rank has to copy at the least.
void tell(benchmark::State& state, double moved, const bench::series& own, const bench::series& peer) {
  auto& row = state.counters;
  row["own_us"] = 1e6 * own.quarter();
  row["peer_us"] = 1e6 * peer.quarter();
  row["own_bytes_per_second"] = moved / own.quarter();
  row["peer_bytes_per_second"] = moved / peer.quarter();
  row["ratio"] = peer.quarter() / own.quarter();
  row["best_ratio"] = peer.least() / own.least();
}
std::string name_of(const char* transport, const std::string& collective, count bytes) {
  return std::string(transport) + "/" + collective + "/kib:" + std::to_string(bytes / 1024);
}
std::vector<std::vector<std::int32_t>> everyone(std::int32_t ranks) {
  std::vector<std::vector<std::int32_t>> out(1, std::vector<std::int32_t>(static_cast<std::size_t>(ranks)));
  std::iota(out[0].begin(), out[0].end(), 0);
  return out;
}

// Two threads that share a processor would measure the scheduler: this one stays on one of those that it may
// run on, until the end of the scope.
class pinned {
 public:
  explicit pinned(int number) {
    cpu_set_t one;
    CPU_ZERO(&before_);
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof(before_), &before_) != 0) return;
    for (int cpu = 0, left = number % CPU_COUNT(&before_); cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &before_) && left-- == 0) CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof(one), &one);
  }
  ~pinned() { sched_setaffinity(0, sizeof(before_), &before_); }
  pinned(const pinned&) = delete;
  pinned& operator=(const pinned&) = delete;

 private:
  cpu_set_t before_;
};

// A meeting is what the threads of one run share.
struct meeting {
  motet::local::world all;
  motet::local::group_set set;
  std::vector<room*> rooms;
  std::barrier<> together;
  explicit meeting(std::int32_t ranks)
      : all(ranks, 0, {}),
        set(all, everyone(ranks)),
        rooms(static_cast<std::size_t>(ranks)),
        together(ranks) {}
};
std::unique_ptr<meeting> here;

void between_threads(benchmark::State& state, const ours<motet::local::group>& it, count bytes) {
  const int rank = state.thread_index(), ranks = state.threads();
  const pinned processor(rank);
  motet::local::endpoint end(here->all, rank);
  motet::local::group own(here->set, 0, end);
  room memory(bytes, ranks);
  here->rooms[static_cast<std::size_t>(rank)] = &memory;
  const double moved = it.moved(static_cast<double>(bytes), ranks);
  bench::series call, copy;
  for (auto _ : state) {
    here->together.arrive_and_wait();
    // Each copies what the neighbour has, as far as memory goes, so that both have to fetch from another
    // processor.
    const room& neighbour = *here->rooms[static_cast<std::size_t>((rank + 1) % ranks)];
    copy.take([&] {
      std::memcpy(memory.other.data(), neighbour.from.data(), static_cast<std::size_t>(moved));
      here->together.arrive_and_wait();
    });
    state.SetIterationTime(call.take([&] {
      own.wait(it.call(own, memory, bytes));
      here->together.arrive_and_wait();
    }));
  }
  if (rank == 0) tell(state, moved, call, copy);
}

int threads(int words, char** word) {
  count ranks = 2, most_mib = 64;
  motet::options line("bench_transport",
                      "collectives beside memcpy, or under mpirun beside the plain calls of MPI");
  line.count("--ranks", ranks, 1, "threads");
  line.count("--most-mib", most_mib, 1, "of a collective");
  return bench::run(words, word, line, [&] {
    for (const auto& it : all_of_ours<motet::local::group>())
      for (count bytes = count{1} << 20; bytes <= most_mib << 20; bytes *= 4)
        bench::add(name_of("local", it.name, bytes), between_threads, it, bytes)
            ->Threads(static_cast<int>(ranks))
            ->Setup([](const benchmark::State& state) { here = std::make_unique<meeting>(state.threads()); })
            ->Teardown([](const benchmark::State&) { here.reset(); })
            ->Unit(benchmark::kMicrosecond);
  });
}

#if defined(MOTET_HAS_MPI)
// The plain call that does the same.
void plain(std::size_t which, room& m, count bytes, int ranks) {
  const auto size = static_cast<int>(bytes), floats = size / 4;
  std::vector<int> parts(static_cast<std::size_t>(ranks)), starts(parts.size());
  const auto split = [&](int part) {
    for (int r = 0; r < ranks; ++r) {
      parts[static_cast<std::size_t>(r)] = part;
      starts[static_cast<std::size_t>(r)] = r * part;
    }
  };
  switch (which) {
    case 0: MPI_Allreduce(MPI_IN_PLACE, m.to.data(), floats, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); break;
    case 2:
      split(floats / ranks);
      MPI_Reduce_scatter(m.from.data(), m.to.data(), parts.data(), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      break;
    case 3:
      split(size);
      MPI_Allgatherv(m.from.data(), size, MPI_BYTE, m.to.data(), parts.data(), starts.data(), MPI_BYTE,
                     MPI_COMM_WORLD);
      break;
    case 4:
      split(size / ranks);
      MPI_Alltoallv(m.from.data(), parts.data(), starts.data(), MPI_BYTE, m.to.data(), parts.data(),
                    starts.data(), MPI_BYTE, MPI_COMM_WORLD);
      break;
    default: MPI_Bcast(m.to.data(), size, MPI_BYTE, 0, MPI_COMM_WORLD); break;
  }
}

// The slowest rank counts, and all ranks hear of it: so all of them do as many iterations.
template <class Call>
double slowest(Call&& call) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = bench::wall_seconds();
  call();
  double seconds = bench::wall_seconds() - start;
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

void between_processes(benchmark::State& state, motet::mpi::session& session, std::size_t which,
                       const ours<motet::mpi::group>& it, count bytes) {
  using namespace motet::mpi;
  room memory(bytes, session.ranks());
  world all(session.ranks(), 0, {});
  endpoint end(all, session.rank());
  group_set set(all, everyone(session.ranks()), {.in_flight = 1, .sum_bytes = bytes});
  group own(set, 0, end);
  bench::series call, other;
  bool first = false;  // who comes first takes turns, too
  for (auto _ : state) {
    first = !first;
    if (first) call.add(slowest([&] { own.wait(it.call(own, memory, bytes)); }));
    other.add(slowest([&] { plain(which, memory, bytes, session.ranks()); }));
    if (!first) call.add(slowest([&] { own.wait(it.call(own, memory, bytes)); }));
    state.SetIterationTime(call.last());
  }
  tell(state, it.moved(static_cast<double>(bytes), session.ranks()), call, other);
}

int processes(int words, char** word, motet::mpi::session& session) {
  count most_mib = 64;
  motet::options line("bench_transport", "collectives beside the plain calls of MPI");
  line.count("--most-mib", most_mib, 1, "of a collective");
  const auto declare = [&] {
    const auto collectives = all_of_ours<motet::mpi::group>();
    for (std::size_t c = 0; c < collectives.size(); ++c) {
      if (c == 1) continue;  // MPI has no bf16
      for (count bytes = count{1} << 18; bytes <= most_mib << 20; bytes *= 4)
        bench::add(name_of("mpi", collectives[c].name, bytes) + "/ranks:" + std::to_string(session.ranks()),
                   [&session, c, it = collectives[c], bytes](benchmark::State& state) {
                     between_processes(state, session, c, it, bytes);
                   })
            ->Unit(benchmark::kMicrosecond);
    }
  };
  return bench::run(words, word, line, declare, session.rank() == 0);
}
#endif

}  // namespace

int main(int words, char** word) {
  const motet::launched as = motet::find_launch(motet::read_environment());
  if (as.by == motet::launcher::none) return threads(words, word);
#if defined(MOTET_HAS_MPI)
  return motet::mpi::run({.rank = as.rank, .ranks = as.ranks},
                         [&](motet::mpi::session& session) { return processes(words, word, session); });
#else
  std::fprintf(stderr, "built without MPI\n");
  return 2;
#endif
}
