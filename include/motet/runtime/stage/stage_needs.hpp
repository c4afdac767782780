// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/messages.hpp>
#include <motet/runtime/stage/net_table.hpp>
#include <motet/runtime/state/boundary.hpp>
#include <motet/runtime/state/held_memory.hpp>
#include <motet/runtime/state/optimizer.hpp>
#include <motet/runtime/state/rank_memory.hpp>

namespace motet {

// The seats say where each microbatch of a stage lies in any step of one score: which slot it has, and for
// rows that come in, forward, replayed and back, which buffer. A program that is known fixes them
// (seats_of_stage).
struct stage_seats {
  std::vector<std::int32_t> slots;  // -1: backward does not come to it
  std::vector<std::int32_t> back;   // and which when it comes back from far memory; -1: it stays
  std::vector<buffer_seat> in[3];
};

// The order of a score decides this of a stage.
struct stage_order {
  list<std::int32_t> turns[3];  // of buffers for rows that come in, as buffer_counts has them
  // Where these are known, slots and buffers have no memory of their own: each step lays them out in the room
  // of the rank, by its rows.
  stage_seats seats;
};

// The position says where a stage stands in a program, and what the program asks of it: of several scores
// that take turns, the most that any asks.
struct stage_position {
  const char* name = "";  // of its module
  std::int32_t rank = 0;
  stage_range range;
  bool learns = true;         // backward goes through it
  bool fixed = false;         // its weights stay as they are all the same
  bool feeds_back = true;     // of a first stage that is fed: gradients are wanted there
  isize targets = 1;          // of a last stage that gives rows: the modules that it feeds
  bool hands_out = false;     // likewise: rows of a microbatch go to ranks that cut samples, in their order
  bool brings_in = false;     // of a first stage: rows come from ranks that cut samples, each its own
  bool splits = false;        // backward comes in two parts
  bool remade = false;        // backward makes again what it needs, from the rows that came in
  bool recompute = false;     // towers keep only the input of each block
  bool keep_outputs = false;  // of norms and activations
  bool sums_each = false;     // gradients are kept elsewhere
  bool gathers_each = false;  // weights are kept in shares, as moments are
  tensor_cut cut;             // which part of its parameters is here
  isize parameters = 0;       // elements here
  isize resting = 0;          // and of weights beside adapters, which these are then
  isize lent = 0;             // of the memory in which shares of weights come together
  isize moments = 0, seconds = 0, averages = 0;  // of both moments, and of averages of weights
  std::int32_t slots = 0;                        // microbatches kept at once
  std::int32_t offloaded = 0;                    // and those that wait in far memory at once
  std::int32_t in[3] = {}, out[3] = {};          // boundary buffers: forward, replay, backward
  std::vector<stage_order> orders{1};            // of each score
  std::int32_t scores() const { return static_cast<std::int32_t>(orders.size()); }
  const stage_order& order(std::int32_t score) const { return orders[as_size(score)]; }
  bool by_rows() const { return !order(0).seats.slots.empty(); }

