// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cells/uncertain.hpp>
#include <motet/plan/cost/collective_cost.hpp>
#include <motet/plan/describe/cluster_presets.hpp>

#include <bit>
#include <cmath>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace motet {

// The kind says what is sent among devices. A message has a layout of one device on each of two nodes, or of
// two on one.
enum class comm_kind : std::uint8_t { all_reduce, all_gather, reduce_scatter, all_to_all, message };
constexpr std::string_view name_of(comm_kind of) {
  constexpr std::string_view names[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all",
                                        "message"};
  return names[as_size(static_cast<isize>(of))];
}

struct comm_rules {
  double between = 0.05;   // relative bar of what lies between two points
  double borrowed = 0.25;  // of a larger group's times, besides those of its points
  double slower = 1.1;     // for each time that the largest volume goes into one beyond it
};

// Times of communication by kind, by where the group stands, and by bytes. Between two points times are
// straight; below the first one they go on as the first piece does, never below nothing. A volume beyond the
// last point is as many of that one as go into it and a rest, each of them slower than the one before. A
// group without points takes those of the smallest one that is as large in each node and in nodes.
class comm_table {
 public:
  explicit comm_table(const comm_rules& by = {}) : rules_(by) {}

  // `bar` is absolute, in seconds. A point of equal bytes is replaced.
  void add(comm_kind what, const group_layout& group, double bytes, const uncertain& seconds) {
    points_[key(what, group)][bytes] = seconds;
  }
  bool empty() const { return points_.empty(); }

  // Throws MT-P92 where there are no points of such a group, nor of a larger one.
  uncertain seconds(comm_kind what, const group_layout& group, double bytes) const {
    if (group.ranks() <= 1 || bytes <= 0) return {};
    const auto own = points_.find(key(what, group));
    if (own != points_.end()) return along(own->second, bytes);
    // Keys are sorted by nodes, devices in each, and who shares the way out.
    for (auto at = points_.upper_bound(key(what, {1, 1, 0})); at != points_.end(); ++at) {
      const auto& [kind, nodes, per_node, sharers] = at->first;
      if (kind != what) break;
      if ((nodes > 1) != (group.nodes > 1) || nodes < group.nodes || per_node < group.per_node ||
          sharers < group.sharers)
        continue;
      uncertain out = along(at->second, bytes);
      out.bar += rules_.borrowed * out.value;
      out.from = std::max(out.from, provenance::interpolated);
      return out;
    }
    fail(comm_group_unknown,
         sentence({name_of(what), " of ", group.nodes, " nodes with ", group.per_node,
                   " devices each; the table has no points of such a group, nor of a larger one"}));
  }

 private:
  using place = std::tuple<comm_kind, std::int32_t, std::int32_t, std::int32_t>;
  using row = std::map<double, uncertain>;
  static place key(comm_kind what, const group_layout& group) {
    return {what, group.nodes, group.per_node, group.sharers};
  }
  uncertain along(const row& of, double bytes) const {
    const auto last = std::prev(of.end());
    if (bytes > last->first) {
      const double times = std::floor(bytes / last->first), rest = bytes - times * last->first;
      uncertain out = times * last->second;
      if (rest > 0) out = out + along(of, rest);
      out = std::pow(rules_.slower, times) * out;
      out.from = provenance::extrapolated;
      return out;
    }
    const auto above = of.lower_bound(bytes);
    if (above->first == bytes) return above->second;
    if (of.size() == 1) return scaled(above->second, bytes / above->first);
    const bool below_all = above == of.begin();
    const auto high = below_all ? std::next(above) : above, low = std::prev(high);
    const double part = (bytes - low->first) / (high->first - low->first);
    const double value = std::max(0.0, low->second.value + part * (high->second.value - low->second.value));
    const double bar = std::max({low->second.relative_bar(), high->second.relative_bar(), rules_.between});
    return {value, bar * value, std::max({low->second.from, high->second.from, provenance::interpolated})};
  }
  uncertain scaled(const uncertain& of, double times) const {
    uncertain out = times * of;
    out.bar += rules_.between * out.value;
    out.from = std::max(out.from, provenance::interpolated);
    return out;
  }

  comm_rules rules_;
  std::map<place, row> points_;
};

// Communication takes so long by the wires of a cluster's facts.
inline double modelled_seconds(comm_kind what, const group_layout& group, double bytes,
                               const cluster_facts& on) {
  switch (what) {
    case comm_kind::all_reduce: return all_reduce_seconds(bytes, group, on);
    case comm_kind::all_gather: return all_gather_seconds(bytes, group, on);
    case comm_kind::reduce_scatter: return reduce_scatter_seconds(bytes, group, on);
    case comm_kind::all_to_all: return all_to_all_seconds(bytes, group, on);
    case comm_kind::message: break;
  }
  const wire& way = group.nodes > 1 ? on.between : on.inside;
  return way.latency + way.seconds(bytes * group.sharers);
}

// The volumes of a table, in bytes: numbers of 4 bytes, doubled from 1 Ki of them to 4 Mi, then 4 Mi more
// each time up to 256 Mi, or for messages to 32 Mi. Measurements end here.
inline std::vector<double> comm_volumes(comm_kind of) {
  constexpr double number = 4, mi = 1 << 20;
  std::vector<double> out;
  for (double n = 1024; n < 4 * mi; n *= 2) out.push_back(number * n);
  for (double n = 4 * mi; n <= (of == comm_kind::message ? 32 : 256) * mi; n += 4 * mi)
    out.push_back(number * n);
  return out;
}

// The groups that cells of at most so many devices of a kind ask for: powers of two within a node, and of
// whole nodes, of which one device in every so many belongs to the group and the others share the way out.
inline std::vector<group_layout> comm_groups(const cluster_facts& kind, std::int32_t devices) {
  const auto node = static_cast<std::int32_t>(std::bit_floor(as_size(kind.devices_per_node)));
  std::vector<group_layout> out;
  for (std::int32_t p = 2; p <= std::min(devices, node); p *= 2) out.push_back({1, p, 1});
  for (std::int32_t n = 2; n <= kind.nodes && n * node <= devices; n *= 2)
    for (std::int32_t p = 1; p <= node; p *= 2) out.push_back({n, p, node / p});
  return out;
}

// A table filled from the wires of a cluster, each time with this relative bar. As its points cost nothing,
// it goes on to 256 GiB.
inline comm_table modelled_table(const cluster_facts& kind, std::int32_t devices, double bar,
                                 const comm_rules& by = {}) {
  comm_table out(by);
  const auto put = [&](comm_kind what, const group_layout& group) {
    std::vector<double> volumes = comm_volumes(what);
    while (volumes.back() < 256 * gib) volumes.push_back(2 * volumes.back());
    for (const double bytes : volumes) {
      const double value = modelled_seconds(what, group, bytes, kind);
      out.add(what, group, bytes, {value, bar * value, provenance::modelled});
    }
  };
  for (const comm_kind what :
       {comm_kind::all_reduce, comm_kind::all_gather, comm_kind::reduce_scatter, comm_kind::all_to_all})
    for (const group_layout& group : comm_groups(kind, devices)) put(what, group);
  put(comm_kind::message, {1, 2, 1});
  for (std::int32_t sharers = 1; sharers <= kind.devices_per_node && kind.nodes > 1; sharers *= 2)
    put(comm_kind::message, {2, 1, sharers});
  return out;
}

}  // namespace motet
