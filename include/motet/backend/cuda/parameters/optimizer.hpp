// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/amounts.hpp>
#include <motet/backend/core/update_step.hpp>
#include <motet/backend/cuda/kernels/flat_runs.hpp>
#include <motet/backend/cuda/kernels/runs.hpp>
#include <motet/backend/cuda/parameters/squares.hpp>
#include <motet/backend/cuda/products/weight_copies.hpp>

#include <cmath>
#include <type_traits>

// Flat buffers of parameters. All of these move each byte once, sixteen at a time, and are as quick as the
// memory. An element of fp32 costs
//   adamw
//       32 bytes: weight, gradient and two moments are read and written, the gradient as the zero that the
//       next step begins with; 34 where products take weights in bf16, as their copy is written from
//       registers and zero 4 bytes, which a step does without. A list of runs is one launch, however many
//       tensors there are.
//   lion
//       24 bytes, as it has one moment

namespace motet::cuda {

namespace detail {

// The numbers of an update as the elements need them.
template <class T>
struct adamw_factors {
  static constexpr bool has_second = true;  // moment
  T keep, take, root, clip, epsilon, new1, old2, new2;
  explicit adamw_factors(const update_step& step)
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
struct lion_factors {
  static constexpr bool has_second = false;
  T keep, take, clip, new1, new2;
  explicit lion_factors(const update_step& step)
      : keep(T(1 - step.rate * step.decay)),
        take(T(step.rate)),
        clip(T(step.clip_scale)),
        new1(T(1 - step.beta1)),
        new2(T(1 - step.beta2)) {}
  MOTET_HOST_DEVICE void turn(T& weight, T gradient, T& first, T&) const {
    const T g = gradient * clip, toward = (g - first) * new1 + first;
    first = (g - first) * new2 + first;
    weight = weight * keep - (T(toward > 0) - T(toward < 0)) * take;
  }
};

template <class T>
struct update_record {
  T *weight, *gradient, *first, *second;
  bf16* copy;  // or none
  flat_span span;
  isize first_chunk;
  int only_clears;
  T rate, fall;  // shares of the step's rate, and of what weights lose by decay
  isize chunks() const { return flat_chunk<T>::count(span); }
};
template <class T>
update_record<T> record_of(const update_run<T>& run, bf16* copy) {
  if (run.only_clears)
    return {nullptr, run.gradient,
            nullptr, nullptr,
            nullptr, flat_span_of(run.count, static_cast<const T*>(run.gradient)),
            0,       1,
            T(0),    T(0)};
  auto span =
      run.second != nullptr
          ? flat_span_of(run.count, static_cast<const T*>(run.weight), run.gradient, run.first, run.second)
          : flat_span_of(run.count, static_cast<const T*>(run.weight), run.gradient, run.first);
  constexpr auto narrow = sizeof(bf16) * as_size(pack<T>::size);
  if (copy != nullptr && reinterpret_cast<std::uintptr_t>(copy + span.head) % narrow != 0)
    span = {run.count, 0, 0};
  return {run.weight,  run.gradient,
          run.first,   run.second,
          copy,        span,
          0,           0,
          T(run.rate), run.decays ? T(run.rate) : T(0)};
}

template <class T, bool Clear, class Factors>
struct update_chunks {
  static constexpr int most_threads = 256;
  chunked_runs<update_record<T>> runs;
  guarding_sums guard;
  Factors numbers;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    Factors by = numbers;
    if (guard.there != 0) {
      const update_sums sums = guard.now();
      if (!sums.allow()) return;
      by.clip = T(sums.scale());
    }
    for (isize c = self.block(); c < runs.chunks; c += self.blocks()) {
      const auto& found = runs.record(c);
      const flat_chunk<T> own(found.span, c - found.first_chunk);
      if (found.only_clears != 0) {
        clear(self, own, found.gradient);
        continue;
      }
      // The numbers are exactly the step's own where the run has all of it, as most have.
      by.keep = found.fall == T(1) ? numbers.keep : T(1) - (T(1) - numbers.keep) * found.fall;
      by.take = numbers.take * found.rate;
      turn(self, own, by, found.weight, found.gradient, found.first, found.second, found.copy);
    }
  }

