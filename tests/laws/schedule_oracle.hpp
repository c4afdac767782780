// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/check/graph.hpp>
#include <motet/schedule/core/compile.hpp>

#include <array>
#include <map>
#include <set>
#include <vector>

namespace motet::laws {

// Says whether a program is legal, by what instructions mean: each needs facts and makes facts. Slow and
// plain on purpose, and nothing of it is shared with check(): there positions, lanes and counters; here a map
// of facts, and ranks that are asked in turn whether they can go on.
class oracle {
 public:
  enum fact_kind {
    input,
    ran,
    kept,
    replay_input,
    replayed,
    gradient,
    gave_input,
    gave_weight,
    met,
    loaded,
    offloaded,
    fetched,
    sent,
    reduced,
    updated
  };
  using fact = std::array<int, 5>;  // kind and, mostly, voice, stage, microbatch, part of its rows

  oracle(const program& of, delivery how) : of_(of), how_(how) {
    legal_ = tables_fit() && read_lists() && complete();
    if (legal_ && !can_run()) {
      legal_ = false;
      hangs_ = true;
    }
  }
  bool legal() const { return legal_; }
  bool hangs() const { return hangs_; }  // all lists are right, yet ranks wait for ever
  // Instruction i needs these to be done before it, apart from its lane.
  const std::set<int>& needs(int i) const { return needs_[static_cast<std::size_t>(i)]; }
  // Instruction i takes place together with these.
  const std::vector<int>& together(int i) const { return together_[static_cast<std::size_t>(i)]; }

 private:
  const voice& sings(const instruction& it) const { return of_.voices[it.voice]; }
  int place(int v, int s) const { return of_.place(of_.voices[v], s); }

  bool tables_fit() const {
    int places = 0, cells = 0;
    for (const voice& v : of_.voices) {
      if (v.stages < 1 || v.microbatches < 1 || v.chunks < 1 || v.first_place != places ||
          v.first_cell != cells)
        return false;
      if (v.join >= of_.joins || (v.join >= 0 && (v.group < 1 || v.microbatches % v.group != 0)))
        return false;
      for (const voice& w : of_.voices) {
        if (v.join >= 0 && v.join == w.join && v.joins() != w.joins()) return false;
        if (v.module == w.module && v.stages != w.stages) return false;
      }
      places += v.stages;
      cells += v.stages * v.microbatches;
    }
    for (const std::int32_t r : of_.places)
      if (r < 0 || r >= of_.ranks()) return false;
    return of_.places.size() == places && of_.slots.size() == places;
  }

  // Each list alone: what it asks of its own rank stands before it.
  bool read_lists() {
    const auto count = static_cast<std::size_t>(of_.instructions.size());
    needs_.resize(count);
    together_.resize(count);
    for (int r = 0; r < of_.ranks(); ++r) {
      facts_.clear();
      std::set<int> chain;       // what overlaps with the next
      std::vector<int> leaving;  // slots are left when all of a chain is done
      for (int i = of_.starts[r]; i < of_.starts[r + 1]; ++i) {
        const instruction& it = of_.instructions[i];
        if (!read(r, i, it)) return false;
        if (it.what == op::backward || it.what == op::backward_weight || it.what == op::offload)
          leaving.push_back(i);
        const bool overlapped = it.paired || !chain.empty();
        if (overlapped && (it.what > op::backward_weight)) return false;
        for (const int each : needs_[static_cast<std::size_t>(i)])
          if (chain.count(each) != 0) return false;
        if (it.paired) {
          if (i + 1 == of_.starts[r + 1] || of_.instructions[i + 1].lane != it.lane) return false;
          chain.insert(i);
        } else {
          chain.clear();
          for (const int each : leaving) leave(each);
          leaving.clear();
        }
      }
      for (const auto& each : facts_) everywhere_.insert(each);
    }
    return true;
  }
  bool has(const fact& wanted) const { return facts_.count(wanted) != 0; }
  bool need(int i, const fact& wanted) {
    const auto found = facts_.find(wanted);
    if (found == facts_.end()) return false;
    needs_[static_cast<std::size_t>(i)].insert(found->second);
    return true;
  }
  bool make(int i, const fact& made) { return facts_.insert({made, i}).second; }

