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

// Each gets at most one of its choices, within the limits of all resources.
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
//
// What costs more than the gap to give to somebody, under prices that bound all answers, is in no better
// answer, and is looked at no more. So most of the work is about the few whom the answer is open for.
class assignment_solver {
 public:
  struct rules {
    std::int32_t rounds = 120;
    double enough = 1e-3;          // of the bound: a gap with which it stops
    std::int32_t exchanges = 200;  // that are tried at the end, in all
  };
  explicit assignment_solver(const rules& by) : rules_(by) {}
  assignment_solver() : assignment_solver(rules{}) {}

  // `start`, where it is not empty, is an answer within all limits, from which the search for a better one
  // begins.
  assignment_answer solve(const assignment_problem& of, const std::vector<std::int32_t>& start = {}) {
    begin(of);
    if (!start.empty()) begin_with(start);
    double step = 1;
    std::int32_t stuck = 0;
    for (std::int32_t round = 0; round < rules_.rounds && !close(); ++round) {
      const double bound = relax();
      if (bound < best_.bound - 1e-9 * std::abs(best_.bound)) {
        best_.bound = bound;
        best_prices_ = prices_;
        stuck = 0;
      } else if (++stuck == 5) {
        step /= 2, stuck = 0;
      }
      if (round % 6 == 0 || round + 1 == rules_.rounds) {
        repair();
        if (best_.feasible) leave_out(bound);
      }
      if (!follow(step, bound)) break;
    }
    if (!best_prices_.empty()) prices_ = best_prices_;
    if (best_.feasible && !close()) exchange();
    if (!best_.feasible) best_.value = 0;
    if (!best_.feasible) best_.chosen.assign(of.choices.size(), -1);
    best_.bound = std::max(best_.bound, best_.value);
    return std::move(best_);
  }
  const std::vector<double>& prices() const { return prices_; }
  template <class With>
  void remembers(With& with) {
    with("prices", prices_);
  }

 private:
  using option = std::int32_t;  // a choice of somebody, by its number; -1: none
  // Somebody takes less of a resource than now.
  struct step_down {
    double loss;  // of what it is worth after paying, for each unit that is asked for too much
    std::int32_t who;
    option from, to;
    friend bool operator<(const step_down& a, const step_down& b) { return a.loss > b.loss; }
  };
  struct taken_back {
    std::int32_t who;
    option had;
  };

  void begin(const assignment_problem& of) {
    problem_ = &of;
    limits_ = of.limits;
    limits_.push_back(of.most_changes < 0 ? 1e18 : of.most_changes);
    if (prices_.size() != limits_.size()) prices_.assign(limits_.size(), 0);
    const std::size_t count = of.choices.size();
    open_.clear();
    first_.assign(count, 0);
    last_.assign(count, 0);
    needed_.assign(count, 0);
    for (std::size_t i = 0; i < count; ++i) {
      first_[i] = open_.size();
      for (std::size_t c = 0; c < of.choices[i].size(); ++c) open_.push_back(static_cast<option>(c));
      last_[i] = open_.size();
      if (!of.needed.empty()) needed_[i] = of.needed[i];
    }
    most_.assign(count, 0);
    best_prices_.clear();
    best_ = {};
    best_.value = -1e300;
    best_.bound = 1e300;
  }
  bool close() const {
    return best_.feasible && best_.bound - best_.value <= rules_.enough * std::abs(best_.bound);
  }
  std::size_t changes() const { return limits_.size() - 1; }
  const assignment_choice* choice(std::size_t who, option of) const {
    return of < 0 ? nullptr : &problem_->choices[who][as_size(of)];
  }
  const assignment_choice* held(std::size_t who) const { return choice(who, chosen_[who]); }
  static double value_of(const assignment_choice* of) { return of == nullptr ? 0 : of->value; }
  double paid(const assignment_choice& of) const {
    return of.value - prices_[as_size(of.resource)] * of.amount - (of.changes ? prices_[changes()] : 0);
  }
  double amount_of(const assignment_choice* of, std::size_t resource) const {
    if (of == nullptr) return 0;
    if (resource == changes()) return of->changes ? 1 : 0;
    return as_size(of->resource) == resource ? of->amount : 0;
  }
  void use(const assignment_choice* what, double sign) {
    if (what == nullptr) return;
    used_[as_size(what->resource)] += sign * what->amount;
    if (what->changes) used_[changes()] += sign;
  }
  void choose_nothing() {
    chosen_.assign(problem_->choices.size(), -1);
    used_.assign(limits_.size(), 0);
    value_ = 0;
  }
  void move(std::size_t who, option to) {
    const assignment_choice *const now = held(who), *const then = choice(who, to);
    use(now, -1);
    use(then, 1);
    value_ += value_of(then) - value_of(now);
    moved_.push_back({static_cast<std::int32_t>(who), chosen_[who]});
    chosen_[who] = to;
  }

