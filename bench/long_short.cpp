// SPDX-License-Identifier: Apache-2.0
// A block whose samples a context group shares, forward and back: long ones cut and short ones whole, in
// turns with all cut and with none. The ratios say how many times as long those take. Keys go round, or rows
// are exchanged for heads, in both of long samples alone.
//
//   bench_long_short [--ranks 2] [--longs 1] [--long 1536] [--shorts 48] [--short 32] [flags of Google
//   Benchmark]
#include "meeting.hpp"
#include "suite.hpp"

#include <motet/backend/cpu/operations.hpp>
#include <motet/backend/exchange/spread_rows.hpp>
#include <motet/nn/compose/residual.hpp>
#include <motet/nn/layers/attention.hpp>
#include <motet/nn/layers/mlp.hpp>

#include <limits>

namespace {

using namespace motet;
using bench::here;
template <context_attention Kind>
using attends = residual<layer_norm<256>,
                         self_attention<attention_config{
                             .width = 256, .heads = 8, .mask = mask_kind::causal, .context_kind = Kind}>>;
using widens = residual<layer_norm<256>, mlp<256, 1024>>;

// One rank's rows of both layers.
template <context_attention Kind>
class block {
 public:
  block(local::group& among, const sequences& whole)
      : group_(among),
        whole_(whole),
        w_(as_size(attends<Kind>::parameter_size + widens::parameter_size), 0.01F) {
    g_.assign(w_.size(), 0);
    x_.assign(as_size(whole.rows() * 256), 0.5F);
  }
  void step(isize long_rows) {
    spread_rows places({.context = group_.size(),
                        .context_member = group_.member(),
                        .balanced = true,
                        .long_rows = long_rows},
                       whole_.samples);
    microbatch_spread shared;
    places.fill(whole_, shared);
    shared.context = any_group(group_);
    cpu::context ctx;
    ctx.shared = &shared;
    run(ctx, shared.own);  // dry
    if (memory_.size() < ctx.memory.peak()) memory_ = buffer<std::byte>(ctx.memory.peak());
    if (scratch_.size() < ctx.scratch.peak()) scratch_ = buffer<std::byte>(ctx.scratch.peak());
    ctx.memory = arena(memory_.data(), memory_.size());
    ctx.scratch = arena(scratch_.data(), scratch_.size());
    run(ctx, shared.own);
  }

 private:
  void run(cpu::context& ctx, const sequences& seq) {
    layer_step<attends<Kind>>(ctx, seq, 0);
    layer_step<widens>(ctx, seq, attends<Kind>::parameter_size);
  }
  template <class L>
  void layer_step(cpu::context& ctx, const sequences& seq, isize at) {
    const weights<fp32> w{w_.data() + at, {}};
    const view<float, 256> x(x_.data(), seq.rows());
    const isize mark = ctx.memory.mark();
    const auto y = ctx.memory.take_rows<float, 256>(seq.rows());
    typename L::template saved<fp32> s;
    L::template reserve<fp32>(ctx, seq, s, {});
    L::forward(ctx, w, seq, x, y, s);
    layer::backward<L>(ctx, w, seq, x, x, y, s, gradients<fp32>{g_.data() + at, {}});
    release(ctx, mark);
  }

  local::group& group_;
  sequences whole_;
  std::vector<float> w_, g_, x_;
  buffer<std::byte> memory_, scratch_;
};

template <context_attention Kind>
void long_short(benchmark::State& state, const std::vector<isize>& offsets, isize long_rows) {
  const auto rank = static_cast<std::int32_t>(state.thread_index());
  local::endpoint end(here->all, rank);
  local::group inside(here->set, 0, end);
  block<Kind> own(inside, {static_cast<isize>(offsets.size()) - 1, 1, offsets.data()});
  bench::series cut, mixed, whole;
  for (auto _ : state) {
    const auto taken = [&](bench::series& by, isize from) {
      here->together.arrive_and_wait();
      return by.take([&] {
        own.step(from);
        here->together.arrive_and_wait();
      });
    };
    taken(cut, 0);
    taken(whole, std::numeric_limits<isize>::max());
    state.SetIterationTime(taken(mixed, long_rows));
  }
  if (rank != 0) return;
  auto& row = state.counters;
  row["mixed_ms"] = 1e3 * mixed.median();
  row["cut_ms"] = 1e3 * cut.median();
  row["whole_ms"] = 1e3 * whole.median();
  row["ratio"] = (cut / mixed).median();
  row["ratio_whole"] = (whole / mixed).median();
}

}  // namespace

int main(int count, char** words) {
  motet::isize ranks = 2, longs = 1, rows = 1536, shorts = 48, few = 32;
  options line("bench_long_short", "a block whose long samples are cut, and whose short ones stay whole");
  line.count("--ranks", ranks, 2, 8, "each a thread");
  line.count("--longs", longs, 0, "samples that are cut");
  line.count("--long", rows, 1, "rows of each");
  line.count("--shorts", shorts, 0, "samples that stay whole");
  line.count("--short", few, 1, "rows of each");
  std::vector<motet::isize> offsets{0};
  return bench::run(count, words, line, [&] {
    for (motet::isize k = 0; k < longs + shorts; ++k)
      offsets.push_back(offsets.back() + (k < longs ? rows : few));
    const auto add = [&](const char* name, auto* run) {
      bench::add(name, run, offsets, few + 1)
          ->Threads(static_cast<int>(ranks))
          ->Setup(
              [](const benchmark::State& state) { here = std::make_unique<bench::meeting>(state.threads()); })
          ->Teardown([](const benchmark::State&) { here.reset(); })
          ->Unit(benchmark::kMillisecond);
    };
    add("long_short/ring", long_short<context_attention::ring>);
    add("long_short/heads", long_short<context_attention::heads>);
  });
}