  bool read(int r, int i, const instruction& it) {
    const int v = it.voice, s = it.stage, m = it.microbatch;
    if (it.what > op::fetch) return false;
    if (it.what == op::join) return read_join(r, i, v, m);
    if (v < 0 || v >= of_.voices.size() || s < 0 || s >= sings(it).stages || place(v, s) != r) return false;
    const voice& of = sings(it);
    const bool whole_stage = it.what == op::reduce_gradient || it.what == op::gather_parameters ||
                             it.what == op::release_parameters || it.what == op::optimizer_step;
    if (whole_stage) return read_stage(r, i, it);
    if (m < 0 || m >= of.microbatches) return false;
    if (it.what <= op::backward_weight) {
      state& own = states_[{v, s}];
      if (own.released >= 0) return false;
      if (own.gathered >= 0) needs_[static_cast<std::size_t>(i)].insert(own.gathered);
      own.uses.push_back(i);
    }
    const bool last = s + 1 == of.stages;
    const std::vector<end> to = next_of(v, s, m), from = previous_of(v, s, m);
    const auto need_rows = [&](fact_kind kind) {
      bool there = true;
      for (const end& each : from) there = need(i, {kind, v, s, m, each.part}) && there;
      return there;
    };
    // Facts are made for those at the other ends which are on this rank.
    const auto give = [&](const std::vector<end>& ends, fact_kind kind) {
      for (const end& each : ends)
        if (place(each.voice, each.stage) == r)
          make(i, {kind, each.voice, each.stage, each.microbatch, each.their_part});
    };
    switch (it.what) {
      case op::forward:
      case op::forward_only:
        if (!need_rows(input)) return false;
        if (s == 0) need(i, {loaded, v, s, m});
        if (!make(i, {ran, v, s, m})) return false;
        give(to, input);
        return it.what == op::forward_only || keep(i, it);
      case op::re_forward:
        if (!need(i, {ran, v, s, m}) || has({kept, v, s, m})) return false;
        if (!need_rows(replay_input)) return false;
        if (s == 0) need(i, {loaded, v, s, m});
        make(i, {replayed, v, s, m});
        give(to, replay_input);
        return keep(i, it);
      case op::backward:
      case op::backward_input:
        if (!need(i, {kept, v, s, m})) return false;
        for (const end& each : learning(to))
          if (!need(i, {gradient, v, s, m, each.part})) return false;
        if (last && of.join >= 0 && !need(i, {met, of.join, 0, m / of.group})) return false;
        if (has({offloaded, v, s, m}) && !need(i, {fetched, v, s, m})) return false;
        if (!make(i, {gave_input, v, s, m})) return false;
        give(learning(from), gradient);
        return it.what == op::backward_input || weigh(i, it);
      case op::backward_weight: return need(i, {gave_input, v, s, m}) && weigh(i, it);
      case op::load: return s == 0 && !has({ran, v, s, m}) && make(i, {loaded, v, s, m});
      case op::offload:
        if (!need(i, {kept, v, s, m}) || has({gave_input, v, s, m})) return false;
        for (const int each : states_[{v, s}].left)
          if (of_.instructions[each].what == op::offload) needs_[static_cast<std::size_t>(i)].insert(each);
        return make(i, {offloaded, v, s, m});
      case op::fetch: return need(i, {offloaded, v, s, m}) && make(i, {fetched, v, s, m}) && take(i, it);
      case op::send_forward: return send(r, i, it, to, {ran, v, s, m}, 0);
      case op::send_replay: return send(r, i, it, to, {replayed, v, s, m}, 1);
      case op::send_backward: return send(r, i, it, learning(from), {gave_input, v, s, m}, 2);
      case op::receive_forward: return !has({ran, v, s, m}) && receive(r, i, it, from, input, 0);
      case op::receive_replay: return !has({kept, v, s, m}) && receive(r, i, it, from, replay_input, 1);
      case op::receive_backward:
        return !has({gave_input, v, s, m}) && receive(r, i, it, learning(to), gradient, 2);
      default: return false;
    }
  }
  bool keep(int i, const instruction& it) {
    return make(i, {kept, it.voice, it.stage, it.microbatch}) && take(i, it);
  }
  bool weigh(int i, const instruction& it) {
    state& own = states_[{it.voice, it.stage}];
    if (own.updated || !make(i, {gave_weight, it.voice, it.stage, it.microbatch})) return false;
    for (const int each : own.weights) needs_[static_cast<std::size_t>(i)].insert(each);  // one gradient
    own.weights.push_back(i);
    return true;
  }
  // Slots go from one microbatch to the next in the order of the list.
  bool take(int i, const instruction& it) {
    if (!sings(it).learns) return true;
    state& own = states_[{it.voice, it.stage}];
    const int slots = of_.slots[sings(it).first_place + it.stage];
    if (++own.live > slots && slots > 0) return false;
    for (const int each : own.left)
      if (slots > 0) needs_[static_cast<std::size_t>(i)].insert(each);
    return true;
  }
  void leave(int i) {
    const instruction& it = of_.instructions[i];
    if (!sings(it).learns) return;
    state& own = states_[{it.voice, it.stage}];
    --own.live;
    own.left.push_back(i);
  }
  // An end says who is at the other end of rows that a microbatch gives or takes, and which part of them that
  // is, to this one and to the other.
  struct end {
    int voice, stage, microbatch, part, their_part;
  };
  std::vector<end> next_of(int v, int s, int m) const {
    if (s + 1 < of_.voices[v].stages) return {{v, s + 1, m, 0, 0}};
    std::vector<end> found;
    for (isize k = 0; k < of_.feeds.size(); ++k)
      if (const fed_cell& each = of_.feeds[k]; each.from == v && each.from_microbatch == m)
        found.push_back({each.to, 0, each.to_microbatch, static_cast<int>(found.size()), fed_before(k)});
    return found;
  }
  std::vector<end> previous_of(int v, int s, int m) const {
    if (s > 0) return {{v, s - 1, m, 0, 0}};
    std::vector<end> found;
    for (isize k = 0; k < of_.feeds.size(); ++k)
      if (const fed_cell& each = of_.feeds[k]; each.to == v && each.to_microbatch == m)
        found.push_back({each.from, of_.voices[each.from].stages - 1, each.from_microbatch,
                         static_cast<int>(found.size()), feeding_before(k)});
    return found;
  }
  int fed_before(isize k) const {
    int count = 0;
    for (isize j = 0; j < k; ++j)
      count += of_.feeds[j].to == of_.feeds[k].to && of_.feeds[j].to_microbatch == of_.feeds[k].to_microbatch;
    return count;
  }
  int feeding_before(isize k) const {
    int count = 0;
    for (isize j = 0; j < k; ++j)
      count += of_.feeds[j].from == of_.feeds[k].from &&
               of_.feeds[j].from_microbatch == of_.feeds[k].from_microbatch;
    return count;
  }
  // Gradients go between those that learn.
  std::vector<end> learning(std::vector<end> of) const {
    std::erase_if(of, [&](const end& each) { return !of_.voices[each.voice].learns; });
    return of;
  }
  // The end that a message's part names; none where nobody, this rank or another than its peer is there.
  const end* end_of(int r, const instruction& it, const std::vector<end>& ends) const {
    for (const end& each : ends)
      if (each.part == it.part && place(each.voice, each.stage) != r &&
          place(each.voice, each.stage) == it.peer)
        return &each;
    return nullptr;
  }
  bool send(int r, int i, const instruction& it, const std::vector<end>& to, const fact& what, int kind) {
    const end* const other = end_of(r, it, to);
    if (other == nullptr || !need(i, what)) return false;
    return sends_.insert({{kind, other->voice, other->stage, other->microbatch, other->their_part}, i})
        .second;
  }
  bool receive(int r, int i, const instruction& it, const std::vector<end>& from, fact_kind what, int kind) {
    if (end_of(r, it, from) == nullptr) return false;
    return make(i, {what, it.voice, it.stage, it.microbatch, it.part}) &&
           receives_.insert({{kind, it.voice, it.stage, it.microbatch, it.part}, i}).second;
  }
  bool at_home(int v, int r) const { return place(v, of_.voices[v].stages - 1) == r; }
  bool read_join(int r, int i, int j, int group) {
    if (j < 0 || j >= of_.joins || group < 0) return false;
    bool member = false;
    for (int v = 0; v < of_.voices.size(); ++v) {
      const voice& of = of_.voices[v];
      if (of.join != j || !at_home(v, r)) continue;
      if (group >= of.joins()) return false;
      member = true;
      for (int m = group * of.group; m < (group + 1) * of.group; ++m)
        if (!need(i, {ran, v, of.stages - 1, m})) return false;
    }
    if (!member || (group > 0 && !has({met, j, 0, group - 1}))) return false;
    meetings_[{j, group}].push_back(i);
    return make(i, {met, j, 0, group});
  }
  bool read_stage(int r, int i, const instruction& it) {
    state& own = states_[{it.voice, it.stage}];
    std::set<int>& needs = needs_[static_cast<std::size_t>(i)];
    if (it.what == op::gather_parameters) {
      if (own.gathered >= 0) return false;
      if (own.released >= 0) needs.insert(own.released);
      own.gathered = i;
      own.released = -1;
      own.uses.clear();
      return true;
    }
    if (it.what == op::release_parameters) {
      if (own.released >= 0) return false;
      if (own.gathered >= 0) needs.insert(own.gathered);
      needs.insert(own.uses.begin(), own.uses.end());
      own.released = i;
      own.gathered = -1;
      return true;
    }
    if (static_cast<int>(own.weights.size()) != sings(it).microbatches || own.updated) return false;
    needs.insert(own.weights.begin(), own.weights.end());
    int replicas = 0;
    for (const voice& each : of_.voices) replicas += each.module == sings(it).module ? 1 : 0;
    if (it.what == op::reduce_gradient) {
      if (replicas > 1) reductions_[{sings(it).module, it.stage}].push_back(i);
      return make(i, {reduced, it.voice, it.stage, 0});
    }
    own.updated = true;
    updates_ = true;
    (void)r;
    return (need(i, {reduced, it.voice, it.stage, 0}) || replicas == 1) &&
           make(i, {updated, it.voice, it.stage, 0});
  }

