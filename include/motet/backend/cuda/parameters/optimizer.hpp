// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/adamw_step.hpp>
#include <motet/backend/core/amounts.hpp>
#include <motet/backend/cuda/kernels/flat_runs.hpp>
#include <motet/backend/cuda/kernels/runs.hpp>
#include <motet/backend/cuda/kernels/sums.hpp>
#include <motet/backend/cuda/products/weight_copies.hpp>

#include <cmath>
#include <type_traits>

// Flat buffers of parameters. All of these move each byte once, sixteen at a time, and are as quick as the
// memory. An element of fp32 costs
//   sum_of_squares
//       4 bytes, read
//   adamw
//       32 bytes: weight, gradient and two moments are read and written, the gradient as the zero that the
//       next step begins with; 34 where products take weights in bf16, as their copy is written from
//       registers and zero 4 bytes, which a step does without. A list of runs is one launch, however many
//       tensors there are.

namespace motet::cuda {

namespace detail {

template <class T>
struct squares_record {
  const T* data;
  flat_span span;
  index first_chunk;
  index chunks() const { return flat_chunk<T>::count(span); }
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
    for (index c = self.block(); c < runs.chunks; c += self.blocks()) {
      const auto& run = runs.record(c);
      const T* const data = run.data;
      const flat_chunk<T> own(run.span, c - run.first_chunk);
      const index all = self.threads();
      index p = own.packs.begin + self.thread();
      for (; p + (at_once - 1) * all < own.packs.end; p += at_once * all) {
        pack<T> x[at_once];
        MOTET_UNROLLED
        for (int n = 0; n < at_once; ++n) x[n] = load_pack(data + own.pack_at(p + n * all));
        MOTET_UNROLLED
        for (int n = 0; n < at_once; ++n) add(x[n], sums);
      }
      for (; p < own.packs.end; p += all) add(load_pack(data + own.pack_at(p)), sums);
      for (index e = own.loose.begin + self.thread(); e < own.loose.end; e += all)
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
void note_squares(context& ctx, index count) {
  ctx.note("sum_of_squares", 2 * static_cast<double>(count), static_cast<double>(count) * bytes_of<T>);
  note_settled(ctx);
}
template <class T>
real squares_of(context& ctx, const chunked_runs<squares_record<T>>& runs) {
  if (runs.chunks == 0) return {};
  const real found = ctx.on->take_real();
  double* const parts = ctx.on->template part<partial_sums>().of.data();
  const index blocks = blocks_for(runs.chunks, 1, partial_sums::most);
  launch(ctx.stream(), {blocks, 256, block_scratch<double>}, squares_of_chunks<T>{runs, parts});
  add_up(ctx, parts, blocks, 1, found);
  return found;
}

// The numbers of an update as the elements need them.
template <class T>
struct adamw_factors {
  T keep, take, root, clip, epsilon, new1, old2, new2;
  explicit adamw_factors(const adamw_step& step)
      : keep(T(1 - step.rate * step.decay)),
        take(T(step.rate / step.correction1)),
        root(T(1 / std::sqrt(step.correction2))),
        clip(T(step.clip_scale)),
        epsilon(T(step.epsilon)),
        new1(T(1 - step.beta1)),
        old2(T(step.beta2)),
        new2(T(1 - step.beta2)) {}
  MOTET_HOST_DEVICE void turn(T& weight, T gradient, T& first, T& second) const {
    const T g = gradient * clip;
    first = (g - first) * new1 + first;
    second = g * g * new2 + second * old2;
    weight = weight * keep - first * take / (std::sqrt(second) * root + epsilon);
  }
};

template <class T>
struct adamw_record {
  T *weight, *gradient, *first, *second;
  bf16* copy;  // or none
  flat_span span;
  index first_chunk;
  int only_clears;
  T rate, fall;  // shares of the step's rate, and of what weights lose by decay
  index chunks() const { return flat_chunk<T>::count(span); }
};
template <class T>
adamw_record<T> record_of(const adamw_run<T>& run, bf16* copy) {
  if (run.only_clears)
    return {nullptr, run.gradient,
            nullptr, nullptr,
            nullptr, flat_span_of(run.count, static_cast<const T*>(run.gradient)),
            0,       1,
            T(0),    T(0)};
  auto span = flat_span_of(run.count, static_cast<const T*>(run.weight), run.gradient, run.first, run.second);
  constexpr auto narrow = sizeof(bf16) * as_size(pack<T>::size);
  if (copy != nullptr && reinterpret_cast<std::uintptr_t>(copy + span.head) % narrow != 0)
    span = {run.count, 0, 0};
  return {run.weight,  run.gradient,
          run.first,   run.second,
          copy,        span,
          0,           0,
          T(run.rate), run.decays ? T(run.rate * run.decay) : T(0)};
}

// Sums that an update looks at when it runs. Without them it goes on, and the clip factor is in its numbers.
struct guarding_sums {
  const double *loss = nullptr, *squares = nullptr;  // none: zero
  double clip = 0;
  index there = 0;
  guarding_sums() = default;
  guarding_sums(const real& of_loss, const real& of_squares, double most)
      : loss(of_loss.at()), squares(of_squares.at()), clip(most), there(1) {}
  MOTET_HOST_DEVICE update_sums now() const {
    return {loss != nullptr ? *loss : 0, squares != nullptr ? *squares : 0, clip};
  }
};

template <class T, bool Clear>
struct adamw_chunks {
  static constexpr int most_threads = 256;
  chunked_runs<adamw_record<T>> runs;
  guarding_sums guard;
  adamw_factors<T> numbers;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    adamw_factors<T> by = numbers;
    if (guard.there != 0) {
      const update_sums sums = guard.now();
      if (!sums.allow()) return;
      by.clip = T(sums.scale());
    }
    for (index c = self.block(); c < runs.chunks; c += self.blocks()) {
      const auto& found = runs.record(c);
      const flat_chunk<T> own(found.span, c - found.first_chunk);
      if (found.only_clears != 0) {
        clear(self, own, found.gradient);
        continue;
      }
      // Exactly the step's own where the run has all of it, as most have.
      by.keep = found.fall == T(1) ? numbers.keep : T(1) - (T(1) - numbers.keep) * found.fall;
      by.take = numbers.take * found.rate;
      turn(self, own, by, found.weight, found.gradient, found.first, found.second, found.copy);
    }
  }

 private:
  template <class Thread>
  MOTET_HOST_DEVICE static void turn(Thread& self, const flat_chunk<T>& own, const adamw_factors<T>& by,
                                     T* weight, T* gradient, T* first, T* second, bf16* copy) {
    constexpr int size = pack<T>::size;
    for (index p = own.packs.begin + self.thread(); p < own.packs.end; p += self.threads()) {
      const index at = own.pack_at(p);
      pack<T> w = load_pack(weight + at), m = load_pack(first + at), v = load_pack(second + at);
      const pack<T> g = load_pack(gradient + at);
      run<T, size> narrow;
      MOTET_UNROLLED
      for (int k = 0; k < size; ++k) {
        by.turn(w.of[k], g.of[k], m.of[k], v.of[k]);
        narrow.of[k] = w.of[k];
      }
      store_pack(first + at, m);
      store_pack(second + at, v);
      store_pack(weight + at, w);
      if (Clear) store_pack(gradient + at, pack<T>{});
      if (copy != nullptr) store_run(copy + at, narrow);
    }
    for (index e = own.loose.begin + self.thread(); e < own.loose.end; e += self.threads()) {
      const index at = own.loose_at(e);
      T w = weight[at], m = first[at], v = second[at];
      by.turn(w, gradient[at], m, v);
      first[at] = m;
      second[at] = v;
      weight[at] = w;
      if (Clear) gradient[at] = T(0);
      if (copy != nullptr) copy[at] = stored_as<bf16>(w);
    }
  }
  template <class Thread>
  MOTET_HOST_DEVICE static void clear(Thread& self, const flat_chunk<T>& own, T* gradient) {
    for (index p = own.packs.begin + self.thread(); p < own.packs.end; p += self.threads())
      store_pack(gradient + own.pack_at(p), pack<T>{});
    for (index e = own.loose.begin + self.thread(); e < own.loose.end; e += self.threads())
      gradient[own.loose_at(e)] = T(0);
  }
};

template <bool Clear, class T>
void update(context& ctx, const chunked_runs<adamw_record<T>>& runs, const adamw_step& step,
            const guarding_sums& guard = {}) {
  launch(ctx.stream(), {blocks_for(runs.chunks, 1), 256, 0},
         adamw_chunks<T, Clear>{runs, guard, adamw_factors<T>(step)});
}

template <class T>
struct clamp_number {
  T* at;
  T most;
  bf16* copy;  // or none
  guarding_sums guard;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    if (self.number() != 0 || !(*at > most) || (guard.there != 0 && !guard.now().allow())) return;
    *at = most;
    if (copy != nullptr) *copy = stored_as<bf16>(most);
  }
};
template <class T>
void clamp(context& ctx, T* at, T most, const guarding_sums& guard) {
  bf16* const copy = ctx.on->template part<weight_copies>().copy_of(at);
  launch(ctx.stream(), {1, warp_size, 0}, clamp_number<T>{at, most, copy, guard});
}

template <class T>
double bytes_of_update(index count, bool clear, bool copied) {
  return ((clear ? 8 : 7) * bytes_of<T> + (copied ? bytes_of<bf16> : 0)) * static_cast<double>(count);
}

}  // namespace detail

template <class T>
void zero(context& ctx, T* data, index count) {
  ctx.note("clear", 0, static_cast<double>(count) * bytes_of<T>);
  if (ctx.measuring() || count == 0) return;
  check(cudaMemsetAsync(static_cast<void*>(data), 0, as_size(count) * sizeof(T), ctx.stream()),
        "cudaMemsetAsync");
}

// Squares are summed in double, as a gradient has many small elements; every run has the same bits.
template <class T>
real sum_of_squares(context& ctx, const T* data, index count) {
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
  index count = 0;
  for (const flat_run<T>& each : list.all()) count += each.count;
  detail::note_squares<T>(ctx, count);
  return ctx.measuring() ? real{} : detail::squares_of(ctx, list.runs(ctx));
}

using motet::adamw_step;

// AdamW (Loshchilov and Hutter), with decoupled decay and epsilon outside the root. With `clear` the gradient
// is left zero for the next step. With `copy` the new weights are written there, too, narrower: what matrix
// products read.
template <class T>
void adamw(context& ctx, T* weight, T* gradient, T* first, T* second, index count, const adamw_step& step,
           bool clear, bf16* copy = nullptr) {
  ctx.note("adamw", 12 * static_cast<double>(count),
           detail::bytes_of_update<T>(count, clear, copy != nullptr));
  if (ctx.measuring() || count == 0) return;
  auto& copies = ctx.on->part<weight_copies>();
  if (copy == nullptr || copy != copies.copy_of(weight)) copies.changed(weight, count);
  const chunked_runs<detail::adamw_record<T>> runs(
      detail::record_of<T>({weight, gradient, first, second, count, true, false}, copy));
  if (clear) detail::update<true>(ctx, runs, step);
  else detail::update<false>(ctx, runs, step);
}

// What one update moves. Memory of the runs may be there only when the list is first used; where copies of
// weights are kept (weight_copies), the update writes them as well.
template <class T>
class adamw_list {
 public:
  adamw_list() = default;
  explicit adamw_list(std::vector<adamw_run<T>> runs) : all_(std::move(runs)) {}
  const std::vector<adamw_run<T>>& all() const { return all_; }
  // Takes memory of the GPU; else the first use does.
  void prepare(context& ctx) const { runs(ctx); }
  // The runs are for an update that is about to begin; they are made again where other copies are kept than
  // before.
  chunked_runs<detail::adamw_record<T>> runs(context& ctx) const {
    if (ctx.measuring()) return {};
    auto& copies = ctx.on->template part<weight_copies>();
    if (made_ != copies.version()) {
      std::vector<detail::adamw_record<T>> records;
      beside_.clear();
      for (const adamw_run<T>& each : all_) {
        bf16* copy = each.only_clears || each.count == 0 ? nullptr : copies.copy_of(each.weight);
        const bool whole =
            copy != nullptr && copies.copy_of(each.weight + each.count - 1) == copy + each.count - 1;
        if (copy != nullptr && !whole) beside_.push_back(each);
        records.push_back(detail::record_of(each, whole ? copy : nullptr));
      }
      table_.put(ctx, std::move(records));
      made_ = copies.version();
    }
    for (const adamw_run<T>& each : beside_) copies.changed(each.weight, each.count);
    return table_.runs();
  }
  void note(context& ctx) const {
    double flops = 0, bytes = 0;
    for (const adamw_run<T>& each : all_) {
      const auto count = static_cast<double>(each.count);
      flops += each.only_clears ? 0 : 12 * count;
      bytes +=
          each.only_clears ? count * bytes_of<T> : detail::bytes_of_update<T>(each.count, true, each.copied);
    }
    ctx.note("adamw", flops, bytes);
  }

