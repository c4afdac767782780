// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/draw_key.hpp>
#include <motet/backend/core/scratch_scope.hpp>
#include <motet/backend/core/step_costs.hpp>
#include <motet/backend/cpu/device/team.hpp>
#include <motet/nn/core/gradient_sink.hpp>
#include <motet/nn/core/weight_lender.hpp>
#include <motet/tensor/arena.hpp>
#include <motet/tensor/sequences.hpp>

#include <chrono>

namespace motet {
struct microbatch_spread;
}

namespace motet::cpu {

using profile = step_costs;
using motet::draw_key;
using motet::scratch_scope;
using motet::section_cost;

// A sum that an operation found, such as a loss.
using real = double;

template <class T>
class update_list;
template <class T>
class flat_list;
template <class T>
class average_list;

// Operations of the CPU run on a context. Each thread of a team has its own; all threads take the same steps
// on `memory`, so their copies agree.
struct context {
  using real = cpu::real;
  using team = cpu::team;
  template <class T>
  using buffer = motet::buffer<T>;
  template <class T>
  using update_list = cpu::update_list<T>;
  template <class T>
  using flat_list = cpu::flat_list<T>;
  template <class T>
  using average_list = cpu::average_list<T>;

  // memory is what a step is short of, and the caches have what comes again
  static constexpr bool spares_passes = false;
  // Words attend to rows of another module.
  static constexpr bool looks_beside = true;
  // Short samples stay whole where a context group cuts long ones.
  static constexpr bool keeps_samples_whole = true;
  // Products take operands of any width equally fast.
  template <class T>
  static constexpr isize product_columns = 1;

  team* crew = nullptr;  // none: one thread
  int thread = 0;
  int threads = 1;
  arena memory;   // shared by the team: what nets take
  arena scratch;  // this thread's own: what an operation takes and gives back before it returns
  profile* costs = nullptr;
  int section = -1;                             // number in costs
  std::chrono::steady_clock::time_point since;  // when the open section was last settled
  draw_key draws;
  const microbatch_spread* shared = nullptr;  // with whom this rank computes; none: alone
  // of one sample in the losses that layers add themselves: 1 / samples of the step
  double sample_share = 1;
  bool recompute = false;     // towers keep only the input of each block, and make the rest again
  bool keep_outputs = false;  // of norms and activations, until backward
  gradient_sink sink;         // who wants to know that gradients are final
  weight_lender lender;       // who has the weights of a layer

  // A dry run: operations take memory and note their work, and touch no data.
  bool measuring() const { return memory.measuring(); }
  // Every operation says once what it does; FLOPs as a multiply and an add each, bytes as the least that must
  // move.
  void note(const char* operation, double flops, double bytes, flops_of kind = flops_of::elements) {
    if (measuring() && costs != nullptr && thread == 0) costs->note(section, operation, flops, bytes, kind);
  }
  interval own(const sequences& seq) const { return seq.part_rows(thread, threads); }
  interval own_samples(const sequences& seq) const { return seq.part(thread, threads); }
  // This thread's share of `count` columns or elements, in multiples of `grain`.
  interval own(isize count, isize grain = 16) const {
    const isize grains = (count + grain - 1) / grain;
    const isize first = grains * thread / threads * grain, last = grains * (thread + 1) / threads * grain;
    return {first < count ? first : count, last < count ? last : count};
  }
};

inline void synchronize(context& ctx) {
  if (ctx.crew != nullptr && !ctx.measuring()) ctx.crew->barrier();
}

inline double number_of(context&, real found) { return found; }

// Another thread may still read what lies above the mark, so giving it back is a meeting.
inline void release(context& ctx, isize mark) {
  synchronize(ctx);
  ctx.memory.release(mark);
}

// No later operation of this backward adds to these gradients.
inline void gradients_ready(context& ctx, const void* data, isize count) {
  if (!ctx.sink || count == 0 || ctx.measuring()) return;
  synchronize(ctx);
  if (ctx.thread == 0) ctx.sink.told(ctx.sink.self, data, count);
}

// Gradients that belong at `data` are added where this says, as the sink may keep them elsewhere.
template <class T>
T* gradients_at(context& ctx, T* data, isize count) {
  if (ctx.sink.where == nullptr || count == 0 || ctx.measuring()) return data;
  synchronize(ctx);
  void* const found = ctx.thread == 0 ? ctx.sink.where(ctx.sink.self, data, count) : nullptr;
  synchronize(ctx);
  return static_cast<T*>(found != nullptr ? found : ctx.sink.where(ctx.sink.self, data, count));
}

// Weights that belong at `data` lie here while their layer computes.
template <class T>
const T* weights_at(context& ctx, const T* data, isize count) {
  if (count == 0 || !ctx.lender.lends(data) || ctx.measuring()) return data;
  synchronize(ctx);
  const void* const found = ctx.thread == 0 ? ctx.lender.where(ctx.lender.self, data, count) : nullptr;
  synchronize(ctx);
  return static_cast<const T*>(found != nullptr ? found : ctx.lender.where(ctx.lender.self, data, count));
}

// Files time, FLOPs and bytes under a name until the end of the scope; the inner section wins, and time is
// not counted twice.
class section_scope {
 public:
  section_scope(context& ctx, const char* name) : ctx_(ctx), outer_(ctx.section) {
    settle();
    if (ctx_.costs != nullptr && ctx_.thread == 0) ctx_.section = ctx_.costs->inside(ctx_.section, name);
  }
  section_scope(const section_scope&) = delete;
  section_scope& operator=(const section_scope&) = delete;
  ~section_scope() {
    settle();
    ctx_.section = outer_;
  }

 private:
  using clock = std::chrono::steady_clock;
  // Time since the last change of section belongs to the section that was open.
  void settle() {
    if (ctx_.costs == nullptr || ctx_.thread != 0 || ctx_.measuring()) return;
    const auto now = clock::now();
    if (ctx_.since != clock::time_point{})
      ctx_.costs->at(ctx_.section).seconds += std::chrono::duration<double>(now - ctx_.since).count();
    ctx_.since = now;
  }
  context& ctx_;
  int outer_;
};

inline section_scope enter(context& ctx, const char* name) { return section_scope(ctx, name); }

}  // namespace motet::cpu
