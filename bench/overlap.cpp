// SPDX-License-Identifier: Apache-2.0
// A block that a tensor group cuts, forward and back, with its rows in pieces: in turns with one piece, and
// with no exchange at all. The ratio says how many times as fast pieces are as one; `hidden` which share of
// what exchanges take in one piece they hide. A wire between the ranks is played by waiting as long as its
// bytes take; without one, rows are copied in memory, which takes processors' time, so nothing can be hidden
// unless there are more of them than ranks.
//
//   bench_overlap [--ranks 2] [--rows 1024] [--wire 0.4] [flags of Google Benchmark]      ranks are threads
#include "meeting.hpp"
#include "suite.hpp"

#include <motet/backend/cpu/operations.hpp>
#include <motet/backend/exchange/spread_rows.hpp>
#include <motet/backend/groups/courier.hpp>
#include <motet/backend/groups/silent_group.hpp>
#include <motet/nn/compose/residual.hpp>
#include <motet/nn/layers/attention.hpp>
#include <motet/nn/layers/mlp.hpp>

#include <numeric>
#include <optional>

namespace {

using namespace motet;
using bench::here;
using attends = residual<layer_norm<512>, self_attention<attention_config{.width = 512, .heads = 8}>>;
using widens = residual<layer_norm<512>, mlp<512, 2048>>;
using clock_type = std::chrono::steady_clock;

// A group over a wire on which one call's bytes follow another's.
class wired_group {
 public:
  wired_group(local::group& inside, double bytes_per_second) : inside_(inside), speed_(bytes_per_second) {}
  std::int32_t size() const { return inside_.size(); }
  std::int32_t member() const { return inside_.member(); }
  bool test(ticket which) { return inside_.test(which) && clock_type::now() >= through_[which % kept]; }
  void wait(ticket which) {
    inside_.wait(which);
    std::this_thread::sleep_until(through_[which % kept]);
  }
  template <class T>
  ticket all_reduce_sum(T* numbers, isize count) {
    return begun(inside_.all_reduce_sum(numbers, count), 0);
  }
  template <class T>
  ticket reduce_scatter_sum(const T* from, T* to, std::span<const isize> counts,
                            std::span<const isize> places = {}) {
    const isize own = counts[as_size(member())] * static_cast<isize>(sizeof(T));
    return begun(inside_.reduce_scatter_sum(from, to, counts, places), own * (size() - 1));
  }
  ticket all_gather(const std::byte* own, std::byte* all, std::span<const isize> bytes,
                    std::span<const isize> places = {}) {
    const isize sum = std::accumulate(bytes.begin(), bytes.end(), isize{0});
    return begun(inside_.all_gather(own, all, bytes, places), sum - bytes[as_size(member())]);
  }
  ticket all_to_all(const std::byte* from, std::span<const isize> from_bytes, std::byte* to,
                    std::span<const isize> to_bytes) {
    return begun(inside_.all_to_all(from, from_bytes, to, to_bytes), 0);
  }
  ticket broadcast(std::byte* data, isize bytes, std::int32_t root) {
    return begun(inside_.broadcast(data, bytes, root), 0);
  }
  ticket barrier() { return begun(inside_.barrier(), 0); }

 private:
  static constexpr ticket kept = 64;
  ticket begun(ticket which, isize bytes) {
    const double seconds = speed_ > 0 ? static_cast<double>(bytes) / speed_ : 0;
    free_ = std::max(free_, clock_type::now()) +
            std::chrono::duration_cast<clock_type::duration>(std::chrono::duration<double>(seconds));
    through_[which % kept] = free_;
    return which;
  }
  local::group& inside_;
  double speed_;
  clock_type::time_point free_{}, through_[kept]{};
};
static_assert(collective_group<wired_group> && takes_places<wired_group>);

// One rank's part of both layers.
class block {
 public:
  block(std::int32_t ranks, std::int32_t rank, isize rows)
      : cut_{ranks, rank},
        whole_{2 * ranks, rows / (2 * ranks), nullptr},
        w_(as_size(attends::size(cut_) + widens::size(cut_)), 0.01F),
        g_(w_.size(), 0),
        x_(as_size(whole_.rows() / ranks * 512), 0.5F) {}