  bool complete() {
    const auto happened = [&](const fact& what) { return everywhere_.count(what) != 0; };
    for (int v = 0; v < of_.voices.size(); ++v) {
      const voice& of = of_.voices[v];
      for (int s = 0; s < of.stages; ++s) {
        if (updates_ && of.updates() && !happened({updated, v, s, 0})) return false;
        for (int m = 0; m < of.microbatches; ++m) {
          if (!happened({ran, v, s, m})) return false;
          if (of.learns && !(happened({kept, v, s, m}) && happened({gave_input, v, s, m}) &&
                             happened({gave_weight, v, s, m})))
            return false;
          if (happened({offloaded, v, s, m}) && !happened({fetched, v, s, m})) return false;
        }
      }
    }
    if (sends_.size() != receives_.size()) return false;
    for (const auto& [message, from] : sends_) {
      const auto to = receives_.find(message);
      if (to == receives_.end()) return false;
      if (how_ == delivery::buffered) needs_[static_cast<std::size_t>(to->second)].insert(from);
      else meet({from, to->second});
    }
    for (int j = 0; j < of_.joins; ++j) {
      std::set<int> members;
      int groups = 0;
      for (int v = 0; v < of_.voices.size(); ++v) {
        if (of_.voices[v].join != j) continue;
        members.insert(place(v, of_.voices[v].stages - 1));
        groups = of_.voices[v].joins();
      }
      for (int g = 0; g < groups; ++g) {
        if (meetings_[{j, g}].size() != members.size()) return false;
        meet(meetings_[{j, g}]);
      }
    }
    for (const auto& [which, all] : reductions_) {
      std::size_t replicas = 0;
      for (const voice& each : of_.voices) replicas += each.module == which.first ? 1 : 0;
      if (all.size() != replicas) return false;
      meet(all);
    }
    return true;
  }
  void meet(const std::vector<int>& all) {
    for (const int each : all) together_[static_cast<std::size_t>(each)] = all;
  }

