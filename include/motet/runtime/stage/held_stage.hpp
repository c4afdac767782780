// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/gradient_sink.hpp>
#include <motet/nn/core/weight_lender.hpp>
#include <motet/runtime/stage/stage_rows.hpp>

namespace motet {

// One stage of a module on its rank: parameters, slots and the rows at its ends, and what each operation does
// with them. The code is the same for every net, cut, schedule and number of microbatches.
template <class Context, class Numbers, class Endpoint>
class held_stage {
 public:
  using stream = typename Numbers::stream;
  using master = typename Numbers::master;
  using home_type = rank_state<Context, Numbers, Endpoint>;
  using net_type = net_table<Context, Numbers>;
  using rows_type = stage_rows<Context, Numbers, Endpoint>;

  held_stage(home_type& home, const net_type& net, const stage_position& at, const any_microbatches& parts)
      : home_(home),
        net_(net),
        at_(at),
        parts_(parts),
        rows_(home, *net.of, at_, parts),
        state_of_(as_size(parts.count())),
        kept_bytes_(state_of_.size(), 0),
        passing_(views()) {
    if (at_.by_rows()) seat();
    if (at_.offloaded > 0) home_.require_offload();
  }
  held_stage(const held_stage&) = delete;
  held_stage& operator=(const held_stage&) = delete;
  ~held_stage() {
    if (at_.offloaded > 0) home_.rest_moves();
  }

  // The rows that come to the stage and leave it, to be connected with other stages'.
  rows_type& rows() { return rows_; }
  // Each microbatch has a place of its features and of their gradient, on the last stage.
  void set_features(std::vector<matrix<master>> features, std::vector<matrix<const master>> gradients) {
    features_ = std::move(features);
    d_features_ = std::move(gradients);
  }

  // This sink is told which gradients are final while the last backward of a step runs, or each where they
  // are kept elsewhere; nobody by default.
  void set_sink(gradient_sink sink) { sink_ = sink; }
  // Where weights are kept in shares, each layer asks this one for its own.
  void set_lender(weight_lender lender) { lender_ = lender; }

  const stage_position& at() const { return at_; }
  home_type& home() const { return home_; }
  // A stage that does not learn has only the weights. Where these are kept in shares, they lie as moments do.
  master* weights_data() const { return weights_.data(); }
  master* gradients_data() const { return gradients_.data(); }
  master* first() const { return first_.data(); }
  master* second() const { return second_.data(); }
  master* average() const { return average_.data(); }

