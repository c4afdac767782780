// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/describe/cluster.hpp>

#include <algorithm>

// A cluster of several kinds of devices, as those see it who use some of them: as a cluster of one kind.

namespace motet {

// Of what differs the lesser one counts for groups that wait for each other, the better one for bounds; those
// who share their work by speed are about as fast as the mean.
enum class of_unlike : std::uint8_t { slowest, fastest, mean };

namespace detail {

// Two devices, or wires, as one; `share` of the nodes have the second.
class kind_merger {
 public:
  constexpr kind_merger(of_unlike which, double share) : which_(which), share_(share) {}
  constexpr double rate(double a, double b) const { return picked(a, b, which_ == of_unlike::slowest); }
  constexpr double price(double a, double b) const { return picked(a, b, which_ == of_unlike::fastest); }

  constexpr wire merged(const wire& a, const wire& b) const {
    return {price(a.latency, b.latency), unlimited(a.bytes_per_second, b.bytes_per_second)};
  }
  // Products are as no device is slower, or faster, at any sides: the share of the peak that they reach is
  // told of the peak that both have.
  constexpr device_facts merged(const device_facts& a, const device_facts& b) const {
    device_facts out = a;
    out.half_flops = rate(a.half_flops, b.half_flops);
    out.single_flops = rate(a.single_flops, b.single_flops);
    out.memory_bytes = rate(a.memory_bytes, b.memory_bytes);
    out.bytes_per_second = rate(a.bytes_per_second, b.bytes_per_second);
    out.launch_seconds = price(a.launch_seconds, b.launch_seconds);
    const auto share = [&](double device_facts::*peak) {
      return out.*peak > 0 ? rate(a.*peak * a.products.best, b.*peak * b.products.best) / (out.*peak) : 1e300;
    };
    const double half = share(&device_facts::half_flops), single = share(&device_facts::single_flops);
    if (const double both = rate(half, single); both > 0 && both < 1e300) out.products.best = both;
    out.products.half_rows = price(a.products.half_rows, b.products.half_rows);
    out.products.half_columns = price(a.products.half_columns, b.products.half_columns);
    return out;
  }
  // 0 stands for no limit.
  constexpr double unlimited(double a, double b) const {
    if (a <= 0 || b <= 0) return which_ == of_unlike::fastest ? 0 : std::max(a, b);
    return rate(a, b);
  }

 private:
  constexpr double picked(double a, double b, bool least) const {
    if (which_ == of_unlike::mean) return a + share_ * (b - a);
    return least ? std::min(a, b) : std::max(a, b);
  }

  of_unlike which_;
  double share_;
};

}  // namespace detail

// The nodes of these kinds as if they were alike.
// Asks for: a set of kinds that the cluster has, one at least.
// Memory: a cluster's numbers.
// Errors: none of its own.
// Example:
//   double room_anywhere(const cluster_facts& on) {
//     return of_kinds(on, on.all_kinds()).device.memory_bytes;
//   }
constexpr cluster_facts of_kinds(const cluster_facts& all, std::uint32_t kinds,
                                 of_unlike which = of_unlike::slowest) {
  if (all.more_runs == 0) return all;
  cluster_facts out = all;
  out.more_runs = 0;
  out.nodes = 0;
  std::fill(out.others, out.others + cluster_facts::most_runs - 1, node_run{});
  for (isize r = 0; r < all.runs(); ++r) {
    const auto [first, end] = all.nodes_of_run(r);
    if ((kinds & all.kind_bit(first)) == 0) continue;
    const node_run own = all.run(first);
    const detail::kind_merger by(which, static_cast<double>(end - first) / (out.nodes + end - first));
    if (out.nodes == 0) {
      out.device = own.device;
      out.inside = own.inside;
      out.between = own.between;
      out.of_device = own.of_device;
    } else {
      out.device = by.merged(out.device, own.device);
      out.inside = by.merged(out.inside, own.inside);
      out.between = by.merged(out.between, own.between);
      out.of_device = by.unlimited(out.of_device, own.of_device);
    }
    out.nodes += end - first;
  }
  return out;
}
// All of them, for who cannot use unlike devices: nothing is promised that the slowest does not hold.
constexpr cluster_facts as_one_kind(const cluster_facts& all) { return of_kinds(all, all.all_kinds()); }

// The kinds that some ranks are of.
inline std::uint32_t kinds_of(const list<std::int32_t>& ranks, const cluster_facts& on) {
  if (on.more_runs == 0) return 1;
  std::uint32_t out = 0;
  for (const std::int32_t rank : ranks) out |= on.kind_bit(on.node(rank));
  return out;
}

// What a rank may fill.
constexpr double room_of(std::int32_t rank, const cluster_facts& on) {
  return on.more_runs == 0 ? on.device.memory_bytes : on.run(on.node(rank)).device.memory_bytes;
}

}  // namespace motet