 private:
  template <class Thread>
  MOTET_HOST_DEVICE static void turn(Thread& self, const flat_chunk<T>& own, const Factors& by, T* weight,
                                     T* gradient, T* first, T* second, bf16* copy) {
    constexpr int size = pack<T>::size;
    for (isize p = own.packs.begin + self.thread(); p < own.packs.end; p += self.threads()) {
      const isize at = own.pack_at(p);
      pack<T> w = load_pack(weight + at), m = load_pack(first + at), v{};
      if constexpr (Factors::has_second) v = load_pack(second + at);
      const pack<T> g = load_pack(gradient + at);
      run<T, size> narrow;
      MOTET_UNROLLED
      for (int k = 0; k < size; ++k) {
        by.turn(w.of[k], g.of[k], m.of[k], v.of[k]);
        narrow.of[k] = w.of[k];
      }
      store_pack(first + at, m);
      if constexpr (Factors::has_second) store_pack(second + at, v);
      store_pack(weight + at, w);
      if (Clear) store_pack(gradient + at, pack<T>{});
      if (copy != nullptr) store_run(copy + at, narrow);
    }
    for (isize e = own.loose.begin + self.thread(); e < own.loose.end; e += self.threads()) {
      const isize at = own.loose_at(e);
      T w = weight[at], m = first[at], v = T(0);
      if constexpr (Factors::has_second) v = second[at];
      by.turn(w, gradient[at], m, v);
      first[at] = m;
      if constexpr (Factors::has_second) second[at] = v;
      weight[at] = w;
      if (Clear) gradient[at] = T(0);
      if (copy != nullptr) copy[at] = stored_as<bf16>(w);
    }
  }
  template <class Thread>
  MOTET_HOST_DEVICE static void clear(Thread& self, const flat_chunk<T>& own, T* gradient) {
    for (isize p = own.packs.begin + self.thread(); p < own.packs.end; p += self.threads())
      store_pack(gradient + own.pack_at(p), pack<T>{});
    for (isize e = own.loose.begin + self.thread(); e < own.loose.end; e += self.threads())
      gradient[own.loose_at(e)] = T(0);
  }
};

template <class T, bool Clear>
struct adamw_chunks : update_chunks<T, Clear, adamw_factors<T>> {};
template <class T, bool Clear>
struct lion_chunks : update_chunks<T, Clear, lion_factors<T>> {};

template <bool Clear, class T>
void update(context& ctx, const chunked_runs<update_record<T>>& runs, const update_step& step,
            const guarding_sums& guard = {}) {
  launch(ctx.stream(), {blocks_for(runs.chunks, 1), 256, 0},
         adamw_chunks<T, Clear>{{runs, guard, adamw_factors<T>(step)}});
}
template <bool Clear, class T>
void update_by_lion(context& ctx, const chunked_runs<update_record<T>>& runs, const update_step& step,
                    const guarding_sums& guard = {}) {
  launch(ctx.stream(), {blocks_for(runs.chunks, 1), 256, 0},
         lion_chunks<T, Clear>{{runs, guard, lion_factors<T>(step)}});
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
double bytes_of_update(isize count, bool clear, bool copied, int moments = 2) {
  return ((clear ? 4 : 3) * bytes_of<T> + 2 * moments * bytes_of<T> + (copied ? bytes_of<bf16> : 0)) *
         static_cast<double>(count);
}

}  // namespace detail

template <class T>
void zero(context& ctx, T* data, isize count) {
  ctx.note("clear", 0, static_cast<double>(count) * bytes_of<T>);
  if (ctx.measuring() || count == 0) return;
  check(cudaMemsetAsync(static_cast<void*>(data), 0, as_size(count) * sizeof(T), ctx.stream()),
        "cudaMemsetAsync");
}

using motet::update_step;

// AdamW (Loshchilov and Hutter), with decoupled decay and epsilon outside the root. With `clear` the gradient
// is left zero for the next step. With `copy` the new weights are written there, too, narrower: what matrix
// products read.
template <class T>
void adamw(context& ctx, T* weight, T* gradient, T* first, T* second, isize count, const update_step& step,
           bool clear, bf16* copy = nullptr) {
  ctx.note("adamw", 12 * static_cast<double>(count),
           detail::bytes_of_update<T>(count, clear, copy != nullptr));
  if (ctx.measuring() || count == 0) return;
  auto& copies = ctx.on->part<weight_copies>();
  if (copy == nullptr || copy != copies.copy_of(weight)) copies.changed(weight, count);
  const chunked_runs<detail::update_record<T>> runs(
      detail::record_of<T>({weight, gradient, first, second, count, true, false}, copy));
  if (clear) detail::update<true>(ctx, runs, step);
  else detail::update<false>(ctx, runs, step);
}

// One update moves the runs of a list. Their memory may be there only when the list is first used; where
// copies of weights are kept (weight_copies), the update writes them as well.
template <class T>
class update_list {
 public:
  update_list() = default;
  explicit update_list(std::vector<update_run<T>> runs) : all_(std::move(runs)) {}
  const std::vector<update_run<T>>& all() const { return all_; }
  // Takes memory of the GPU; else the first use does.
  void prepare(context& ctx) const { runs(ctx); }
  // The runs are for an update that is about to begin; they are made again where other copies are kept than
  // before.
  chunked_runs<detail::update_record<T>> runs(context& ctx) const {
    if (ctx.measuring()) return {};
    auto& copies = ctx.on->template part<weight_copies>();
    if (made_ != copies.version()) {
      std::vector<detail::update_record<T>> records;
      beside_.clear();
      for (const update_run<T>& each : all_) {
        bf16* copy = each.only_clears || each.count == 0 ? nullptr : copies.copy_of(each.weight);
        const bool whole =
            copy != nullptr && copies.copy_of(each.weight + each.count - 1) == copy + each.count - 1;
        if (copy != nullptr && !whole) beside_.push_back(each);
        records.push_back(detail::record_of(each, whole ? copy : nullptr));
      }
      table_.put(ctx, std::move(records));
      made_ = copies.version();
    }
    for (const update_run<T>& each : beside_) copies.changed(each.weight, each.count);
    return table_.runs();
  }
  void note(context& ctx, const char* name, double flops_of_element, int moments) const {
    double flops = 0, bytes = 0;
    for (const update_run<T>& each : all_) {
      const auto count = static_cast<double>(each.count);
      flops += each.only_clears ? 0 : flops_of_element * count;
      bytes += each.only_clears ? count * bytes_of<T>
                                : detail::bytes_of_update<T>(each.count, true, each.copied, moments);
    }
    ctx.note(name, flops, bytes);
  }