  stage_needs measure() const { return measure_stage(net_, at_, parts_, home_.threads, home_.fp8); }
  // Takes all memory; moments begin at zero.
  void prepare(const stage_needs& measured) {
    using value = typename Numbers::value;
    const isize held = at_.gathers_each ? at_.moments : at_.parameters + at_.resting;
    if constexpr (requires {
                    keep_weights<value>(home_.ctx, static_cast<const master*>(nullptr), isize{0});
                  }) {
      if (weights_.size() > 0) drop_weights(home_.ctx, static_cast<const master*>(weights_.data()));
      weights_ = buffer_type(held);
      keep_weights<value>(home_.ctx, static_cast<const master*>(weights_.data()), held);
    } else {
      weights_ = buffer_type(held);
    }
    slots_.clear();
    if (at_.learns) {
      gradients_ = buffer_type(at_.sums_each || at_.fixed ? 0 : at_.parameters);
      first_ = buffer_type(at_.moments);
      second_ = buffer_type(at_.seconds);
      average_ = buffer_type(at_.averages);
      for (buffer_type* each : {&gradients_, &first_, &second_, &average_})
        zero(home_.ctx, each->data(), each->size());
      slots_.resize(as_size(at_.remade ? 0 : at_.slots));
      for (slot& each : slots_) {
        if (!at_.by_rows()) each.take(measured.slot);
        each.kept = views();
      }
    }
    if (!at_.by_rows()) take_far(measured.slot);
    passing_ = views();
    rows_.prepare();
  }
  // The lane has another number of threads from now on, between steps.
  void prepare_threads(const stage_needs& measured) {
    for (slot& each : slots_) {
      if (!at_.by_rows() && each.bytes < measured.slot) each.take(measured.slot);
      each.kept = views();
    }
    passing_ = views();
  }
  // Where each step lays slots and rows out: all that decides what a step that is cut needs, the bytes of its
  // microbatches' slots, and their place in the room of the rank.
  void step_shape(std::vector<isize>& into) const {
    into.insert(into.end(), {home_.threads, playing_});
    for (isize m = 0; m < parts_.count(); ++m) {
      into.insert(into.end(), {rows_of(static_cast<std::int32_t>(m)), rows_.in(m), rows_.out(m)});
      parts_.shape(m, into);
    }
  }
  void measure_step() {
    for (std::int32_t m = 0; m < parts_.count(); ++m)
      kept_bytes_[as_size(m)] =
          slot_bytes(net_, at_, parts_, m, passing_[0], [&](const arena& before, auto&& body) {
            Context ctx = dry_context<Context>(0, home_.threads, home_.fp8);
            ctx.memory = before;
            tell(ctx, at_);
            ctx.shared = parts_.shared(m);
            body(ctx);
            return ctx.memory;
          });
  }
  void lay_out_slots(arena& room) {
    for (slot& each : slots_) each.bytes = 0;
    isize longest = 0;
    for (std::size_t m = 0; m < state_of_.size() && !slots_.empty(); ++m) {
      for (const std::int32_t own : {seats().slots[m], seats().back[m]})
        if (own >= 0) slots_[as_size(own)].bytes = std::max(slots_[as_size(own)].bytes, kept_bytes_[m]);
      longest = std::max(longest, kept_bytes_[m]);
    }
    for (slot& each : slots_) each.data = room.take<std::byte>(each.bytes);
    if (!room.measuring()) take_far(longest);
  }
  // Called between steps: the next one plays this score.
  void play(std::int32_t score) {
    playing_ = score;
    rows_.play(score);
  }
  // All messages of the step before were taken.
  void begin_step(bool zero_gradients) {
    left_ = static_cast<std::int32_t>(parts_.count());
    rows_.begin_step();
    if (zero_gradients) zero(home_.ctx, gradients_.data(), gradients_.size());
  }
  // The most that a slot ever held, to compare with what was measured.
  isize used_of_slots() const {
    isize most = 0;
    for (const slot& each : slots_) most = std::max(most, each.used);
    return most;
  }

  // The addresses from here on stand for weights, and for gradients that are kept elsewhere.
  master* base() const { return at_.gathers_each ? standing_address<master>() : weights_.data(); }

  // The action of an instruction; none for what a stage does not do itself.
  action action_of(op what) {
    switch (what) {
      case op::forward: return {&run<&held_stage::forward>, this};
      case op::forward_only: return {&run<&held_stage::forward_only>, this};
      case op::re_forward: return {&run<&held_stage::re_forward>, this};
      case op::backward: return {&run<&held_stage::backward>, this};
      case op::backward_input: return {&run<&held_stage::backward_input>, this};
      case op::backward_weight: return {&run<&held_stage::backward_weight>, this};
      case op::offload: return {&run<&held_stage::offload>, this, &home_.move_began};
      case op::fetch: return {&run<&held_stage::fetch>, this, &home_.move_began};
      default: return rows_.action_of(what);
    }
  }

