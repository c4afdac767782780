// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/stage.hpp>
#include <motet/runtime/boundary.hpp>
#include <motet/runtime/held_memory.hpp>
#include <motet/runtime/replica_microbatches.hpp>

namespace motet {

// Where a stage stands in a program, and what the program asks of it.
struct stage_position {
  std::int32_t rank = 0;
  stage_range range;
  bool learns = true;
  bool splits = false;                   // backward comes in two parts
  bool remade = false;                   // backward makes again what it needs, from the rows that came in
  bool sums_each = false;                // gradients are kept elsewhere
  tensor_cut cut;                        // which part of its parameters is here
  index parameters = 0, moments = 0;     // elements here, and of each moment of them
  std::int32_t slots = 0;                // microbatches kept at once
  std::int32_t in[3] = {}, out[3] = {};  // boundary buffers: forward, replay, backward
};

// What a stage keeps on its rank, in bytes.
struct stage_memory {
  index weights = 0, gradients = 0, optimizer = 0;
  index slots = 0;       // what backward needs, of all microbatches that are kept at once
  index boundaries = 0;  // rows that come in and go out
  index total() const { return weights + gradients + optimizer + slots + boundaries; }
  void add(const stage_memory& other) {
    for (const auto field :
         {&stage_memory::weights, &stage_memory::gradients, &stage_memory::optimizer, &stage_memory::slots, &stage_memory::boundaries})
      this->*field += other.*field;
  }
};

struct stage_needs {
  stage_memory own;
  index slot = 0;               // bytes of one
  index work = 0, scratch = 0;  // the most that an operation takes for itself, in memory that all stages of a rank share
};

// What backward needs of a microbatch, made again from the rows that came in; those that go out are made too, and dropped.
template <class Stage, class Numbers, class Context, class Input>
void remake(Context& ctx, stage_range range, weights<Numbers> w, const Input& batch, typename Stage::template ends<Numbers> ends,
            typename Stage::template saved<Numbers>& saved, index rows) {
  Stage::template reserve<Numbers>(ctx, range, batch, saved, w.cut);
  if (Stage::is_last(range)) ends.features = ctx.memory.template take_rows<typename Numbers::master, Stage::embedding>(ends.d_features.rows);
  else ends.y = ctx.memory.template take_rows<typename Numbers::stream, Stage::width>(rows);
  Stage::forward(ctx, range, w, batch, ends, saved);
}

// Counted by dry runs of every operation over the largest microbatch.
template <class Net, class Context, class Numbers>
stage_needs measure_stage(const stage_position& at, const replica_microbatches<Net>& parts) {
  using stage = typename Net::stage;
  using stream = typename Numbers::stream;
  using master = typename Numbers::master;
  const auto largest = parts.largest();
  const sequences seq = Net::rows(largest);
  const index boundary = parts.largest_rows().rows();
  typename stage::template ends<Numbers> ends;
  const view<stream, stage::width> rows{nowhere<stream>(), boundary};
  if (!stage::is_first(at.range)) ends.x = ends.dx = rows;
  if (!stage::is_last(at.range)) ends.dy = ends.y = rows;
  else ends.d_features = ends.features = {nowhere<master>(), seq.samples};

  stage_needs found;
  const auto widest = [](index& most, index value) { most = value > most ? value : most; };
  // What `body` leaves in memory, which begins as it was left before.
  const auto dry = [&](const arena& before, auto&& body) {
    Context ctx;
    ctx.memory = before;
    ctx.shared = parts.largest_shared();
    body(ctx);
    widest(found.scratch, ctx.scratch.peak());
    return ctx.memory;
  };
  const auto temporaries = [&](auto&& body) { widest(found.work, dry({}, body).peak()); };

  const index of_parameters = at.parameters * static_cast<index>(sizeof(master));
  found.own.weights = of_parameters;
  // Where products keep copies in their own precision, these are there too.
  if constexpr (requires(Context& ctx, const master* w) { keep_weights<typename Numbers::value>(ctx, w, index{0}); })
    if constexpr (sizeof(typename Numbers::value) < sizeof(master))
      found.own.weights += at.parameters * static_cast<index>(sizeof(typename Numbers::value));
  for (int kind = 0; kind < 3; ++kind) found.own.boundaries += (at.in[kind] + at.out[kind]) * boundary_bytes<stream>(boundary, stage::width);
  const weights<Numbers> w{nowhere<master>(), at.cut};
  temporaries([&](Context& ctx) { stage::infer(ctx, at.range, w, largest, ends); });
  if (!at.learns) return found;

  found.own.gradients = at.sums_each ? 0 : of_parameters;
  found.own.optimizer = 2 * at.moments * static_cast<index>(sizeof(master));
  const gradients<Numbers> g{nowhere<master>(), at.cut};
  typename stage::template saved<Numbers> saved;
  if (at.remade) {
    temporaries([&](Context& ctx) {
      remake<stage, Numbers>(ctx, at.range, w, largest, ends, saved, boundary);
      stage::backward(ctx, at.range, w, largest, ends, saved, g);
    });
    return found;
  }
  const arena kept = dry({}, [&](Context& ctx) { stage::template reserve<Numbers>(ctx, at.range, largest, saved, at.cut); });
  found.slot = kept.mark();
  temporaries([&](Context& ctx) {
    if (stage::is_last(at.range)) ctx.memory.template take_rows<master, stage::embedding>(seq.samples);  // when it runs again
    stage::forward(ctx, at.range, w, largest, ends, saved);
  });
  temporaries([&](Context& ctx) { stage::backward(ctx, at.range, w, largest, ends, saved, g); });
  if (at.splits) {
    const arena both = dry(kept, [&](Context& ctx) {
      stage::backward_input(ctx, at.range, w, largest, ends, saved);
      stage::backward_weight(ctx, at.range, w, largest, ends, saved, g);
    });
    widest(found.slot, both.peak());
  }
  found.own.slots = found.slot * at.slots;
  return found;
}

}  // namespace motet
