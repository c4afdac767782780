// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/update_step.hpp>
#include <motet/backend/cuda/kernels/flat_runs.hpp>
#include <motet/backend/cuda/kernels/runs.hpp>
#include <motet/backend/cuda/kernels/sums.hpp>

#include <utility>
#include <vector>

// Sums of the squares of flat buffers, which read each byte once, and who looks at them.

namespace motet::cuda {

namespace detail {

template <class T>
struct squares_record {
  const T* data;
  flat_span span;
  isize first_chunk;
  isize chunks() const { return flat_chunk<T>::count(span); }
};

// Each block's part, in double, and in an order that only the runs decide.
template <class T>
struct squares_of_chunks {
  static constexpr int most_threads = 256, at_once = 4;
  chunked_runs<squares_record<T>> runs;
  double* parts;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    constexpr int size = pack<T>::size;
    double* const scratch = self.template shared<double>(warp_size);
    double sums[size] = {}, sum = 0;
    for (isize c = self.block(); c < runs.chunks; c += self.blocks()) {
      const auto& run = runs.record(c);
      const T* const data = run.data;
      const flat_chunk<T> own(run.span, c - run.first_chunk);
      const isize all = self.threads();
      isize p = own.packs.begin + self.thread();
      for (; p + (at_once - 1) * all < own.packs.end; p += at_once * all) {
        pack<T> x[at_once];
        MOTET_UNROLLED
        for (int n = 0; n < at_once; ++n) x[n] = load_pack(data + own.pack_at(p + n * all));
        MOTET_UNROLLED
        for (int n = 0; n < at_once; ++n) add(x[n], sums);
      }
      for (; p < own.packs.end; p += all) add(load_pack(data + own.pack_at(p)), sums);
      for (isize e = own.loose.begin + self.thread(); e < own.loose.end; e += all)
        sum += square(data[own.loose_at(e)]);
    }
    MOTET_UNROLLED
    for (int k = 0; k < size; ++k) sum += sums[k];
    sum = block_sum(self, sum, scratch);
    if (self.thread() == 0) parts[self.block()] = sum;
  }

 private:
  MOTET_HOST_DEVICE static double square(T x) { return static_cast<double>(x) * static_cast<double>(x); }
  MOTET_HOST_DEVICE static void add(const pack<T>& x, double* sums) {
    MOTET_UNROLLED
    for (int k = 0; k < pack<T>::size; ++k) sums[k] += square(x.of[k]);
  }
};

template <class T>
void note_squares(context& ctx, isize count) {
  ctx.note("sum_of_squares", 2 * static_cast<double>(count), static_cast<double>(count) * bytes_of<T>);
  note_settled(ctx);
}
template <class T>
real squares_of(context& ctx, const chunked_runs<squares_record<T>>& runs) {
  if (runs.chunks == 0) return {};
  const real found = ctx.on->take_real();
  double* const parts = ctx.on->template part<partial_sums>().of.data();
  const isize blocks = blocks_for(runs.chunks, 1, partial_sums::most);
  launch(ctx.stream(), {blocks, 256, block_scratch<double>}, squares_of_chunks<T>{runs, parts});
  add_up(ctx, parts, blocks, 1, found);
  return found;
}

}  // namespace detail

// Sums that an update looks at when it runs. Without them it goes on, and the clip factor is in its numbers.
struct guarding_sums {
  const double *loss = nullptr, *squares = nullptr;  // none: zero
  double clip = 0;
  isize there = 0;
  guarding_sums() = default;
  guarding_sums(const real& of_loss, const real& of_squares, double most)
      : loss(of_loss.at()), squares(of_squares.at()), clip(most), there(1) {}
  MOTET_HOST_DEVICE update_sums now() const {
    return {loss != nullptr ? *loss : 0, squares != nullptr ? *squares : 0, clip};
  }
};

// Squares are summed in double, as a gradient has many small elements; every run has the same bits.
template <class T>
real sum_of_squares(context& ctx, const T* data, isize count) {
  detail::note_squares<T>(ctx, count);
  if (ctx.measuring()) return {};
  return detail::squares_of(ctx,
                            chunked_runs<detail::squares_record<T>>({data, flat_span_of(count, data), 0}));
}

// Runs whose squares are added up together.
template <class T>
class flat_list {
 public:
  flat_list() = default;
  explicit flat_list(std::vector<flat_run<T>> runs) : all_(std::move(runs)) {}
  const std::vector<flat_run<T>>& all() const { return all_; }
  // Takes memory of the GPU; else the first use does.
  void prepare(context& ctx) const { runs(ctx); }
  chunked_runs<detail::squares_record<T>> runs(context& ctx) const {
    if (!made_ && !ctx.measuring()) {
      std::vector<detail::squares_record<T>> records;
      for (const flat_run<T>& each : all_)
        records.push_back({each.data, flat_span_of(each.count, each.data), 0});
      table_.put(ctx, std::move(records));
      made_ = true;
    }
    return table_.runs();
  }

 private:
  std::vector<flat_run<T>> all_;
  mutable chunk_table<detail::squares_record<T>> table_;
  mutable bool made_ = false;
};
template <class T>
real sum_of_squares(context& ctx, const flat_list<T>& list) {
  isize count = 0;
  for (const flat_run<T>& each : list.all()) count += each.count;
  detail::note_squares<T>(ctx, count);
  return ctx.measuring() ? real{} : detail::squares_of(ctx, list.runs(ctx));
}

}  // namespace motet::cuda
