// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/groups/courier.hpp>
#include <motet/runtime/messages.hpp>
#include <motet/runtime/ranks/executor.hpp>
#include <motet/runtime/ranks/far_mover.hpp>
#include <motet/runtime/stage/net_table.hpp>
#include <motet/runtime/state/held_memory.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace motet {

// A lane of a rank as its stages see it: what it computes with. Where the host's processors compute, that is
// a team of threads, the lane's own and others that wait for its work; where they only begin what a GPU does,
// the rank's own thread. Most ranks compute in one lane.
template <class Context, class Numbers, class Endpoint>
struct rank_state {
  using context = Context;
  using stream = typename Numbers::stream;
  using master = typename Numbers::master;
  std::int32_t rank = 0, lane = 0;
  int threads = 1;
  bool fp8 = false;            // linear layers in fp8 where they would be in bf16, if the context has that
  std::string offload_folder;  // of what leaves a stage's slots; none: memory of the process
  Endpoint* end = nullptr;
  const score_sheet* sheet = nullptr;
  Context ctx;  // of the lane's own thread; its memory is set for each instruction
  arena work;   // temporaries of one instruction
  std::chrono::steady_clock::time_point move_began{};  // of the last move to far memory or back
  // seconds by section, where threads of the host compute
  std::remove_pointer_t<decltype(Context{}.costs)> costs;
  buffer_for<Context, std::byte> work_memory, scratch_memory;

  // scratch_bytes: of each thread.
  void prepare(isize work_bytes, isize scratch_bytes) {
    ctx = {};
    ctx.costs = &costs;
    // The end knows on what this rank computes.
    if constexpr (requires { end->prepare(ctx, lane); }) {
      if (end != nullptr) end->prepare(ctx, lane);
    } else if constexpr (requires { end->prepare(ctx); }) {
      if (end != nullptr) end->prepare(ctx);
    }
    if constexpr (requires { ctx.fp8; }) {
      ctx.fp8 = fp8;
      if (ctx.on != nullptr) require_fp8(ctx);
    }
    forget_recorded(ctx);
    scratch_each_ = round_up(scratch_bytes, arena::alignment);
    work_memory = buffer_for<Context, std::byte>(work_bytes);
    scratch_memory = buffer_for<Context, std::byte>(scratch_each_ * threads);
    work = arena_of(work_memory);
    ctx.memory = work;
    ctx.scratch = scratch_of(0);
    if constexpr (has_team) {
      if (team_ && team_->size() != threads) team_.reset();
      if (threads > 1 && !team_) team_ = std::make_unique<typename Context::team>(threads);
    }
  }
  // Others may work with what this rank has between steps: no numbers are drawn, and temporaries are free.
  Context between_steps() {
    ctx.draws = {};
    ctx.draws.dropout = false;
    ctx.shared = nullptr;
    ctx.memory = work;
    if constexpr (requires { end->begin(ctx); }) end->begin(ctx);
    return ctx;
  }
  // Sees to rows of others while this lane computes; null where streams do. MT-R64 where nobody can.
  courier* beside() {
    if constexpr (!works_on_host<Context>) {
      return nullptr;
    } else if constexpr (takes_turns<Endpoint>) {
      if (!courier_) courier_ = std::make_unique<courier>(*end);
      return courier_.get();
    } else {
      fail(pieces_not_there, sentence({"rank ", rank, " is to compute while rows are exchanged in pieces"}));
    }
  }
  // What backward needs may leave the rank's memory; MT-R71 where its device keeps it.
  void require_offload() const {
    if constexpr (!works_on_host<Context>)
      fail(offload_not_there, sentence({"rank ", rank, " is to put what backward needs elsewhere"}));
  }
  // Whether a move is over; asked again until it is. A thread of its own does it where it can wake the rank's
  // end when it is done.
  bool moved(const far_move& wanted) {
    if constexpr (requires { requires Endpoint::wakes_from_anywhere; }) {
      if (end != nullptr) {
        if (!mover_) mover_ = std::make_unique<far_mover>(*end);
        if (!mover_->is_busy()) move_began = std::chrono::steady_clock::now();
        return mover_->moved(wanted);
      }
    }
    move_began = std::chrono::steady_clock::now();
    wanted.run();
    return true;
  }
  // After a failure no move is under way any more.
  void rest_moves() {
    if (mover_) mover_->rest();
  }
  // Some samples stay whole here while others are cut; MT-R69 where its device cannot.
  void keep_samples_whole() const {
    if constexpr (!requires { requires Context::keeps_samples_whole; })
      fail(whole_samples_not_there, sentence({"rank ", rank, " is to keep some whole beside others"}));
  }
  // Other lanes of the rank go on meanwhile, where they have threads of their own.
  template <class Body>
  void apart(Body&& body) {
    if constexpr (requires { end->apart(body); })
      if (end != nullptr) return end->apart(body);
    body();
  }
  // Work that all threads do together: body(ctx, thread), each with a context of its own.
  template <class Body>
  void together(Body&& body) {
    begin_sections();
    if constexpr (has_team) {
      if (team_) {
        const Context begun = ctx;
        team_->run([&](int t) {
          Context own = begun;
          own.crew = team_.get();
          own.thread = t;
          own.threads = threads;
          own.scratch = scratch_of(t);
          body(own, t);
          if (t == 0) ctx.memory = own.memory;
        });
        return;
      }
    }
    body(ctx, 0);
  }
  // Work that may be recorded leaves views for each thread: body(ctx, views).
  template <class Shape, class Body>
  void together(Shape&& shape, std::vector<kept_views>& kept, Body&& body) {
    if (threads > 1) return together([&](Context& on, int t) { body(on, kept[as_size(t)]); });
    begin_sections();
    run_recorded(
        ctx, shape, [&](Context& on) { body(on, kept[0]); }, kept[0]);
  }

 private:
  // Time between instructions is nobody's.
  void begin_sections() {
    if constexpr (requires { ctx.since; }) ctx.since = {};
  }
  static constexpr bool has_team = requires { typename Context::team; };
  struct nobody {};
  template <class C>
  static auto team_type() {
    if constexpr (has_team) return std::unique_ptr<typename C::team>{};
    else return nobody{};
  }
  arena scratch_of(int thread) const {
    return scratch_each_ > 0 ? arena(scratch_memory.data() + thread * scratch_each_, scratch_each_)
                             : arena(nowhere<std::byte>(), 0);
  }

  isize scratch_each_ = 0;
  std::unique_ptr<courier> courier_;
  std::unique_ptr<far_mover> mover_;
  decltype(team_type<Context>()) team_;
};

}  // namespace motet
