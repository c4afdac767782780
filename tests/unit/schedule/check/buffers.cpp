// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/check/buffers.hpp>

#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/core/compose.hpp>
#include <motet/schedule/write/schedules.hpp>

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

using namespace motet;

namespace {

// Runs a program with so many buffers, ranks at speeds of their own. Buffers are what held_stage does: rows
// that come in take any free one until nobody reads them, rows that leave are written to one of a ring that
// must have been emptied.
class bounded_run {
 public:
  bounded_run(const program& of, const buffer_counts& counts, unsigned seed)
      : of_(of), counts_(counts), draw_(seed) {
    REQUIRE(build_graph(of, delivery::buffered, graph_).ok());
    done_.resize(static_cast<std::size_t>(of.instructions.size()), false);
    for (motet::isize l = 0; l < graph_.lane_ranks.size(); ++l) at_.push_back(graph_.lane_starts[l]);
    for (std::int32_t r = 0; r < of.ranks(); ++r) weight_.push_back(1 + static_cast<int>(draw_() % 3) * 20);
    for (std::int32_t i = 0; i < of.instructions.size(); ++i)
      if (is_receive(of.instructions[i].what)) receives_[key(of.instructions[i])] = i;
  }
  // Returns true when all of it ran; else some lanes wait for ever.
  bool run() {
    for (;;) {
      std::vector<std::size_t> able;
      std::vector<int> chance;
      for (std::size_t l = 0; l < at_.size(); ++l) {
        if (at_[l] == graph_.lane_starts[static_cast<motet::isize>(l) + 1] || !can(head(l))) continue;
        able.push_back(l);
        chance.push_back(weight_[static_cast<std::size_t>(graph_.lane_ranks[static_cast<motet::isize>(l)])]);
      }
      if (able.empty()) break;
      const std::size_t l = able[static_cast<std::size_t>(
          std::discrete_distribution<int>(chance.begin(), chance.end())(draw_))];
      perform(head(l));
      done_[static_cast<std::size_t>(head(l))] = true;
      ++at_[l];
    }
    for (const bool each : done_)
      if (!each) return false;
    return true;
  }
  // The most that each pool and ring held.
  bool filled() const {
    bool all = true;
    for (const auto& [pool, most] : most_) all = all && most <= counts_.in[pool.second][pool.first];
    return all;
  }

 private:
  using cell = std::tuple<int, motet::isize, std::int32_t>;  // kind, place, microbatch
  static int kind_of(op what) {
    if (what == op::re_forward || what == op::send_replay || what == op::receive_replay) return 1;
    return is_backward(what) || what == op::send_backward || what == op::receive_backward ? 2 : 0;
  }
  motet::isize place(const instruction& it, int further = 0) const {
    return of_.voices[it.voice].first_place + it.stage + further;
  }
  cell key(const instruction& receive) const {
    return {kind_of(receive.what), place(receive), receive.microbatch};
  }
  std::int32_t head(std::size_t l) const { return graph_.order[at_[l]]; }

  // `outgoing` says where the rows go that an instruction makes; kind -1: nowhere.
  struct outgoing {
    int kind = -1;
    motet::isize target = 0;
    bool local = false;
  };
  outgoing made_by(const instruction& it) const {
    if (!is_compute(it.what) || it.what == op::join || it.what == op::backward_weight) return {};
    const voice& sings = of_.voices[it.voice];
    const int kind = kind_of(it.what), further = kind == 2 ? -1 : 1;
    if (it.stage + further < 0 || it.stage + further >= sings.stages) return {};
    const motet::isize target = place(it, further);
    return {kind, target, of_.places[target] == of_.places[place(it)]};
  }
  bool has_room(int kind, motet::isize where) const {
    const auto found = live_.find({where, kind});
    return (found == live_.end() ? 0 : found->second) < counts_.in[kind][where];
  }
  void take(int kind, motet::isize where) {
    auto& own = live_[{where, kind}];
    auto& most = most_[{where, kind}];
    most = std::max(most, ++own);
  }
  void give(int kind, motet::isize where) {
    CHECK(live_[{where, kind}] > 0);
    --live_[{where, kind}];
  }