  void step(const any_group& group, isize pieces, courier* beside) {
    spread_rows places(
        {.tensor = cut_.shards, .tensor_member = cut_.shard, .pieces = pieces, .beside = beside},
        whole_.samples);
    microbatch_spread shared;
    places.fill(whole_, shared);
    shared.tensor = group;
    cpu::context ctx;
    ctx.shared = &shared;
    if (memory_.size() == 0) {
      run(ctx, shared.own);  // dry
      memory_ = buffer<std::byte>(ctx.memory.peak());
      scratch_ = buffer<std::byte>(ctx.scratch.peak() + (1 << 16));  // for other numbers of pieces
    }
    ctx.memory = arena(memory_.data(), memory_.size());
    ctx.scratch = arena(scratch_.data(), scratch_.size());
    run(ctx, shared.own);
  }

 private:
  void run(cpu::context& ctx, const sequences& seq) {
    layer_step<attends>(ctx, seq, 0);
    layer_step<widens>(ctx, seq, attends::size(cut_));
  }
  template <class L>
  void layer_step(cpu::context& ctx, const sequences& seq, isize at) {
    const weights<fp32> w{w_.data() + at, cut_};
    const view<float, 512> x(x_.data(), seq.rows());
    const isize mark = ctx.memory.mark();
    const auto y = ctx.memory.take_rows<float, 512>(seq.rows());
    typename L::template saved<fp32> s;
    L::template reserve<fp32>(ctx, seq, s, cut_);
    L::forward(ctx, w, seq, x, y, s);
    layer::backward<L>(ctx, w, seq, x, x, y, s, gradients<fp32>{g_.data() + at, cut_});
    release(ctx, mark);
  }

  tensor_cut cut_;
  sequences whole_;
  std::vector<float> w_, g_, x_;
  buffer<std::byte> memory_, scratch_;
};

void overlap(benchmark::State& state, isize rows, isize pieces, double wire) {
  const auto rank = static_cast<std::int32_t>(state.thread_index()),
             ranks = static_cast<std::int32_t>(state.threads());
  local::endpoint end(here->all, rank);
  local::group inside(here->set, 0, end);
  wired_group wired(inside, wire * 1e9);
  silent_group nobody(ranks, rank);
  const any_group group(wired), alone(nobody);
  courier beside(end);
  block own(ranks, rank, rows);
  bench::series computed, one, several;
  for (auto _ : state) {
    const auto taken = [&](bench::series& by, const any_group& among, isize k, courier* with) {
      here->together.arrive_and_wait();
      return by.take([&] {
        own.step(among, k, with);
        here->together.arrive_and_wait();
      });
    };
    taken(computed, alone, 1, nullptr);
    taken(one, group, 1, nullptr);
    state.SetIterationTime(taken(several, group, pieces, &beside));
  }
  if (rank != 0) return;
  auto& row = state.counters;
  row["computed_ms"] = 1e3 * computed.median();
  row["one_ms"] = 1e3 * one.median();
  row["pieces_ms"] = 1e3 * several.median();
  row["ratio"] = (one / several).median();
  row["hidden"] = (one.median() - several.median()) / (one.median() - computed.median());
}

}  // namespace

int main(int count, char** words) {
  motet::isize ranks = 2, rows = 1024;
  double wire = 0.4;
  options line("bench_overlap", "a block of a tensor group, with its rows in pieces");
  line.count("--ranks", ranks, 1, 8, "each a thread");
  line.count("--rows", rows, 32, "of all ranks together");
  line.real("--wire", wire, 0, 1000, "GB/s into each rank; 0: as fast as memory");
  return bench::run(count, words, line, [&] {
    for (const motet::isize pieces : {2, 4, 8})
      bench::add("overlap/pieces:" + std::to_string(pieces), overlap, rows, pieces, wire)
          ->Threads(static_cast<int>(ranks))
          ->Setup(
              [](const benchmark::State& state) { here = std::make_unique<bench::meeting>(state.threads()); })
          ->Teardown([](const benchmark::State&) { here.reset(); })
          ->Unit(benchmark::kMillisecond);
  });
}
