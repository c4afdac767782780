// SPDX-License-Identifier: Apache-2.0
// Collectives in the manner of nccl-tests, for 1 KiB to 256 MiB: ranks as threads that share one GPU and,
// where there are several GPUs, NCCL with a rank on each. `algorithm_gb` is size / time; `bus_gb` is that
// times 2 (n - 1) / n for a sum on all, (n - 1) / n where each rank has or gets a part, 1 for a ring of
// messages: what the slowest link would carry. Ranks of one GPU have its memory as their link, so where a
// copy within it reads and writes C bytes a second, `bus_gb` ends at C / n x (n - 1) / n for a sum on all, at
// C / 2n for the rest. Sizes count as in nccl-tests: the whole of all parts. `wrong` counts elements that
// came out wrong (sizes up to 1 MiB are looked at).
//
//   bench_gpu_collectives [--smoke] [--ranks N]      ranks that share the GPU; by default 4
#include "timing.hpp"

#include <motet/backend/transport/shared_gpu/shared_gpu_group.hpp>
#if defined(MOTET_HAS_NCCL)
#include <motet/backend/transport/nccl/nccl_group.hpp>
#endif

#include <barrier>
#include <chrono>
#include <numeric>
#include <thread>

#include <unistd.h>

namespace motet {

namespace {

enum class kind { all_reduce, reduce_scatter, all_gather, all_to_all, send_receive };
constexpr const char* names[] = {"all-reduce", "reduce-scatter", "all-gather", "all-to-all", "send/receive"};

double bus_factor(kind what, double ranks) {
  if (what == kind::all_reduce) return 2 * (ranks - 1) / ranks;
  if (what == kind::send_receive) return 1;
  return (ranks - 1) / ranks;
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// A hall is what all ranks of a table share.
struct hall {
  isize ranks;
  std::barrier<> together;
  std::vector<double> seconds;
  std::vector<isize> wrong;
  explicit hall(isize count)
      : ranks(count),
        together(count),
        seconds(static_cast<std::size_t>(count)),
        wrong(static_cast<std::size_t>(count)) {}
};

template <class End, class Group>
class table {
 public:
  table(const char* transport, hall& all, isize rank, End& end, Group& group, isize most)
      : transport_(transport),
        all_(all),
        rank_(rank),
        end_(end),
        group_(group),
        from_(most / 4),
        to_(most / 4) {}

  void measure(kind what, isize bytes, bool smoke) {
    count_ = bytes / 4;
    element_parts_.assign(static_cast<std::size_t>(all_.ranks), count_ / all_.ranks);
    byte_parts_.assign(static_cast<std::size_t>(all_.ranks), count_ / all_.ranks * 4);
    const isize wrong = bytes <= (1 << 20) ? check(what) : 0;
    const int times = smoke ? 2 : bytes <= (1 << 20) ? 200 : bytes <= (32 << 20) ? 40 : 12;
    for (int k = 0; k < std::min(times, 5); ++k) call(what);
    finish();
    all_.together.arrive_and_wait();
    const double began = now();
    for (int k = 0; k < times; ++k) call(what);
    finish();
    all_.seconds[static_cast<std::size_t>(rank_)] = (now() - began) / times;
    all_.wrong[static_cast<std::size_t>(rank_)] = wrong;
    all_.together.arrive_and_wait();
    if (rank_ == 0) {
      // The slowest rank counts.
      const double took = *std::max_element(all_.seconds.begin(), all_.seconds.end()),
                   rate = static_cast<double>(bytes) / took * 1e-9;
      const double bus = rate * bus_factor(what, static_cast<double>(all_.ranks));
      bench::line(
          "{\"transport\": \"%s\", \"collective\": \"%s\", \"ranks\": %td, \"bytes\": %td, \"microseconds\": "
          "%.2f, \"algorithm_gb\": %.3f, "
          "\"bus_gb\": "
          "%.3f, \"wrong\": %td}",
          transport_, names[static_cast<int>(what)], all_.ranks, bytes, took * 1e6, rate, bus,
          std::accumulate(all_.wrong.begin(), all_.wrong.end(), isize{0}));
      if (first_bytes_ == 0) first_bytes_ = bytes;
      if (bytes == first_bytes_) smallest_ = took;
      fastest_ = std::max(fastest_, bus);
    }
    all_.together.arrive_and_wait();
  }
  void tell(kind what) {
    if (rank_ == 0)
      bench::tell("%-10s %-14s %td ranks: %7.1f us smallest, bus %7.1f GB/s at best", transport_,
                  names[static_cast<int>(what)], all_.ranks, smallest_ * 1e6, fastest_);
    first_bytes_ = 0;
    fastest_ = 0;
  }

 private:
  void call(kind what) {
    const auto bytes_of = [](float* at) { return reinterpret_cast<std::byte*>(at); };
    switch (what) {
      case kind::all_reduce: return group_.wait(group_.all_reduce_sum(to_.data(), count_));
      case kind::reduce_scatter:
        return group_.wait(group_.reduce_scatter_sum(static_cast<const float*>(from_.data()), to_.data(),
                                                     std::span<const isize>(element_parts_)));
      case kind::all_gather:
        return group_.wait(group_.all_gather(bytes_of(from_.data()), bytes_of(to_.data()), byte_parts_));
      case kind::all_to_all:
        return group_.wait(
            group_.all_to_all(bytes_of(from_.data()), byte_parts_, bytes_of(to_.data()), byte_parts_));
      case kind::send_receive: break;
    }
    // Rows go to the next rank, and come from the one before.
    const auto me = static_cast<std::int32_t>(rank_), ranks = static_cast<std::int32_t>(all_.ranks),
               before = (me + ranks - 1) % ranks;
    end_.begin_step();
    end_.send(me, (me + 1) % ranks, bytes_of(from_.data()), count_ * 4);
    until([&] { return end_.receive(before, before, bytes_of(to_.data()), count_ * 4); });
    until([&] { return end_.sent(me); });
    if constexpr (requires { end_.finish_step(); }) end_.finish_step();
  }
  template <class Done>
  void until(Done&& done) {
    for (;;) {
      const std::uint32_t seen = end_.observe();
      if (done()) return;
      end_.pause(seen);
    }
  }
  void finish() { end_.on().finish(); }

  // Small whole numbers, so that sums are exact.
  static float value(isize rank, isize at) { return static_cast<float>((rank * 31 + at) % 17); }
  isize check(kind what) {
    std::vector<float> host(static_cast<std::size_t>(count_));
    for (isize i = 0; i < count_; ++i) host[static_cast<std::size_t>(i)] = value(rank_, i);
    const auto bytes = static_cast<std::size_t>(count_) * sizeof(float);
    // The copy is in the order of the rank's stream, whose own work it follows.
    cuda::check(cudaMemcpyAsync((what == kind::all_reduce ? to_ : from_).data(), host.data(), bytes,
                                cudaMemcpyHostToDevice, end_.on().stream()),
                "cudaMemcpyAsync");
    finish();
    all_.together.arrive_and_wait();
    call(what);
    finish();
    cuda::check(cudaMemcpyAsync(host.data(), to_.data(), bytes, cudaMemcpyDeviceToHost, end_.on().stream()),
                "cudaMemcpyAsync");
    finish();
    all_.together.arrive_and_wait();
    const isize each = count_ / all_.ranks;
    isize wrong = 0;
    const auto sum = [&](isize at) {
      float all = 0;
      for (isize r = 0; r < all_.ranks; ++r) all += value(r, at);
      return all;
    };
    for (isize i = 0; i < (what == kind::reduce_scatter                             ? each
                           : what == kind::all_reduce || what == kind::send_receive ? count_
                                                                                    : each * all_.ranks);
         ++i) {
      float wanted = 0;
      switch (what) {
        case kind::all_reduce: wanted = sum(i); break;
        case kind::reduce_scatter: wanted = sum(rank_ * each + i); break;
        case kind::all_gather: wanted = value(i / each, i % each); break;
        case kind::all_to_all: wanted = value(i / each, rank_ * each + i % each); break;
        case kind::send_receive: wanted = value((rank_ + all_.ranks - 1) % all_.ranks, i); break;
      }
      if (host[static_cast<std::size_t>(i)] != wanted) ++wrong;
    }
    return wrong;
  }

  const char* transport_;
  hall& all_;
  isize rank_;
  End& end_;
  Group& group_;
  cuda::buffer<float> from_, to_;
  isize count_ = 0, first_bytes_ = 0;
  std::vector<isize> element_parts_, byte_parts_;
  double smallest_ = 0, fastest_ = 0;
};

template <class End, class Group>
void measure_all(const char* transport, hall& all, isize rank, End& end, Group& group, bool smoke) {
  const isize most = smoke ? 16 << 10 : 256 << 20;
  table<End, Group> one(transport, all, rank, end, group, most);
  for (const kind what :
       {kind::all_reduce, kind::reduce_scatter, kind::all_gather, kind::all_to_all, kind::send_receive}) {
    for (isize bytes = 1 << 10; bytes <= most; bytes *= 4) one.measure(what, bytes, smoke);
    one.tell(what);
  }
}

// body(rank) on a thread for each rank. A rank that throws would leave the others waiting, so the program
// ends.
template <class Body>
void run_ranks(hall& all, Body&& body) {
  std::vector<std::thread> threads;
  for (isize r = 0; r < all.ranks; ++r)
    threads.emplace_back([&, r] {
      try {
        body(r);
      } catch (const error& problem) {
        std::fprintf(stderr, "rank %td: %s\n", r, problem.what());
        std::_Exit(1);
      }
    });
  for (std::thread& each : threads) each.join();
}
std::vector<std::vector<std::int32_t>> everyone(isize ranks) {
  std::vector<std::vector<std::int32_t>> all(1, std::vector<std::int32_t>(static_cast<std::size_t>(ranks)));
  std::iota(all[0].begin(), all[0].end(), 0);
  return all;
}

void one_gpu(isize ranks, bool smoke) {
  hall all(ranks);
  shared_gpu::world world(static_cast<std::int32_t>(ranks), static_cast<std::int32_t>(ranks), {});
  shared_gpu::group_set groups(world, everyone(ranks));
  run_ranks(all, [&](isize rank) {
    shared_gpu::endpoint end(world, static_cast<std::int32_t>(rank));
    shared_gpu::group own(groups, 0, end);
    all.together.arrive_and_wait();
    measure_all("shared GPU", all, rank, end, own, smoke);
    end.end_step();
    all.together.arrive_and_wait();
  });
}

void many_gpus([[maybe_unused]] isize gpus, [[maybe_unused]] bool smoke) {
#if defined(MOTET_HAS_NCCL)
  hall all(gpus);
  const auto port = static_cast<std::uint16_t>(20000 + ::getpid() % 30000);
  std::vector<message_ends> messages;
  for (isize r = 0; r < gpus; ++r)
    messages.push_back({static_cast<std::int32_t>(r), static_cast<std::int32_t>((r + 1) % gpus)});
  run_ranks(all, [&](isize rank) {
    const rendezvous_options here{.rank = static_cast<std::int32_t>(rank),
                                  .ranks = static_cast<std::int32_t>(gpus),
                                  .port = port,
                                  .token = "of a benchmark",
                                  .seconds = 60};
    nccl::session_options options;
    options.local_rank = static_cast<std::int32_t>(rank);
    nccl::session session(forum(here), options);
    nccl::world world(static_cast<std::int32_t>(gpus), messages, {});
    nccl::group_set groups(world, everyone(gpus));
    nccl::endpoint end(world, static_cast<std::int32_t>(rank));
    nccl::group own(groups, 0, end);
    all.together.arrive_and_wait();
    measure_all("NCCL", all, rank, end, own, smoke);
    all.together.arrive_and_wait();
  });
#else
  bench::line("{\"transport\": \"NCCL\", \"skipped\": \"this program was built without it\"}");
#endif
}

}  // namespace

int measure(const bench::settings& how, isize ranks) {
  if (ranks > 32) fail(bad_option_value, "--ranks wants 2 to 32, got " + std::to_string(ranks));
  return bench::on_gpu([&](cuda::device& on) {
    bench::line("{\"copy_gb_per_second\": %.0f}",
                bench::copy_rate(on, how.turns(10), how.size(isize{1} << 28, 4096)) * 1e-9);
    const int gpus = cuda::require_gpus();
    one_gpu(ranks, how.smoke);
    if (gpus > 1) many_gpus(gpus, how.smoke);
    else bench::line("{\"transport\": \"NCCL\", \"skipped\": \"one GPU\"}");
  });
}

}  // namespace motet

int main(int count, char** words) {
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  motet::load_kernels_first();
  motet::isize ranks = 4;
  motet::bench::settings how("bench_gpu_collectives",
                             "collectives of ranks that share a GPU and, on several GPUs, of NCCL");
  how.count("--ranks", ranks, 2, "ranks that share the GPU, 32 at most");
  return how.run(count, words, [&] { return motet::measure(how, ranks); });
}