 private:
  std::vector<update_run<T>> all_;
  mutable chunk_table<detail::update_record<T>> table_;
  mutable std::vector<update_run<T>> beside_;  // with a copy of a part only
  mutable std::uint64_t made_ = 0;             // the version of copies that the table was made for
};
// Leaves all gradients zero. step.decay is that of the runs that decay.
template <class T>
void adamw(context& ctx, const update_list<T>& list, const update_step& step) {
  list.note(ctx, "adamw", 12, 2);
  if (!ctx.measuring()) detail::update<true>(ctx, list.runs(ctx), step);
}
// Clips by these sums, which it reads itself: they may still be on their way. Where they allow no update,
// weights, moments and gradients stay as they are.
template <class T>
void adamw(context& ctx, const update_list<T>& list, const update_step& step, const real& loss,
           const real& squares, double clip) {
  list.note(ctx, "adamw", 12, 2);
  if (!ctx.measuring()) detail::update<true>(ctx, list.runs(ctx), step, {loss, squares, clip});
}

// Lion (Chen and others, 2023), in the same ways; there is no second moment.
template <class T>
void lion(context& ctx, const update_list<T>& list, const update_step& step) {
  list.note(ctx, "lion", 10, 1);
  if (!ctx.measuring()) detail::update_by_lion<true>(ctx, list.runs(ctx), step);
}
template <class T>
void lion(context& ctx, const update_list<T>& list, const update_step& step, const real& loss,
          const real& squares, double clip) {
  list.note(ctx, "lion", 10, 1);
  if (!ctx.measuring()) detail::update_by_lion<true>(ctx, list.runs(ctx), step, {loss, squares, clip});
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