  bool can(std::int32_t i) const {
    for (const std::int32_t each : graph_.waits_of(i))
      if (each >= 0 && !done_[static_cast<std::size_t>(each)]) return false;
    const instruction& it = of_.instructions[i];
    if (graph_.meetings[i] >= 0) {
      // All members must stand at their join.
      std::int32_t there = 0;
      for (std::size_t l = 0; l < at_.size(); ++l)
        for (std::int32_t p = graph_.lane_starts[static_cast<motet::isize>(l)];
             p < graph_.lane_starts[static_cast<motet::isize>(l) + 1] && p <= at_[l]; ++p)
          there += graph_.meetings[graph_.order[p]] == graph_.meetings[i] ? 1 : 0;
      return there == graph_.meeting_sizes[graph_.meetings[i]];
    }
    if (is_receive(it.what)) return has_room(kind_of(it.what), place(it));
    const outgoing out = made_by(it);
    if (out.kind < 0) return true;
    if (out.local) return has_room(out.kind, out.target);
    const auto ring = rings_.find({place(it), out.kind});
    const auto size = static_cast<std::size_t>(counts_.out[out.kind][place(it)]);
    if (ring == rings_.end() || ring->second.size() < size) return size > 0;
    // The message that was in this buffer before.
    const std::int32_t taken = receives_.at({out.kind, out.target, ring->second[ring->second.size() - size]});
    return done_[static_cast<std::size_t>(taken)];
  }
  void perform(std::int32_t i) {
    const instruction& it = of_.instructions[i];
    if (is_receive(it.what)) return take(kind_of(it.what), place(it));
    if (const outgoing out = made_by(it); out.kind >= 0) {
      if (out.local) take(out.kind, out.target);
      else rings_[{place(it), out.kind}].push_back(it.microbatch);
    }
    if (!is_compute(it.what) || it.what == op::join) return;
    const voice& sings = of_.voices[it.voice];
    if (it.what == op::re_forward) replayed_.insert({0, place(it), it.microbatch});
    if (it.stage > 0 && (it.what == op::forward_only || (it.what == op::forward && !sings.learns)))
      give(0, place(it));
    if (it.what != op::backward && it.what != op::backward_weight) return;
    if (it.stage > 0) give(static_cast<int>(replayed_.count({0, place(it), it.microbatch})), place(it));
    if (it.stage + 1 < sings.stages) give(2, place(it));
  }

  const program& of_;
  const buffer_counts& counts_;
  program_graph graph_;
  std::mt19937 draw_;
  std::vector<bool> done_;
  std::vector<std::int32_t> at_;
  std::vector<int> weight_;
  std::map<cell, std::int32_t> receives_;
  std::map<std::pair<motet::isize, int>, int> live_, most_;
  std::map<std::pair<motet::isize, int>, std::vector<std::int32_t>> rings_;
  std::set<cell> replayed_;
};

buffer_counts counted(const program& of) {
  buffer_counts found;
  REQUIRE(count_buffers(of, found).ok());
  return found;
}
std::vector<std::int32_t> numbers(const list<std::int32_t>& from) { return {from.begin(), from.end()}; }
using counts = std::vector<std::int32_t>;

constexpr std::int32_t rows_kept_by_second_stage() {
  buffer_counts found;
  return count_buffers(compile(gpipe::write({2, 5})), found).ok() ? found.in[0][1] : -1;
}
static_assert(rows_kept_by_second_stage() == 5);

}  // namespace