 private:
  using buffer_type = buffer_for<Context, master>;
  using ends_type = stage_ends<Numbers>;
  using all_views = std::vector<kept_views>;  // of each thread
  struct slot {
    buffer_for<Context, std::byte> memory;  // none where each step lays slots out
    std::byte* data = nullptr;
    isize bytes = 0;
    arena at;  // what is in use
    all_views kept;
    isize used = 0;
    bool busy = false;
    void take(isize wanted) {
      memory = buffer_for<Context, std::byte>(wanted);
      data = memory.data();
      bytes = wanted;
    }
    void note(const arena& now) {
      at = now;
      used = std::max(used, now.peak());
    }
  };
  struct microbatch_state {
    int slot = -1;
    int far = -1;    // its seat in far memory
    int kind = 0;    // of the rows that came: 1 when they were forwarded again
    ends_type ends;  // between backward's two parts
  };

  template <bool (held_stage::*Operation)(const instruction&, std::int32_t)>
  static bool run(void* self, const instruction& it, std::int32_t number) {
    return (static_cast<held_stage*>(self)->*Operation)(it, number);
  }

  const stage_seats& seats() const { return at_.order(playing_).seats; }
  // Slots and buffers are there, and have no memory yet.
  void seat() {
    slots_.resize(as_size(at_.learns && !at_.remade ? at_.slots : 0));
    rows_.seat();
  }

  all_views views() const { return all_views(as_size(home_.threads), net_.views()); }
  matrix<master> rows_of_features(Context& ctx, isize samples) const {
    return {ctx.memory.template take<master>(samples * net_.of->embedding), samples, net_.of->embedding,
            net_.of->embedding};
  }
  microbatch_state& state(std::int32_t m) { return state_of_[as_size(m)]; }
  slot& slot_of(std::int32_t m) { return slots_[as_size(state(m).slot)]; }
  isize rows_of(std::int32_t m) const { return parts_.rows(m).rows(); }
  Context& context(const arena& memory, std::int32_t m) { return tell_of(home_.ctx, memory, m); }
  Context& tell_of(Context& ctx, const arena& memory, std::int32_t m) const {
    ctx.memory = memory;
    tell(ctx, at_);
    ctx.draws.first_row = parts_.first_row(m);
    ctx.shared = parts_.shared(m);
    return ctx;
  }
  motet::weights<Numbers> w() const { return {base(), at_.cut}; }
  motet::gradients<Numbers> g() const { return {at_.sums_each ? base() : gradients_.data(), at_.cut}; }

  // All ends of a forward, or of a backward; false when what it makes has nowhere to go yet.
  bool forward_ends(int kind, std::int32_t m, ends_type& ends) {
    if (rows_.comes_in()) ends.x = rows_.incoming(kind, m);
    if (rows_.goes_out()) return rows_.outgoing(kind, m, ends.y);
    ends.features = features_[as_size(m)];
    return true;
  }
  bool backward_ends(std::int32_t m, ends_type& ends) {
    ends.feeds_back = at_.feeds_back;
    if (rows_.goes_out()) ends.dy = rows_.incoming(2, m), ends.copies = rows_.copies(m);
    else ends.d_features = d_features_[as_size(m)];
    if (rows_.comes_in()) ends.x = rows_.incoming(state(m).kind, m, true);
    return !rows_.goes_back() || rows_.outgoing(2, m, ends.dx);
  }

  // All that decides what work an operation gives; memory of the context is told by the context. Numbers are
  // read where they lie: those of a microbatch's input in the same place in each step.
  auto shape_of(op what, std::int32_t m, const ends_type& ends) {
    return [this, what, m, &ends](std::vector<isize>& into) {
      const auto address = [](const auto* at) { return reinterpret_cast<isize>(at); };
      const bool kept = at_.learns && !at_.remade && what != op::forward_only;
      into.insert(into.end(),
                  {address(this), static_cast<isize>(what), address(weights_.data()),
                   kept ? address(slot_of(m).data) : 0, address(ends.x.data), address(ends.y.data),
                   address(ends.features.data), address(ends.dy.data), address(ends.d_features.data),
                   address(ends.dx.data), m, rows_of(m), rows_.in(m)});
      rows_.shape(into);
      parts_.shape(m, into);
    };
  }

