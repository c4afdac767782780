// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/search/seat_exchange.hpp>

#include <vector>

namespace motet {

namespace detail {

// Calls visit(turns) for every order of the towers in which larger tensor groups come first; only the first
// one where there are many towers.
template <class Visit>
void each_turn(const list<seating>& towers, list<isize> turns, isize from, Visit visit) {
  constexpr isize most_towers = 4;
  if (from + 1 >= turns.size() || turns.size() > most_towers) return visit(turns);
  for (isize k = from; k < turns.size() && towers[turns[k]].split.tensor == towers[turns[from]].split.tensor;
       ++k) {
    std::swap(turns[from], turns[k]);
    each_turn(towers, turns, from + 1, visit);
  }
}

// Calls visit(seats) for every way to say on which node each tensor group of towers with ranks of their own
// is.
template <class Visit>
void each_seat(const list<seating>& towers, const cluster_facts& on, isize k, seat_layout made,
               list<std::int32_t> used, Visit visit) {
  if (k == towers.size()) return visit(made);
  const std::int32_t size = towers[k].split.tensor;
  for (std::int32_t n = 0; n < on.nodes; ++n) {
    if (used[n] + size > on.devices_per_node || (towers[k].kinds & on.kind_bit(n)) == 0) continue;
    seat_layout more = made;
    list<std::int32_t> taken = used;
    if (more.ranks.size() == k) more.ranks.push({});
    for (std::int32_t i = 0; i < size; ++i) more.ranks[k].push(n * on.devices_per_node + taken[n]++);
    each_seat(towers, on, more.ranks[k].size() == towers[k].split.size() ? k + 1 : k, more, taken, visit);
  }
}

// The layouts that send least, of equal ones those that came first, and of those with one pattern the first.
class lightest_seats {
 public:
  lightest_seats(const cluster_facts& on, isize most) : on_(on), most_(most) {}

  void offer(const seat_layout& made) {
    if (made.node_bytes >= heaviest_) return;
    candidate own{made, {}};
    // Layouts with one pattern send equally much.
    for (candidate& each : all_)
      if (each.seats.node_bytes == made.node_bytes && alike(each, own)) return;
    all_.push_back(std::move(own));
    if (static_cast<isize>(all_.size()) >= 2 * most_) sort();
  }
  bool empty() const { return all_.empty(); }
  list<seat_layout> sorted() {
    sort();
    list<seat_layout> out;
    for (const candidate& each : all_) out.push(each.seats);
    return out;
  }

 private:
  struct candidate {
    seat_layout seats;
    list<std::int32_t> pattern;  // empty: nobody asked for it
  };
  const list<std::int32_t>& pattern(candidate& of) const {
    if (of.pattern.empty()) of.pattern = pattern_of(of.seats, on_);
    return of.pattern;
  }
  bool alike(candidate& a, candidate& b) const {
    return a.seats.ranks == b.seats.ranks || pattern(a) == pattern(b);
  }
  void sort() {
    std::stable_sort(all_.begin(), all_.end(), [](const candidate& a, const candidate& b) {
      return a.seats.node_bytes < b.seats.node_bytes;
    });
    if (static_cast<isize>(all_.size()) < most_) return;
    all_.resize(as_size(most_));
    heaviest_ = all_.back().seats.node_bytes;
  }

  const cluster_facts& on_;
  isize most_;
  double heaviest_ = 1e300;  // from so many bytes on a layout comes behind all that are wanted
  std::vector<candidate> all_;
};

}  // namespace detail

// Layouts in which towers can sit come with those first that send least out of any node, at most `most`;
// there are none where towers do not fit. Towers with large tensor groups choose first, a group stays in one
// node, and a tower takes its ranks in one of four orders. All turns of the towers and all orders of each are
// tried where these are few; of seats in which the same positions share nodes one is kept. The best are
// bettered by exchanging groups. With `every`, and few groups, none is left out.
inline list<seat_layout> seat_layouts(const list<seating>& towers, const cluster_facts& on,
                                      bool every = false, isize most = isize{1} << 20) {
  list<isize> turns;
  list<std::uint8_t> both(towers.size(), 0);  // whether it has stages and replicas to put together
  isize ways = 1;
  constexpr isize most_ways = 256;
  const bool shared =
      std::any_of(towers.begin(), towers.end(), [](const seating& each) { return each.with >= 0; });
  const bool alike = on.nodes == 1 && !shared;  // all ranks are
  for (isize k = 0; k < towers.size(); ++k) {
    turns.push(k);
    both[k] = towers[k].split.stages > 1 && towers[k].split.data > 1 ? 1 : 0;
    ways *= both[k] != 0 ? 4 : 2;
  }
  if (alike) ways = 1;
  sort_stably(turns, [&](isize a, isize b) { return towers[a].split.tensor > towers[b].split.tensor; });
  list<std::int32_t> all;
  for (std::int32_t r = 0; r < on.devices(); ++r) all.push(r);
  const detail::free_ranks free(on, all);
  constexpr isize most_bettered = 2;
  detail::lightest_seats out(on, std::max(most, most_bettered));
  detail::each_turn(towers, turns, 0, [&](const list<isize>& turn) {
    if (alike && !out.empty()) return;
    // The tower that comes first finds all nodes alike, and begins anew in any case.
    const isize* const first =
        std::find_if(turn.begin(), turn.end(), [&](isize k) { return towers[k].with < 0; });
    for (isize way = 0; way < std::min(ways, most_ways); ++way) {
      list<seat_order> orders(towers.size());
      isize left = way;
      for (isize k = 0; k < towers.size(); ++k) {
        orders[k].anew = left % 2 != 0;
        left /= 2;
        if (both[k] == 0) continue;
        orders[k].stages_together = left % 2 != 0;
        left /= 2;
      }
      if (first != turn.end() && orders[*first].anew) continue;
      seat_layout made;
      if (detail::seat_all(towers, turn, orders, on, free, made)) out.offer(made);
    }
  });
  constexpr isize most_groups = 8;
  isize groups = 0;
  for (const seating& each : towers) groups += each.split.size() / each.split.tensor;
  if (every && !alike && !shared && groups <= most_groups) {
    detail::each_seat(towers, on, 0, {}, list<std::int32_t>(on.nodes, 0), [&](seat_layout made) {
      made.node_bytes = detail::busiest_node(towers, made.ranks, on);
      out.offer(made);
    });
  }
  const list<seat_layout> first = out.sorted();
  for (isize i = 0; i < std::min(first.size(), most_bettered); ++i) {
    seat_layout bettered = first[i];
    detail::seat_exchange(towers, on, bettered).run();
    if (bettered.node_bytes < first[0].node_bytes) out.offer(bettered);
  }
  list<seat_layout> found = out.sorted();
  if (found.size() > most) found.resize(most);
  return found;
}

}  // namespace motet