TEST_CASE("as many as a pipeline keeps, and one to come early") {
  const buffer_counts all_forward = counted(compile(gpipe::write({3, 4})));
  CHECK(numbers(all_forward.in[0]) == counts{0, 4, 4});
  CHECK(numbers(all_forward.in[1]) == counts{0, 0, 0});
  CHECK(numbers(all_forward.in[2]) == counts{2, 2, 0});
  const buffer_counts in_turns = counted(compile(one_f_one_b::write({3, 8})));
  CHECK(numbers(in_turns.in[0]) == counts{0, 3, 2});
  CHECK(numbers(in_turns.in[2]) == counts{2, 2, 0});
  for (const buffer_counts& each : {all_forward, in_turns}) {
    CHECK(numbers(each.out[0]) == counts{2, 2, 0});
    CHECK(numbers(each.out[2]) == counts{0, 2, 2});
  }
  // A split backward keeps its incoming gradient until the weight part is done.
  CHECK(numbers(counted(compile(zb_h1::write({3, 8}))).in[2]) == counts{2, 3, 0});
}

TEST_CASE("one microbatch needs one buffer, one rank none that leave") {
  const buffer_counts one = counted(compile(one_f_one_b::write({3, 1})));
  CHECK(numbers(one.in[0]) == counts{0, 1, 1});
  CHECK(numbers(one.out[0]) == counts{1, 1, 0});
  score here;
  voice made;
  made.stages = made.chunks = 3;
  made.microbatches = 2;
  here.add(made, [](int) { return 0; });
  here.rank();
  for (int m = 0; m < 2; ++m)
    for (int s = 0; s < 3; ++s) here.play(op::forward, 0, s, m);
  for (int m = 0; m < 2; ++m)
    for (int s = 3; s-- > 0;) here.play(op::backward, 0, s, m);
  const buffer_counts own = counted(compile(here));
  CHECK(numbers(own.in[0]) == counts{0, 2, 2});
  CHECK(numbers(own.in[2]) == counts{1, 1, 0});
  CHECK(numbers(own.out[0]) == counts{0, 0, 0});
}

TEST_CASE("rows that are replayed have buffers of their own, the first ones are given back at once") {
  const buffer_counts all = counted(compile(batch_sync::write({{{3, 8, 8, 0}}, 1})));
  CHECK(numbers(all.in[0]) == counts{0, 2, 2});
  CHECK(numbers(all.in[1]) == counts{0, 3, 2});
  CHECK(numbers(all.out[1]) == counts{2, 2, 0});
}

TEST_CASE("with so many the program runs to its end whatever the speed of its ranks") {
  list<program> all;
  for (const char* name :
       {"gpipe", "1f1b", "interleaved", "zb_h1", "zb_h2", "zb_v", "zb_auto", "dualpipe_v"}) {
    for (const int stages : {2, 4}) {
      const score one = write_schedule(name, {.stages = stages, .microbatches = 8});
      all.push(compile(one));
      all.push(compile(joined(beside(one, write_schedule(name, {.stages = 2, .microbatches = 8})),
                              name == gpipe::name ? 2 : 8)));
    }
  }
  all.push(compile(batch_sync::write({{{4, 16, 4, 1}, {2, 8, 2, 0, 1}}, 2})));
  all.push(compile(without_backward(batch_sync::write({{{3, 8, 4, 2}, {3, 8, 4, 1}}, 2}), 1)));
  for (const program& of : all) {
    CAPTURE(of.ranks());
    const buffer_counts found = counted(of);
    for (unsigned seed = 0; seed < 6; ++seed) {
      bounded_run run(of, found, seed);
      CHECK(run.run());
      CHECK(run.filled());
    }
  }
}

TEST_CASE("with fewer it may stop: the run above can fail") {
  const program of = compile(gpipe::write({3, 6}));
  buffer_counts few = counted(of);
  few.in[0][1] = 5;
  CHECK(!bounded_run(of, few, 1).run());
  few = counted(of);
  few.out[2][2] = 0;
  CHECK(!bounded_run(of, few, 1).run());
}

TEST_CASE("what is no legal program is refused") {
  program wrong = compile(one_f_one_b::write({2, 2}));
  wrong.instructions[0].microbatch = 1;
  buffer_counts found;
  CHECK(!count_buffers(wrong, found).ok());
}