  // The value of the relaxed answer, which is chosen then.
  double relax() {
    choose_nothing();
    double bound = 0;
    for (std::size_t r = 0; r < limits_.size(); ++r)
      if (prices_[r] > 0) bound += prices_[r] * limits_[r];
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      const std::vector<assignment_choice>& own = problem_->choices[i];
      double most = needed_[i] != 0 ? -1e300 : 0;
      option to = -1;
      for (std::size_t o = first_[i]; o < last_[i]; ++o)
        if (const double worth = paid(own[as_size(open_[o])]); worth > most) most = worth, to = open_[o];
      most_[i] = most;
      bound += most;
      chosen_[i] = to;
      use(held(i), 1);
      value_ += value_of(held(i));
    }
    asked_ = used_;
    moved_.clear();
    return bound;
  }
  // Under prices with which all answers are worth `bound` at most, who takes something else than what is
  // worth most to it after paying lowers this by the difference.
  void leave_out(double bound) {
    const double spare = bound - best_.value;
    for (std::size_t i = 0; i < most_.size(); ++i) {
      const std::vector<assignment_choice>& own = problem_->choices[i];
      const auto from = open_.begin() + static_cast<std::ptrdiff_t>(first_[i]),
                 to = open_.begin() + static_cast<std::ptrdiff_t>(last_[i]);
      const auto left =
          std::remove_if(from, to, [&](option o) { return most_[i] - paid(own[as_size(o)]) > spare; });
      last_[i] = static_cast<std::size_t>(left - open_.begin());
      if (most_[i] > spare) needed_[i] = 1;
    }
  }
  bool follow(double step, double bound) {
    double squares = 0;
    for (std::size_t r = 0; r < limits_.size(); ++r) {
      const double over = asked_[r] - limits_[r];
      if (over > 0 || prices_[r] > 0) squares += limits_[r] > 1e17 ? 0 : over * over;
    }
    if (squares == 0) return false;
    const double wanted = best_.feasible ? best_.value : 0.9 * bound - 1;
    const double length = step * std::max(bound - wanted, 1e-6 * std::abs(bound)) / squares;
    for (std::size_t r = 0; r < limits_.size(); ++r)
      if (limits_[r] < 1e17) prices_[r] = std::max(0.0, prices_[r] + length * (asked_[r] - limits_[r]));
    return true;
  }

  // Makes the relaxed answer one that keeps all limits: cheapest steps first. Then improves it.
  void repair() {
    if (bring_down()) keep_better();
  }
  void begin_with(const std::vector<option>& start) {
    choose_nothing();
    for (std::size_t i = 0; i < start.size(); ++i) move(i, start[i]);
    keep_better();
  }
  // Returns true when the answer at hand is better than all before.
  bool keep_better() {
    improve();
    if (best_.feasible && value_ <= best_.value + 1e-9 * std::abs(best_.value)) return false;
    best_.feasible = true;
    best_.value = value_;
    best_.chosen = chosen_;
    return true;
  }
  // Gives one what is worth more to it, at the cost of others, while all together gain by it: first what
  // lowers the bound least.
  void exchange() {
    leave_out(relax());
    struct wish {
      double lowers;
      std::int32_t who;
      option to;
    };
    std::vector<wish> wishes;
    for (std::size_t i = 0; i < chosen_.size(); ++i)
      for (std::size_t o = first_[i]; o < last_[i]; ++o)
        wishes.push_back({most_[i] - paid(*choice(i, open_[o])), static_cast<std::int32_t>(i), open_[o]});
    std::sort(wishes.begin(), wishes.end(), [](const wish& a, const wish& b) { return a.lowers < b.lowers; });
    choose_nothing();
    for (std::size_t i = 0; i < chosen_.size(); ++i) move(i, best_.chosen[i]);
    std::int32_t tried = 0;
    for (bool better = true; better && !close();) {
      better = false;
      for (const wish& each : wishes) {
        const std::size_t who = as_size(each.who);
        if (choice(who, each.to)->value <= value_of(held(who))) continue;
        if (++tried > rules_.exchanges || close()) return;
        moved_.clear();
        move(who, each.to);
        if (bring_down(each.who) && keep_better()) better = true;
        else take_back();
      }
    }
  }
  void take_back() {
    std::vector<taken_back> all;
    all.swap(moved_);
    for (auto each = all.rbegin(); each != all.rend(); ++each) move(as_size(each->who), each->had);
    all.clear();
    moved_.swap(all);
    value_ = best_.value;
  }

  bool bring_down(std::int32_t but = -1) {
    for (std::size_t r = 0; r < limits_.size(); ++r)
      if (!bring_down(r, but)) return false;
    return true;
  }
  bool bring_down(std::size_t resource, std::int32_t but) {
    if (!is_over(resource)) return true;
    steps_.clear();
    for (std::size_t i = 0; i < chosen_.size(); ++i)
      if (static_cast<std::int32_t>(i) != but) add_steps(i, resource);
    std::make_heap(steps_.begin(), steps_.end());
    while (is_over(resource)) {
      if (steps_.empty()) return false;
      std::pop_heap(steps_.begin(), steps_.end());
      step_down next = steps_.back();
      steps_.pop_back();
      const std::size_t who = as_size(next.who);
      if (chosen_[who] != next.from || !fits(held(who), choice(who, next.to))) continue;
      // Less is asked for too much than when it was put there.
      const double loss = loss_of(who, next.to, resource);
      if (loss > next.loss && !steps_.empty() && loss > steps_.front().loss) {
        next.loss = loss;
        steps_.push_back(next);
        std::push_heap(steps_.begin(), steps_.end());
        continue;
      }
      move(who, next.to);
      const std::size_t known = steps_.size();
      add_steps(who, resource);
      for (std::size_t n = known; n < steps_.size(); ++n)
        std::push_heap(steps_.begin(), steps_.begin() + static_cast<std::ptrdiff_t>(n) + 1);
    }
    return true;
  }
  bool is_over(std::size_t resource) const { return used_[resource] > limits_[resource] + 1e-9; }
  void add_steps(std::size_t who, std::size_t resource) {
    const double has = amount_of(held(who), resource);
    if (has <= 0) return;
    const auto add = [&](option to) {
      if (amount_of(choice(who, to), resource) < has)
        steps_.push_back({loss_of(who, to, resource), static_cast<std::int32_t>(who), chosen_[who], to});
    };
    if (needed_[who] == 0) add(-1);
    for (std::size_t o = first_[who]; o < last_[who]; ++o) add(open_[o]);
  }
  double loss_of(std::size_t who, option to, std::size_t resource) const {
    const assignment_choice *const now = held(who), *const then = choice(who, to);
    const double less = amount_of(now, resource) - amount_of(then, resource);
    const double loss = (now ? paid(*now) : 0) - (then ? paid(*then) : 0);
    return loss / std::min(less, used_[resource] - limits_[resource]);
  }
  // Says whether a change leaves no limit broken that it adds to.
  bool fits(const assignment_choice* now, const assignment_choice* then) const {
    if (then == nullptr) return true;
    const std::size_t r = as_size(then->resource);
    const double more = then->amount - amount_of(now, r);
    if (more > 0 && used_[r] + more > limits_[r] + 1e-9) return false;
    return !then->changes || (now != nullptr && now->changes) ||
           used_[changes()] + 1 <= limits_[changes()] + 1e-9;
  }
  void improve() {
    for (bool better = true; better;) {
      better = false;
      for (std::size_t i = 0; i < chosen_.size(); ++i) {
        const assignment_choice* const now = held(i);
        const std::vector<assignment_choice>& own = problem_->choices[i];
        double most = value_of(now);
        option to = chosen_[i];
        for (std::size_t o = first_[i]; o < last_[i]; ++o)
          if (const assignment_choice& each = own[as_size(open_[o])];
              each.value > most + 1e-12 && fits(now, &each))
            most = each.value, to = open_[o];
        if (to == chosen_[i]) continue;
        move(i, to);
        better = true;
      }
    }
  }

  rules rules_;
  const assignment_problem* problem_ = nullptr;
  std::vector<double> prices_, best_prices_, limits_;
  // Each has choices that may be part of a better answer: those from first_ to last_ of open_. needed_ says
  // whether it must have one, and most_ what the best one is worth to it after paying.
  std::vector<option> open_;
  std::vector<std::size_t> first_, last_;
  std::vector<std::uint8_t> needed_;
  std::vector<double> most_;
  // The answer at hand, and how it came from the one before.
  std::vector<option> chosen_;
  std::vector<double> used_, asked_;
  double value_ = 0;
  std::vector<taken_back> moved_;
  std::vector<step_down> steps_;
  assignment_answer best_;
};

}  // namespace motet
