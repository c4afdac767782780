// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/jobs/messages.hpp>
#include <motet/meta/config.hpp>

#include <algorithm>
#include <bit>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace motet {

inline constexpr isize most_devices_of_node = 64, most_devices_of_job = 256;

// Devices of one kind: nodes that are alike, each with a power of two of them.
struct device_group {
  std::string kind;
  isize nodes = 0;
  isize per_node = 0;
  double memory_gb = 0;
  std::string like = {};  // a cluster with a name whose devices and wires it has; empty: that of its own name

  isize devices() const { return nodes * per_node; }
};

// A cluster of several kinds of devices, as those who share it out see it. Its nodes are counted through,
// kind after kind, and so are its devices.
struct job_cluster {
  std::string name;
  std::vector<device_group> kinds;

  isize devices() const {
    isize all = 0;
    for (const device_group& each : kinds) all += each.devices();
    return all;
  }
  isize nodes() const {
    isize all = 0;
    for (const device_group& each : kinds) all += each.nodes;
    return all;
  }
  // -1 where there is none of this name.
  isize find(std::string_view kind) const {
    for (std::size_t k = 0; k < kinds.size(); ++k)
      if (kinds[k].kind == kind) return static_cast<isize>(k);
    return -1;
  }
  std::string names() const {
    std::string out;
    for (const device_group& each : kinds) out += (out.empty() ? "" : ", ") + each.kind;
    return out;
  }
  // The most devices that a job may have of one kind: a power of two in whole nodes, or within one.
  isize largest(isize kind) const {
    return std::min(most_devices_of_job,
                    static_cast<isize>(std::bit_floor(as_size(kinds[as_size(kind)].devices()))));
  }
};

// Throws MT-J07 where a number makes no cluster. `origin` is named in refusals.
inline void require_job_cluster(const job_cluster& of, const std::string& origin) {
  if (of.kinds.empty()) fail(jobs_bad_cluster, origin + " has no kinds; wanted one at least");
  for (std::size_t k = 0; k < of.kinds.size(); ++k) {
    const device_group& each = of.kinds[k];
    const std::string where = origin + ", kind " + (each.kind.empty() ? std::to_string(k + 1) : each.kind);
    if (each.kind.empty()) fail(jobs_bad_cluster, where + " has no name");
    if (of.find(each.kind) != static_cast<isize>(k)) fail(jobs_bad_cluster, where + " occurs twice");
    if (each.nodes < 1 || each.nodes > (1 << 20))
      fail(jobs_bad_cluster, where + ": nodes is " + std::to_string(each.nodes) + ", wanted 1 to 1048576");
    if (each.per_node < 1 || each.per_node > most_devices_of_node ||
        !std::has_single_bit(as_size(each.per_node)))
      fail(jobs_bad_cluster, where + ": per_node is " + std::to_string(each.per_node) +
                                 ", wanted a power of two from 1 to " + std::to_string(most_devices_of_node));
    if (!(each.memory_gb > 0) || each.memory_gb > 1e6)
      fail(jobs_bad_cluster, where + ": memory_gb is out of range, wanted more than 0 and at most 1000000");
  }
}

// The clusters of the evaluation of Crius: simulated with 1,280 devices, two real ones, and one of a single
// kind.
inline std::vector<job_cluster> known_job_clusters() {
  const device_group a100{"a100", 80, 4, 40}, v100{"v100", 20, 16, 32}, a40{"a40", 160, 2, 48},
      a10{"a10", 160, 2, 24}, h100{"h100", 16, 8, 80}, l20{"l20", 16, 16, 48};
  const device_group few_a40{"a40", 16, 2, 48}, few_a10{"a10", 16, 2, 24};
  return {{"arena-sim-1280", {a100, v100, a40, a10}},
          {"arena-a", {few_a40, few_a10}},
          {"arena-b", {h100, l20}},
          {"h100-128", {h100}}};
}

}  // namespace motet