 private:
  std::vector<adamw_run<T>> all_;
  mutable chunk_table<detail::adamw_record<T>> table_;
  mutable std::vector<adamw_run<T>> beside_;  // with a copy of a part only
  mutable std::uint64_t made_ = 0;            // the version of copies that the table was made for
};
// Leaves all gradients zero. step.decay is that of the runs that decay.
template <class T>
void adamw(context& ctx, const adamw_list<T>& list, const adamw_step& step) {
  list.note(ctx);
  if (!ctx.measuring()) detail::update<true>(ctx, list.runs(ctx), step);
}
// Clips by these sums, which it reads itself: they may still be on their way. Where they do not allow it,
// weights, moments and gradients stay as they are.
template <class T>
void adamw(context& ctx, const adamw_list<T>& list, const adamw_step& step, const real& loss,
           const real& squares, double clip) {
  list.note(ctx);
  if (!ctx.measuring()) detail::update<true>(ctx, list.runs(ctx), step, {loss, squares, clip});
}

// The number there is no larger than this afterwards.
template <class T>
void clamp_to(context& ctx, T* at, std::type_identity_t<T> most) {
  ctx.note("clamp_to", 0, 2 * bytes_of<T>);
  if (!ctx.measuring()) detail::clamp(ctx, at, most, {});
}
// Nothing is clamped where the sums do not allow an update.
template <class T>
void clamp_to(context& ctx, T* at, std::type_identity_t<T> most, const real& loss, const real& squares) {
  ctx.note("clamp_to", 0, 2 * bytes_of<T>);
  if (!ctx.measuring()) detail::clamp(ctx, at, most, {loss, squares, 0});
}

}  // namespace motet::cuda