  // Ranks in turn, each lane as far as it comes.
  bool can_run() {
    const auto count = static_cast<std::size_t>(of_.instructions.size());
    std::vector<bool> done(count, false);
    std::map<std::pair<int, int>, std::vector<std::vector<int>>> lanes;  // what runs as one, lane after lane
    std::vector<bool> front(count, false);
    for (int r = 0; r < of_.ranks(); ++r) {
      bool goes_on = false;
      for (int i = of_.starts[r]; i < of_.starts[r + 1]; ++i) {
        auto& lane = lanes[{r, of_.instructions[i].lane}];
        if (!goes_on) lane.emplace_back();
        lane.back().push_back(i);
        goes_on = of_.instructions[i].paired;
      }
    }
    std::map<std::pair<int, int>, std::size_t> at;
    for (const auto& [where, lane] : lanes) front[static_cast<std::size_t>(lane[0][0])] = true;
    const auto ready = [&](int i) {
      for (const int each : needs(i))
        if (!done[static_cast<std::size_t>(each)]) return false;
      return true;
    };
    std::size_t finished = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (auto& [where, lane] : lanes) {
        std::size_t& position = at[where];
        while (position < lane.size()) {
          const std::vector<int>& now = lane[position];
          if (!done[static_cast<std::size_t>(now[0])]) {
            bool can = true;
            for (const int each : now) can = can && ready(each);
            for (const int each : together(now[0]))
              can = can && front[static_cast<std::size_t>(each)] && ready(each);
            if (!can) break;
            for (const int each : now) done[static_cast<std::size_t>(each)] = true;
            for (const int each : together(now[0])) done[static_cast<std::size_t>(each)] = true;
          }
          finished += now.size();
          moved = true;
          if (++position < lane.size()) front[static_cast<std::size_t>(lane[position][0])] = true;
        }
      }
    }
    return finished == count;
  }

  struct state {
    int live = 0, gathered = -1, released = -1;
    bool updated = false;
    std::vector<int> weights, left, uses;
  };
  const program& of_;
  delivery how_;
  bool legal_ = false, hangs_ = false, updates_ = false;
  std::map<fact, int> facts_, everywhere_, sends_, receives_;
  std::map<std::pair<int, int>, state> states_;  // of each voice and stage
  std::map<std::pair<int, int>, std::vector<int>> meetings_, reductions_;
  std::vector<std::set<int>> needs_;
  std::vector<std::vector<int>> together_;
};

}  // namespace motet::laws