  // A buffer has room for so many times the rows that leave: as they are made, and for each module in the
  // order in which its ranks take them; and for so many times their gradients.
  // And for so many times those that come in.
  isize copies_in() const { return brings_in ? 2 : 1; }
  isize copies_out() const { return hands_out ? 1 + targets : 1; }
  isize copies_back() const { return hands_out ? 2 * targets : targets; }
};

// Throws where backward comes in two parts and what both need is not kept.
inline void require_kept(const stage_position& at, std::int32_t s, std::string_view name) {
  if (at.remade && at.splits)
    fail(program_does_not_fit,
         sentence({"stage ", s, " of ", name, " makes again what backward needs, and the schedule splits ",
                   "backward; take another schedule, or keep it"}));
  if (at.remade && at.offloaded > 0)
    fail(program_does_not_fit, sentence({"stage ", s, " of ", name,
                                         " makes again what backward needs, and the program offloads it; ",
                                         "take one of the two"}));
}

struct stage_needs {
  stage_memory own;
  isize slot = 0;  // bytes of one
  // the most that an operation takes for itself, in memory that all stages of a rank share
  isize work = 0, scratch = 0;
};

// What the layers of a stage ask the context for.
template <class Context>
void tell(Context& ctx, const stage_position& at) {
  if constexpr (requires { ctx.recompute; }) ctx.recompute = at.recompute;
  if constexpr (requires { ctx.keep_outputs; }) ctx.keep_outputs = at.keep_outputs;
}

// All ends of a stage for dry runs over the largest microbatch, which follow no address.
template <class Context, class Numbers>
stage_ends<Numbers> dry_ends(const net_table<Context, Numbers>& net, const stage_position& at,
                             const any_microbatches& parts, isize m = any_microbatches::largest) {
  using stream = typename Numbers::stream;
  using master = typename Numbers::master;
  stage_ends<Numbers> ends;
  ends.feeds_back = at.feeds_back;
  const net_outline& of = *net.of;
  const auto rows = [](isize count, isize width) {
    return matrix<stream>{nowhere<stream>(), count, width, width};
  };
  if (of.comes_in(at.range)) {
    const auto in = rows(of.rows_in(at.range, parts, m), of.width_in(at.range));
    ends.x = in;
    if (!of.is_first(at.range) || at.feeds_back) ends.dx = in;
  }
  if (of.goes_out(at.range)) {
    ends.dy = ends.y = rows(of.rows_out(at.range, parts, m), of.width_out(at.range));
    if (at.targets > 1) ends.copies = ends.y;
  } else {
    ends.d_features = ends.features =
        matrix<master>{nowhere<master>(), parts.whole_rows(m).samples, of.embedding, of.embedding};
  }
  return ends;
}

// The gradients that come from several modules, each with its own copy: dy becomes their sum.
template <class Context, class Numbers>
void add_gradients(Context& ctx, const stage_position& at, const stage_ends<Numbers>& ends) {
  using stream = typename Numbers::stream;
  if (ends.copies.data == nullptr) return;
  const matrix<stream> sum = ends.copies;
  for (isize k = 1; k < at.targets; ++k)
    add(ctx, sequences{sum.rows, 1, nullptr}, sum,
        matrix<stream>{sum.data + k * sum.rows * sum.stride, sum.rows, sum.width, sum.stride}, sum);
  synchronize(ctx);
}

// Makes again what backward needs of a microbatch, from the rows that came in; those that go out are made
// too, and dropped.
template <class Context, class Numbers>
void remake(Context& ctx, const net_table<Context, Numbers>& net, stage_range range, weights<Numbers> w,
            const any_microbatches& parts, isize m, stage_ends<Numbers> ends, kept_views& kept) {
  using stream = typename Numbers::stream;
  using master = typename Numbers::master;
  const isize width = net.of->width_out(range), features = net.of->embedding;
  net.reserve(ctx, range, parts, m, kept, w.cut);
  if (!net.of->goes_out(range))
    ends.features = {ctx.memory.template take<master>(ends.d_features.rows * features), ends.d_features.rows,
                     features, features};
  else ends.y = {ctx.memory.template take<stream>(ends.dy.rows * width), ends.dy.rows, width, width};
  net.forward(ctx, range, w, parts, m, ends, kept);
}

// Both parts of backward; of a stage whose weights stay as they are the input part alone.
template <class Context, class Numbers>
void run_backward(Context& ctx, const net_table<Context, Numbers>& net, const stage_position& at,
                  weights<Numbers> w, const any_microbatches& parts, isize m, const stage_ends<Numbers>& ends,
                  kept_views& kept, gradients<Numbers> g) {
  add_gradients<Context, Numbers>(ctx, at, ends);
  if (at.fixed) net.backward_input(ctx, at.range, w, parts, m, ends, kept);
  else net.backward(ctx, at.range, w, parts, m, ends, kept, g);
}

// The bytes that a microbatch's slot has from its forward to the end of its backward. dry(before, body) runs
// the body in a context whose memory begins so, and returns what it leaves.
template <class Context, class Numbers, class Dry>
isize slot_bytes(const net_table<Context, Numbers>& net, const stage_position& at,
                 const any_microbatches& parts, isize m, kept_views& kept, Dry&& dry) {
  using master = typename Numbers::master;
  if (!at.learns || at.remade) return 0;
  const arena slot = dry(arena{}, [&](Context& ctx) { net.reserve(ctx, at.range, parts, m, kept, at.cut); });
  if (!at.splits) return slot.mark();
  const weights<Numbers> w{nowhere<master>(), at.cut};
  const stage_ends<Numbers> ends = dry_ends(net, at, parts, m);
  const arena both = dry(slot, [&](Context& ctx) {
    add_gradients<Context, Numbers>(ctx, at, ends);
    net.backward_input(ctx, at.range, w, parts, m, ends, kept);
    net.backward_weight(ctx, at.range, w, parts, m, ends, kept, {nowhere<master>(), at.cut});
  });
  return std::max(slot.mark(), both.peak());
}

// The matrices of these runs take this while Muon moves them, one after the other.
template <class Context, class Master>
stage_needs update_needs(std::span<const parameter_run> runs, int threads) {
  stage_needs found;
  if constexpr (moves_matrices<Context, Master>) {
    for (const parameter_run& each : runs)
      for (int t = 0; each.rows > 0 && t < threads; ++t) {
        Context ctx = dry_context<Context>(t, threads);
        const matrix_run<Master> one{nowhere<Master>(), nowhere<Master>(), nowhere<Master>(),
                                     each.rows / each.stacked, each.size / each.rows};
        muon(ctx, std::span(&one, 1), update_step{});
        found.work = std::max(found.work, ctx.memory.peak());
        found.scratch = std::max(found.scratch, ctx.scratch.peak());
      }
  }
  return found;
}

// Dry runs of every operation over the largest microbatch count it, for each of so many threads, as shares
// are not always equal; with linear layers in fp8, where the context has that.
template <class Context, class Numbers>
stage_needs measure_stage(const net_table<Context, Numbers>& net, const stage_position& at,
                          const any_microbatches& parts, int threads = 1, bool fp8 = false) {
  using stream = typename Numbers::stream;
  using master = typename Numbers::master;
  constexpr isize largest = any_microbatches::largest;
  const stage_ends<Numbers> ends = dry_ends(net, at, parts);

  stage_needs found;
  const auto widest = [](isize& most, isize value) { most = value > most ? value : most; };
  // Runs `body` and returns what it leaves in memory, which begins as it was left before; the same on all
  // threads.
  const auto dry = [&](const arena& before, auto&& body) {
    arena left;
    for (int t = 0; t < threads; ++t) {
      Context ctx = dry_context<Context>(t, threads, fp8);
      ctx.memory = before;
      tell(ctx, at);
      ctx.shared = parts.shared(largest);
      body(ctx);
      widest(found.scratch, ctx.scratch.peak());
      left = ctx.memory;
    }
    return left;
  };
  const auto temporaries = [&](auto&& body) { widest(found.work, dry({}, body).peak()); };

  const isize of_parameters = at.parameters * static_cast<isize>(sizeof(master));
  found.own.weights = (at.gathers_each ? at.moments + at.lent : at.parameters + at.resting) *
                      static_cast<isize>(sizeof(master));
  // Copies that products keep in their own precision are there too.
  using value = typename Numbers::value;
  if constexpr (requires(const Context& ctx) { weight_copy_bytes<value, master>(ctx, isize{0}); })
    found.own.weights +=
        weight_copy_bytes<value, master>(dry_context<Context>(0, threads, fp8), at.parameters + at.resting);
  const isize rows_out = net.of->rows_out(at.range, parts, largest),
              rows_in = net.of->rows_in(at.range, parts, largest),
              bytes_in = boundary_bytes<stream>(rows_in * at.copies_in(), net.of->width_in(at.range)),
              bytes_out = boundary_bytes<stream>(rows_out * at.copies_out(), net.of->width_out(at.range)),
              bytes_back = boundary_bytes<stream>(rows_out * at.copies_back(), net.of->width_out(at.range));
  // Rows come from before and go on behind, gradients the other way.
  for (int kind = 0; kind < 3; ++kind)
    found.own.boundaries +=
        at.in[kind] * (kind == 2 ? bytes_back : bytes_in) + at.out[kind] * (kind == 2 ? bytes_in : bytes_out);
  const weights<Numbers> w{nowhere<master>(), at.cut};
  temporaries([&](Context& ctx) { net.infer(ctx, at.range, w, parts, largest, ends); });
  if (!at.learns) return found;

  found.own.gradients = at.sums_each || at.fixed ? 0 : of_parameters;
  found.own.optimizer = (at.moments + at.seconds) * static_cast<isize>(sizeof(master));
  found.own.averages = at.averages * static_cast<isize>(sizeof(master));
  const gradients<Numbers> g{nowhere<master>(), at.cut};
  kept_views kept = net.views();
  const auto backward = [&](Context& ctx) { run_backward(ctx, net, at, w, parts, largest, ends, kept, g); };
  if (at.remade) {
    temporaries([&](Context& ctx) {
      remake(ctx, net, at.range, w, parts, largest, ends, kept);
      backward(ctx);
    });
    return found;
  }
  found.slot = slot_bytes(net, at, parts, largest, kept, dry);
  temporaries([&](Context& ctx) {
    // when it runs again
    if (!net.of->goes_out(at.range)) ctx.memory.template take<master>(ends.features.rows * net.of->embedding);
    net.forward(ctx, at.range, w, parts, largest, ends, kept);
  });
  temporaries(backward);
  found.own.slots = found.slot * at.slots;
  found.own.offloaded = round_up(found.slot, arena::alignment) * at.offloaded;
  return found;
}

}  // namespace motet
