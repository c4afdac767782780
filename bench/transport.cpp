// SPDX-License-Identifier: Apache-2.0
// Collectives of the transports: between threads beside a memcpy of as many bytes by all of them at once, between processes beside the plain calls of
// MPI. The two take turns. Prints one JSON line for each collective and size; a ratio above 1 says that ours is faster.
//
//   bench_transport [--ranks 2] [--seconds 0.5] [--most-mib 64]
//   mpirun -n 2 bench_transport [--seconds 0.5] [--most-mib 64]
#include <motet/backend/transport/local_group.hpp>
#include <motet/runtime/ranks/launch.hpp>
#include <motet/tensor/arena.hpp>
#if defined(MOTET_HAS_MPI)
#include <motet/backend/transport/mpi_group.hpp>
#endif

#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>

#include <sched.h>

namespace {

using motet::bf16;
using motet::buffer;
using count = motet::index;

struct settings {
  std::int32_t ranks = 2;
  double seconds = 0.5;
  count most_mib = 64;
};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
// With other programs on the machine most of the noise is in one direction: the faster quarter says what the code takes.
double quarter(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 4), values.end());
  return values[values.size() / 4];
}

// Memory of one rank: what it has, what it gets, and another of each for the calls compared with.
struct room {
  buffer<std::byte> from, to, other;
  room(count bytes, count ranks) : from(bytes * ranks), to(bytes * ranks), other(bytes * ranks) {
    for (buffer<std::byte>* each : {&from, &to, &other}) std::memset(each->data(), 0, static_cast<std::size_t>(bytes * ranks));
  }
};

// One collective of ours: how a member calls it, and how many bytes it then reads or writes at the least, as a fraction of what all copy at once.
template <class Group>
struct ours {
  const char* name;
  std::function<motet::ticket(Group&, room&, count bytes)> call;
  std::function<double(double bytes, double ranks)> moved;  // bytes that each member has to copy
};
std::vector<count> even(count whole, count parts, count unit) { return std::vector<count>(static_cast<std::size_t>(parts), whole / parts / unit); }

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
      {"all_reduce_sum float", [](Group& g, room& m, count bytes) { return g.all_reduce_sum(reinterpret_cast<float*>(m.to.data()), bytes / 4); },
       [](double bytes, double) { return bytes; }},
      {"all_reduce_sum bf16", [](Group& g, room& m, count bytes) { return g.all_reduce_sum(reinterpret_cast<bf16*>(m.to.data()), bytes / 2); },
       [](double bytes, double) { return bytes; }},
      {"reduce_scatter_sum float",
       [=](Group& g, room& m, count bytes) {
         return g.reduce_scatter_sum(reinterpret_cast<const float*>(m.from.data()), reinterpret_cast<float*>(m.to.data()), sum_parts(g, bytes));
       },
       [](double bytes, double ranks) { return (bytes + bytes / ranks) / 2; }},
      {"all_gather", [=](Group& g, room& m, count bytes) { return g.all_gather(m.from.data(), m.to.data(), byte_parts(g, bytes)); },
       [](double bytes, double ranks) { return bytes * ranks; }},
      {"all_to_all",
       [=](Group& g, room& m, count bytes) {
         const auto& all = byte_parts(g, bytes / g.size());
         return g.all_to_all(m.from.data(), all, m.to.data(), all);
       },
       [](double bytes, double) { return bytes; }},
      {"broadcast", [](Group& g, room& m, count bytes) { return g.broadcast(m.to.data(), bytes, 0); }, [](double bytes, double) { return bytes; }},
  };
}

void print(const char* transport, const char* name, count ranks, count bytes, const std::vector<double>& ours_took, const char* other,
           const std::vector<double>& other_took) {
  const double own = quarter(ours_took), theirs = quarter(other_took);
  std::printf(
      "{\"transport\": \"%s\", \"collective\": \"%s\", \"ranks\": %td, \"kib\": %td, \"ours_us\": %.1f, \"%s_us\": %.1f, \"ratio\": %.3f, "
      "\"best_ratio\": %.3f, \"turns\": %zu}\n",
      transport, name, ranks, bytes / 1024, 1e6 * own, other, 1e6 * theirs, theirs / own,
      *std::min_element(other_took.begin(), other_took.end()) / *std::min_element(ours_took.begin(), ours_took.end()), ours_took.size());
  std::fflush(stdout);
}

// Two threads that share a processor would measure the scheduler.
void stay_on_processor(std::int32_t number) {
  cpu_set_t allowed, one;
  CPU_ZERO(&one);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  for (int cpu = 0, left = number % CPU_COUNT(&allowed); cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed) && left-- == 0) CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof(one), &one);
}