  // All threads of the lane do this for an instruction, filed under the module's name.
  template <class Body>
  void work(op what, std::int32_t m, const ends_type& ends, all_views& kept, Body&& body) {
    if constexpr (requires { home_.ctx.lender; }) home_.ctx.lender = lender_;
    home_.apart([&] {
      home_.together(shape_of(what, m, ends), kept, [&](Context& ctx, kept_views& own) {
        const auto section = enter(ctx, at_.name);
        rows_.gather(ctx);
        body(ctx, own);
        rows_.hand_over(ctx);
      });
    });
    if constexpr (requires { home_.ctx.lender; }) home_.ctx.lender = {};
    rows_.handed_over();
  }

  bool infer(int kind, std::int32_t m) {
    ends_type ends;
    if (!forward_ends(kind, m, ends)) return false;
    context(home_.work, m);
    work(op::forward_only, m, ends, passing_,
         [&](Context& ctx, kept_views&) { net_.infer(ctx, at_.range, w(), parts_, m, ends); });
    if (rows_.comes_in()) rows_.give(kind, m);
    return true;
  }
  bool keep(int kind, std::int32_t m) {
    if (!at_.learns) return infer(kind, m);
    ends_type ends;
    if (!forward_ends(kind, m, ends)) return false;
    microbatch_state& own = state(m);
    own.kind = kind;
    // Other ranks may still be fetching what the first forward brought to the join.
    const auto aside = [&](Context& ctx) {
      ends_type to = ends;
      if (kind == 1 && !rows_.goes_out()) to.features = rows_of_features(ctx, ends.features.rows);
      return to;
    };
    const op what = kind == 1 ? op::re_forward : op::forward;
    if (at_.remade) {
      context(home_.work, m);
      work(what, m, ends, passing_,
           [&](Context& ctx, kept_views&) { net_.infer(ctx, at_.range, w(), parts_, m, aside(ctx)); });
      return true;
    }
    slot& into = take_slot(m, false, home_.ctx);
    context(home_.work, m);
    work(what, m, ends, into.kept, [&](Context& ctx, kept_views& kept) {
      net_.forward(ctx, at_.range, w(), parts_, m, aside(ctx), kept);
    });
    return true;
  }
  bool forward(const instruction& it, std::int32_t) { return keep(0, it.microbatch); }
  bool forward_only(const instruction& it, std::int32_t) { return infer(0, it.microbatch); }
  bool re_forward(const instruction& it, std::int32_t) { return keep(1, it.microbatch); }

  // A slot that is free, and views of it.
  slot& take_slot(std::int32_t m, bool comes_back, Context& keeps) {
    microbatch_state& own = state(m);
    if (at_.by_rows()) own.slot = (comes_back ? seats().back : seats().slots)[as_size(m)];
    for (std::size_t i = 0; i < slots_.size() && own.slot == -1; ++i)
      if (!slots_[i].busy) own.slot = static_cast<int>(i);
    slot& into = slot_of(m);
    into.busy = true;
    // Every thread's views are of the same memory.
    for (kept_views& each : into.kept) {
      tell_of(keeps, arena_of(into.data, into.bytes), m);
      net_.reserve(keeps, at_.range, parts_, m, each, at_.cut);
      into.note(keeps.memory);
    }
    return into;
  }
  // Each microbatch that waits in far memory has a seat of so many bytes.
  void take_far(isize bytes) {
    far_each_ = round_up(bytes, arena::alignment);
    away_.assign(as_size(at_.offloaded), 0);
    if (const isize all = far_each_ * at_.offloaded; all > far_.size())
      far_ = far_memory(all, home_.offload_folder);
  }
  bool offload(const instruction& it, std::int32_t) {
    microbatch_state& own = state(it.microbatch);
    slot& from = slot_of(it.microbatch);
    if (own.far < 0) own.far = static_cast<int>(std::find(away_.begin(), away_.end(), 0) - away_.begin());
    away_[as_size(own.far)] = 1;
    if (!home_.moved({&far_, own.far * far_each_, from.data, from.at.mark(), true})) return false;
    from.busy = false;
    own.slot = -1;
    return true;
  }
  bool fetch(const instruction& it, std::int32_t) {
    microbatch_state& own = state(it.microbatch);
    if (own.slot < 0) {
      // The lane of this stage may be computing, with the home's context.
      Context keeps = dry_context<Context>(0, home_.threads, home_.fp8);
      take_slot(it.microbatch, true, keeps);
    }
    const slot& into = slot_of(it.microbatch);
    if (!home_.moved({&far_, own.far * far_each_, into.data, into.at.mark(), false})) return false;
    away_[as_size(own.far)] = 0;
    own.far = -1;
    return true;
  }

