// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/draw_key.hpp>
#include <motet/backend/core/scratch_scope.hpp>
#include <motet/backend/core/step_costs.hpp>
#include <motet/backend/cuda/device/engine.hpp>
#include <motet/backend/cuda/device/profiler_range.hpp>
#include <motet/nn/core/gradient_sink.hpp>
#include <motet/tensor/arena.hpp>
#include <motet/tensor/dtype.hpp>

#include <type_traits>

namespace motet {
struct microbatch_spread;
}

namespace motet::cuda {

using profile = step_costs;
using motet::draw_key;
using motet::scratch_scope;

template <class T>
class update_list;
template <class T>
class flat_list;
template <class T>
class average_list;

// Operations of a GPU run on a context: they begin work on the engine's stream, in order, and return. There
// is one thread, which the team of a contract is.
struct context {
  using real = cuda::real;
  template <class T>
  using buffer = cuda::buffer<T>;
  template <class T>
  using update_list = cuda::update_list<T>;
  template <class T>
  using flat_list = cuda::flat_list<T>;
  template <class T>
  using average_list = cuda::average_list<T>;

  static constexpr bool spares_passes = true;  // the time of a pass is that of its bytes
  static constexpr int thread = 0, threads = 1;
  // Rows of products' operands are a multiple of sixteen bytes, which their kernels move at once. fp32
  // products are no faster so.
  template <class T>
  static constexpr isize product_columns = std::is_same_v<T, bf16> ? 8 : 1;
  engine* on = nullptr;  // none: a dry run
  arena memory;          // of the GPU: what nets take
  // of the GPU: what an operation takes and gives back before it returns; the next one may take it at once,
  // as it runs later
  arena scratch;
  profile* costs = nullptr;
  int section = -1;  // number in costs
  // but for the step, which kernels read from engine::step(): a recorded graph is replayed in other steps
  draw_key draws;
  const microbatch_spread* shared = nullptr;
  double sample_share = 1;
  bool fp8 = false;           // products of linear layers that would be in bf16: see fp8.hpp
  bool recompute = false;     // towers keep only the input of each block, and make the rest again
  bool keep_outputs = false;  // of norms and activations, until backward
  gradient_sink sink;

  // A dry run: operations take memory and note their work, and begin nothing.
  bool measuring() const { return memory.measuring(); }
  // Whoever gives the GPU work notes it, once for each kernel, copy, or call of a library: FLOPs as a
  // multiply and an add each, bytes as they cross its memory.
  void note(const char* operation, double flops, double bytes, flops_of kind = flops_of::elements) {
    if (measuring() && costs != nullptr) costs->note(section, operation, flops, bytes, kind);
  }
  cudaStream_t stream() const { return on->stream(); }
};

// Operations run in the order of their stream.
inline void synchronize(context&) {}
inline void release(context& ctx, isize mark) { ctx.memory.release(mark); }

// No later operation of this backward adds to these gradients.
inline void gradients_ready(context& ctx, const void* data, isize count) {
  if (ctx.sink && count > 0 && !ctx.measuring()) ctx.sink.told(ctx.sink.self, data, count);
}
// Gradients that belong at `data` are added where this says, as the sink may keep them elsewhere.
template <class T>
T* gradients_at(context& ctx, T* data, isize count) {
  if (ctx.sink.where == nullptr || count == 0 || ctx.measuring()) return data;
  void* const found = ctx.sink.where(ctx.sink.self, data, count);
  return found != nullptr ? static_cast<T*>(found) : data;
}

// The host has the number only after the GPU, for which this waits.
inline double number_of(context& ctx, const real& found) {
  return ctx.on == nullptr ? 0 : ctx.on->read(found);
}

// Files FLOPs and bytes of a dry run under a name until the end of the scope; the inner section wins.
// Profilers show the host's time of a run by it.
class section_scope {
 public:
  section_scope(context& ctx, const char* name)
      : ctx_(ctx), outer_(ctx.section), shown_(ctx.measuring() ? nullptr : name) {
    if (ctx_.costs != nullptr) ctx_.section = ctx_.costs->inside(ctx_.section, name);
  }
  section_scope(const section_scope&) = delete;
  section_scope& operator=(const section_scope&) = delete;
  ~section_scope() { ctx_.section = outer_; }

 private:
  context& ctx_;
  int outer_;
  profiler_range shown_;
};

inline section_scope enter(context& ctx, const char* name) { return section_scope(ctx, name); }

}  // namespace motet::cuda