void threads(const settings& of) {
  using namespace motet::local;
  std::vector<std::vector<std::int32_t>> everyone(1, std::vector<std::int32_t>(static_cast<std::size_t>(of.ranks)));
  std::iota(everyone[0].begin(), everyone[0].end(), 0);
  world all(of.ranks, 0, {});
  group_set set(all, everyone);
  std::vector<room*> rooms(static_cast<std::size_t>(of.ranks));
  bool more = true;
  std::barrier together(of.ranks);
  std::vector<std::thread> team;
  for (std::int32_t rank = 0; rank < of.ranks; ++rank) {
    team.emplace_back([&, rank] {
      stay_on_processor(rank);
      endpoint end(all, rank);
      group own(set, 0, end);
      room memory(of.most_mib << 20, of.ranks);
      rooms[static_cast<std::size_t>(rank)] = &memory;
      together.arrive_and_wait();
      for (const auto& it : all_of_ours<group>()) {
        for (count bytes = count{1} << 20; bytes <= of.most_mib << 20; bytes *= 4) {
          std::vector<double> took, copied;
          const double begin = now();
          for (;;) {
            // What the neighbour has, as far as memory goes, so that both have to fetch from another processor.
            const room& neighbour = *rooms[static_cast<std::size_t>((rank + 1) % of.ranks)];
            const auto size = static_cast<std::size_t>(it.moved(static_cast<double>(bytes), of.ranks));
            together.arrive_and_wait();
            double start = now();
            std::memcpy(memory.other.data(), neighbour.from.data(), size);
            together.arrive_and_wait();
            const double copy = now() - start;
            start = now();
            own.wait(it.call(own, memory, bytes));
            together.arrive_and_wait();
            const double call = now() - start;
            took.push_back(call);
            copied.push_back(copy);
            if (rank == 0) more = took.size() < 5 || now() - begin < of.seconds;
            together.arrive_and_wait();
            if (!more) break;
          }
          if (rank == 0) print("local", it.name, of.ranks, bytes, took, "memcpy", copied);
        }
      }
      together.arrive_and_wait();
    });
  }
  for (std::thread& each : team) each.join();
}

#if defined(MOTET_HAS_MPI)
// The plain call that does the same.
void plain(std::size_t which, room& m, count bytes, int ranks) {
  const auto size = static_cast<int>(bytes), floats = size / 4;
  std::vector<int> parts(static_cast<std::size_t>(ranks)), places(parts.size());
  const auto split = [&](int part) {
    for (int r = 0; r < ranks; ++r) {
      parts[static_cast<std::size_t>(r)] = part;
      places[static_cast<std::size_t>(r)] = r * part;
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
      MPI_Allgatherv(m.from.data(), size, MPI_BYTE, m.to.data(), parts.data(), places.data(), MPI_BYTE, MPI_COMM_WORLD);
      break;
    case 4:
      split(size / ranks);
      MPI_Alltoallv(m.from.data(), parts.data(), places.data(), MPI_BYTE, m.to.data(), parts.data(), places.data(), MPI_BYTE, MPI_COMM_WORLD);
      break;
    default: MPI_Bcast(m.to.data(), size, MPI_BYTE, 0, MPI_COMM_WORLD); break;
  }
}

int processes(const settings& of, motet::mpi::session& here) {
  using namespace motet::mpi;
  std::vector<std::vector<std::int32_t>> everyone(1, std::vector<std::int32_t>(static_cast<std::size_t>(here.ranks())));
  std::iota(everyone[0].begin(), everyone[0].end(), 0);
  room memory(of.most_mib << 20, here.ranks());
  world all(here.ranks(), 0, {});
  endpoint end(all, here.rank());
  group_set set(all, everyone, {.in_flight = 1, .sum_bytes = of.most_mib << 20});
  group own(set, 0, end);
  const auto collectives = all_of_ours<group>();
  for (std::size_t c = 0; c < collectives.size(); ++c) {
    if (c == 1) continue;  // MPI has no bf16
    for (count bytes = count{1} << 18; bytes <= of.most_mib << 20; bytes *= 4) {
      std::vector<double> took, theirs;
      const double begin = now();
      // The slowest rank counts.
      const auto time = [&](auto&& what) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double start = now();
        what();
        double seconds = now() - start;
        MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        return seconds;
      };
      for (int more = 1; more != 0;) {
        // Who comes first takes turns, too.
        double call = 0, other = 0;
        for (std::size_t turn = 0; turn < 2; ++turn) {
          if ((turn + took.size()) % 2 == 0) call = time([&] { own.wait(collectives[c].call(own, memory, bytes)); });
          else other = time([&] { plain(c, memory, bytes, here.ranks()); });
        }
        took.push_back(call);
        theirs.push_back(other);
        more = took.size() < 6 || now() - begin < of.seconds ? 1 : 0;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
      }
      if (here.rank() == 0) print("mpi", collectives[c].name, here.ranks(), bytes, took, "plain_mpi", theirs);
    }
  }
  return 0;
}
#endif

}  // namespace

int main(int words, char** word) {
  settings of;
  for (int w = 1; w + 1 < words; w += 2) {
    const std::string_view name = word[w];
    if (name == "--ranks") of.ranks = std::atoi(word[w + 1]);
    if (name == "--seconds") of.seconds = std::atof(word[w + 1]);
    if (name == "--most-mib") of.most_mib = std::atoi(word[w + 1]);
  }
  const motet::launched as = motet::find_launch(motet::read_environment());
  if (as.by == motet::launcher::none) {
    threads(of);
    return 0;
  }
#if defined(MOTET_HAS_MPI)
  return motet::mpi::run({.rank = as.rank, .ranks = as.ranks}, [&](motet::mpi::session& here) { return processes(of, here); });
#else
  std::fprintf(stderr, "built without MPI\n");
  return 2;
#endif
}
