// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace motet {

// One way to serve somebody: what it is worth, and how much of which resource it takes.
struct assignment_choice {
  double value = 0;
  std::int32_t resource = 0;
  double amount = 0;
  bool changes = false;  // counts against the limit of changes
};

// Who gets what: at most one choice for each, within the limits of all resources.
struct assignment_problem {
  std::vector<double> limits;  // of each resource
  double most_changes = -1;    // negative: as many as one likes
  std::vector<std::vector<assignment_choice>> choices;
  std::vector<std::uint8_t> needed;  // who must be given one; empty: nobody
};

struct assignment_answer {
  bool feasible = false;
  std::vector<std::int32_t> chosen;  // -1: none
  double value = 0, bound = 0;       // no answer is worth more than the bound
  double gap() const { return bound > 0 ? std::max(0.0, (bound - value) / bound) : 0; }
};

// Solves it by Lagrangian relaxation: each resource has a price, each takes what is worth most after paying,
// and prices follow what is asked for too much of. The relaxed answer bounds all answers from above;
// repaired, it is one, which single changes then improve. The prices stay for the next problem.
class assignment_solver {
 public:
  struct rules {
    std::int32_t rounds = 120;
    double enough = 1e-3;  // of the bound: a gap with which it stops
  };
  explicit assignment_solver(const rules& by) : rules_(by) {}
  assignment_solver() : assignment_solver(rules{}) {}

  // `start`, where it is not empty, is an answer within all limits, from which the search for a better one
  // begins.
  assignment_answer solve(const assignment_problem& of, const std::vector<std::int32_t>& start = {}) {
    problem_ = &of;
    const std::size_t all = of.limits.size() + 1;
    limits_ = of.limits;
    limits_.push_back(of.most_changes < 0 ? 1e18 : of.most_changes);
    if (prices_.size() != all) prices_.assign(all, 0);
    assignment_answer best;
    best.value = -1e300;
    best.bound = 1e300;
    if (!start.empty()) begin_with(start, best);
    double step = 1;
    std::int32_t stuck = 0;
    for (std::int32_t round = 0; round < rules_.rounds; ++round) {
      const double bound = relax();
      if (bound < best.bound - 1e-9 * std::abs(best.bound)) best.bound = bound, stuck = 0;
      else if (++stuck == 5) step /= 2, stuck = 0;
      if (round % 6 == 0 || round + 1 == rules_.rounds) {
        repair(best);
        if (best.feasible && best.bound - best.value <= rules_.enough * std::abs(best.bound)) break;
      }
      if (!follow(step, bound, best)) break;
    }
    if (best.feasible && best.bound - best.value > rules_.enough * std::abs(best.bound)) exchange(best);
    if (!best.feasible) best.value = 0;
    if (!best.feasible) best.chosen.assign(of.choices.size(), -1);
    return best;
  }
  const std::vector<double>& prices() const { return prices_; }

 private:
  std::size_t changes() const { return limits_.size() - 1; }
  bool is_needed(std::size_t who) const { return !problem_->needed.empty() && problem_->needed[who] != 0; }
  double paid(const assignment_choice& of) const {
    return of.value - prices_[as_size(of.resource)] * of.amount - (of.changes ? prices_[changes()] : 0);
  }
  // The value of the relaxed answer; chosen_ and used_ hold it.
  double relax() {
    const std::size_t count = problem_->choices.size();
    chosen_.assign(count, -1);
    used_.assign(limits_.size(), 0);
    double bound = 0;
    for (std::size_t r = 0; r < limits_.size(); ++r)
      if (prices_[r] > 0) bound += prices_[r] * limits_[r];
    for (std::size_t i = 0; i < count; ++i) {
      const std::vector<assignment_choice>& own = problem_->choices[i];
      double most = is_needed(i) ? -1e300 : 0;
      for (std::size_t c = 0; c < own.size(); ++c)
        if (const double worth = paid(own[c]); worth > most)
          most = worth, chosen_[i] = static_cast<std::int32_t>(c);
      if (chosen_[i] < 0) continue;
      bound += most;
      use(used_, own[as_size(chosen_[i])], 1);
    }
    return bound;
  }
  void use(std::vector<double>& of, const assignment_choice& what, double sign) const {
    of[as_size(what.resource)] += sign * what.amount;
    if (what.changes) of[changes()] += sign;
  }
  bool follow(double step, double bound, const assignment_answer& best) {
    double squares = 0;
    for (std::size_t r = 0; r < limits_.size(); ++r) {
      const double over = used_[r] - limits_[r];
      if (over > 0 || prices_[r] > 0) squares += limits_[r] > 1e17 ? 0 : over * over;
    }
    if (squares == 0) return false;
    const double wanted = best.feasible ? best.value : 0.9 * bound - 1;
    const double length = step * std::max(bound - wanted, 1e-6 * std::abs(bound)) / squares;
    for (std::size_t r = 0; r < limits_.size(); ++r)
      if (limits_[r] < 1e17) prices_[r] = std::max(0.0, prices_[r] + length * (used_[r] - limits_[r]));
    return true;
  }