  void free(std::int32_t m) {
    if (!at_.remade) slot_of(m).busy = false;
    if (rows_.comes_in()) rows_.give(state(m).kind, m);
    if (rows_.goes_out()) rows_.give(2, m);
    state(m).slot = -1;
  }
  bool backward(const instruction& it, std::int32_t) {
    const std::int32_t m = it.microbatch;
    ends_type ends;
    if (!backward_ends(m, ends)) return false;
    Context& ctx = context(home_.work, m);
    if ((--left_ == 0 || at_.sums_each) && !at_.fixed) ctx.sink = sink_;
    work(op::backward, m, ends, at_.remade ? passing_ : slot_of(m).kept, [&](Context& on, kept_views& kept) {
      if (at_.remade) remake(on, net_, at_.range, w(), parts_, m, ends, kept);
      run_backward(on, net_, at_, w(), parts_, m, ends, kept, g());
    });
    ctx.sink = {};
    free(m);
    return true;
  }
  // The input part leaves in the slot what the weight part needs.
  bool backward_input(const instruction& it, std::int32_t) {
    const std::int32_t m = it.microbatch;
    ends_type ends;
    if (!backward_ends(m, ends)) return false;
    slot& from = slot_of(m);
    Context& ctx = context(from.at, m);
    work(op::backward_input, m, ends, from.kept, [&](Context& on, kept_views& kept) {
      add_gradients<Context, Numbers>(on, at_, ends);
      net_.backward_input(on, at_.range, w(), parts_, m, ends, kept);
    });
    from.note(ctx.memory);
    state(m).ends = ends;
    return true;
  }
  bool backward_weight(const instruction& it, std::int32_t) {
    const std::int32_t m = it.microbatch;
    slot& from = slot_of(m);
    Context& ctx = context(from.at, m);
    if (--left_ == 0 || at_.sums_each) ctx.sink = sink_;
    work(op::backward_weight, m, state(m).ends, from.kept, [&](Context& on, kept_views& kept) {
      if (!at_.fixed) net_.backward_weight(on, at_.range, w(), parts_, m, state(m).ends, kept, g());
    });
    ctx.sink = {};
    from.note(ctx.memory);
    free(m);
    return true;
  }

  home_type& home_;
  const net_type& net_;
  stage_position at_;
  const any_microbatches& parts_;
  rows_type rows_;
  gradient_sink sink_;
  weight_lender lender_;
  std::int32_t left_ = 0;     // backwards of this step that are still to come
  std::int32_t playing_ = 0;  // the score of the step
  std::vector<microbatch_state> state_of_;
  std::vector<isize> kept_bytes_;  // of each microbatch's slot in a step, where steps lay them out
  all_views passing_;              // of an operation that leaves none behind
  std::vector<slot> slots_;
  far_memory far_;
  isize far_each_ = 0;
  std::vector<std::uint8_t> away_;  // of each seat in far memory
  std::vector<matrix<master>> features_;
  std::vector<matrix<const master>> d_features_;
  buffer_type weights_, gradients_, first_, second_, average_;
};

}  // namespace motet
