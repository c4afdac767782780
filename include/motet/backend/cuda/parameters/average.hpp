// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/amounts.hpp>
#include <motet/backend/cuda/parameters/squares.hpp>

#include <utility>
#include <vector>

// Moving averages of weights: 12 bytes for an element of fp32, as the weight is read and the average read and
// written.

namespace motet::cuda {

namespace detail {

template <class T>
struct average_record {
  const T* weight;
  T* average;
  flat_span span;
  isize first_chunk;
  isize chunks() const { return flat_chunk<T>::count(span); }
};
template <class T>
struct average_chunks {
  static constexpr int most_threads = 256;
  chunked_runs<average_record<T>> runs;
  guarding_sums guard;
  T fresh;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    if (guard.there != 0 && !guard.now().allow()) return;
    for (isize c = self.block(); c < runs.chunks; c += self.blocks()) {
      const auto& found = runs.record(c);
      const flat_chunk<T> own(found.span, c - found.first_chunk);
      for (isize p = own.packs.begin + self.thread(); p < own.packs.end; p += self.threads()) {
        const isize at = own.pack_at(p);
        const pack<T> w = load_pack(found.weight + at);
        pack<T> a = load_pack(static_cast<const T*>(found.average) + at);
        MOTET_UNROLLED
        for (int k = 0; k < pack<T>::size; ++k) a.of[k] += (w.of[k] - a.of[k]) * fresh;
        store_pack(found.average + at, a);
      }
      for (isize e = own.loose.begin + self.thread(); e < own.loose.end; e += self.threads()) {
        const isize at = own.loose_at(e);
        found.average[at] += (found.weight[at] - found.average[at]) * fresh;
      }
    }
  }
};

}  // namespace detail

// Weights that averages follow.
template <class T>
class average_list {
 public:
  average_list() = default;
  explicit average_list(std::vector<average_run<T>> runs) : all_(std::move(runs)) {}
  const std::vector<average_run<T>>& all() const { return all_; }
  // Takes memory of the GPU; else the first use does.
  void prepare(context& ctx) const { runs(ctx); }
  chunked_runs<detail::average_record<T>> runs(context& ctx) const {
    if (!made_ && !ctx.measuring() && !all_.empty()) {
      std::vector<detail::average_record<T>> records;
      for (const average_run<T>& each : all_)
        records.push_back({each.weight, each.average,
                           flat_span_of(each.count, each.weight, static_cast<const T*>(each.average)), 0});
      table_.put(ctx, std::move(records));
      made_ = true;
    }
    return table_.runs();
  }
  void note(context& ctx) const {
    double count = 0;
    for (const average_run<T>& each : all_) count += static_cast<double>(each.count);
    ctx.note("average", 3 * count, 3 * count * bytes_of<T>);
  }

 private:
  std::vector<average_run<T>> all_;
  mutable chunk_table<detail::average_record<T>> table_;
  mutable bool made_ = false;
};
// average = decay * average + (1 - decay) * weight
template <class T>
void average(context& ctx, const average_list<T>& list, double decay) {
  list.note(ctx);
  if (ctx.measuring()) return;
  const auto runs = list.runs(ctx);
  launch(ctx.stream(), {blocks_for(runs.chunks, 1), 256, 0},
         detail::average_chunks<T>{runs, {}, T(1 - decay)});
}
// Nothing follows where the sums, which may still be on their way, do not allow an update.
template <class T>
void average(context& ctx, const average_list<T>& list, double decay, const real& loss, const real& squares) {
  list.note(ctx);
  if (ctx.measuring()) return;
  const auto runs = list.runs(ctx);
  launch(ctx.stream(), {blocks_for(runs.chunks, 1), 256, 0},
         detail::average_chunks<T>{runs, {loss, squares, 0}, T(1 - decay)});
}

}  // namespace motet::cuda