  // Makes the relaxed answer one that keeps all limits: cheapest steps first. Then improves it.
  void repair(assignment_answer& best) {
    std::vector<std::int32_t> chosen = chosen_;
    std::vector<double> used = used_;
    for (std::size_t r = 0; r < limits_.size(); ++r)
      if (!bring_down(r, chosen, used)) return;
    keep_better(std::move(chosen), std::move(used), best);
  }
  void begin_with(const std::vector<std::int32_t>& start, assignment_answer& best) {
    std::vector<double> used(limits_.size(), 0);
    for (std::size_t i = 0; i < start.size(); ++i)
      if (start[i] >= 0) use(used, problem_->choices[i][as_size(start[i])], 1);
    keep_better(start, std::move(used), best);
  }
  void keep_better(std::vector<std::int32_t> chosen, std::vector<double> used,
                   assignment_answer& best) const {
    improve(chosen, used);
    double value = 0;
    for (std::size_t i = 0; i < chosen.size(); ++i)
      if (chosen[i] >= 0) value += problem_->choices[i][as_size(chosen[i])].value;
    if (best.feasible && value <= best.value) return;
    best.feasible = true;
    best.value = value;
    best.chosen = std::move(chosen);
  }
  // Gives one what is worth more to it, at the cost of others, while all together gain by it. Only few may
  // take part, as each is tried against all.
  void exchange(assignment_answer& best) const {
    if (best.chosen.size() > most_to_exchange) return;
    for (bool better = true; better;) {
      better = false;
      for (std::size_t i = 0; i < best.chosen.size(); ++i)
        for (std::size_t c = 0; c < problem_->choices[i].size(); ++c) {
          const assignment_choice* const now = held(best.chosen, i);
          if (problem_->choices[i][c].value <= (now ? now->value : 0)) continue;
          const double before = best.value;
          if (take_for(i, static_cast<std::int32_t>(c), best))
            better = better || best.value > before * (1 + 1e-9);
        }
    }
  }
  bool take_for(std::size_t who, std::int32_t choice, assignment_answer& best) const {
    std::vector<std::int32_t> chosen = best.chosen;
    std::vector<double> used(limits_.size(), 0);
    for (std::size_t i = 0; i < chosen.size(); ++i)
      if (const assignment_choice* const now = held(chosen, i)) use(used, *now, 1);
    move(who, choice, chosen, used);
    for (std::size_t r = 0; r < limits_.size(); ++r)
      if (!bring_down(r, chosen, used, static_cast<std::ptrdiff_t>(who))) return false;
    keep_better(std::move(chosen), std::move(used), best);
    return true;
  }
  static double amount_of(const assignment_choice* of, std::size_t resource, std::size_t counts) {
    if (of == nullptr) return 0;
    if (resource == counts) return of->changes ? 1 : 0;
    return as_size(of->resource) == resource ? of->amount : 0;
  }
  const assignment_choice* held(const std::vector<std::int32_t>& chosen, std::size_t who) const {
    return chosen[who] < 0 ? nullptr : &problem_->choices[who][as_size(chosen[who])];
  }
  bool bring_down(std::size_t resource, std::vector<std::int32_t>& chosen, std::vector<double>& used,
                  std::ptrdiff_t but = -1) const {
    while (used[resource] > limits_[resource] + 1e-9) {
      double least = 1e300;
      std::size_t who = 0;
      std::int32_t to = -2;
      for (std::size_t i = 0; i < chosen.size(); ++i) {
        const assignment_choice* const now = held(chosen, i);
        const double has = amount_of(now, resource, changes());
        if (has <= 0 || static_cast<std::ptrdiff_t>(i) == but) continue;
        const std::vector<assignment_choice>& own = problem_->choices[i];
        for (std::int32_t c = is_needed(i) ? 0 : -1; c < static_cast<std::int32_t>(own.size()); ++c) {
          const assignment_choice* const then = c < 0 ? nullptr : &own[as_size(c)];
          const double less = has - amount_of(then, resource, changes());
          if (less <= 0 || !fits(now, then, used)) continue;
          const double over = used[resource] - limits_[resource];
          const double loss = (now->value - (then ? then->value : 0)) / std::min(less, over);
          if (loss < least) least = loss, who = i, to = c;
        }
      }
      if (to == -2) return false;
      move(who, to, chosen, used);
    }
    return true;
  }
  // Whether a change leaves no limit broken that it adds to.
  bool fits(const assignment_choice* now, const assignment_choice* then,
            const std::vector<double>& used) const {
    if (then == nullptr) return true;
    const std::size_t r = as_size(then->resource);
    const double more = then->amount - amount_of(now, r, changes());
    if (more > 0 && used[r] + more > limits_[r] + 1e-9) return false;
    return !then->changes || (now != nullptr && now->changes) ||
           used[changes()] + 1 <= limits_[changes()] + 1e-9;
  }
  void move(std::size_t who, std::int32_t to, std::vector<std::int32_t>& chosen,
            std::vector<double>& used) const {
    if (const assignment_choice* const now = held(chosen, who)) use(used, *now, -1);
    chosen[who] = to;
    if (const assignment_choice* const then = held(chosen, who)) use(used, *then, 1);
  }
  void improve(std::vector<std::int32_t>& chosen, std::vector<double>& used) const {
    for (bool better = true; better;) {
      better = false;
      for (std::size_t i = 0; i < chosen.size(); ++i) {
        const assignment_choice* const now = held(chosen, i);
        const std::vector<assignment_choice>& own = problem_->choices[i];
        double most = now ? now->value : 0;
        std::int32_t to = chosen[i];
        for (std::size_t c = 0; c < own.size(); ++c)
          if (own[c].value > most + 1e-12 && fits(now, &own[c], used))
            most = own[c].value, to = static_cast<std::int32_t>(c);
        if (to == chosen[i]) continue;
        move(i, to, chosen, used);
        better = true;
      }
    }
  }

  static constexpr std::size_t most_to_exchange = 256;
  rules rules_;
  const assignment_problem* problem_ = nullptr;
  std::vector<double> prices_, limits_, used_;
  std::vector<std::int32_t> chosen_;
};

}  // namespace motet
