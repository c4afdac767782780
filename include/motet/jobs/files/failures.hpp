// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/jobs/files/cluster.hpp>
#include <motet/jobs/files/columns.hpp>
#include <motet/meta/config.hpp>
#include <motet/tensor/random.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace motet {

// A node, or one device of it, fails. The whole node is out until it is repaired.
struct machine_failure {
  double at = 0;  // seconds from the beginning
  std::int32_t node = 0;
  std::int32_t device = -1;  // of the node; -1: all of them
  double repair = 0;         // seconds until the node is there again
};

// Failures that are drawn: seconds between two of one device, and of one node, in the mean; 0: none.
struct failure_rules {
  double devices = 0, nodes = 0;
  double repair = 7200;  // seconds, in the mean
  std::uint64_t seed = 1;
};

// Gives failures one after another: those of a list, or drawn ones without an end.
class failure_stream {
 public:
  explicit failure_stream(std::vector<machine_failure> listed) : listed_(std::move(listed)) {
    std::stable_sort(listed_.begin(), listed_.end(),
                     [](const machine_failure& a, const machine_failure& b) { return a.at < b.at; });
    step();
  }
  failure_stream(const failure_rules& rules, isize devices, isize nodes)
      : rules_(rules), chance_(rules.seed, "failures of machines"), nodes_(nodes) {
    device_rate_ = rules.devices > 0 ? static_cast<double>(devices) / rules.devices : 0;
    node_rate_ = rules.nodes > 0 ? static_cast<double>(nodes) / rules.nodes : 0;
    step();
  }

  // Endless where there is none.
  double next() const { return next_.at; }
  machine_failure take() {
    const machine_failure out = next_;
    step();
    return out;
  }

 private:
  static double spread(float uniform) { return -std::log(1 - static_cast<double>(uniform)); }
  void step() {
    const double rate = device_rate_ + node_rate_;
    if (rate == 0) {
      if (drawn_ < listed_.size()) next_ = listed_[drawn_++];
      else next_.at = std::numeric_limits<double>::infinity();
      return;
    }
    const std::uint64_t at = 4 * drawn_++;
    next_.at += spread(chance_.uniform(at)) / rate;
    next_.node = static_cast<std::int32_t>(chance_.below(at + 1, static_cast<std::uint32_t>(nodes_)));
    // The bits that uniform() leaves say which device; who takes it knows how many its node has.
    const bool whole = static_cast<double>(chance_.uniform(at + 2)) * rate >= device_rate_;
    next_.device = whole ? -1 : static_cast<std::int32_t>(chance_.word(at + 2) & 63);
    next_.repair = rules_.repair * spread(chance_.uniform(at + 3));
  }

  std::vector<machine_failure> listed_;
  failure_rules rules_{};
  random_stream chance_{0, "failures of machines"};
  isize nodes_ = 0;
  double device_rate_ = 0, node_rate_ = 0;
  std::size_t drawn_ = 0;
  machine_failure next_;
};

// Reads failures with the columns seconds, node and repair_seconds; device may be there, and may be empty
// where the whole node fails. Nodes are counted through the cluster from 0. Throws MT-J01 and MT-J02.
inline std::vector<machine_failure> read_failures(std::string_view text, const std::string& origin,
                                                  const job_cluster& cluster) {
  enum column : std::size_t { at, node, repair, device };
  named_columns rows(text, origin, {"seconds", "node", "repair_seconds"}, {"device"});
  std::vector<machine_failure> out;
  const std::string nodes = "a node from 0 to " + std::to_string(cluster.nodes() - 1);
  while (rows.next()) {
    machine_failure made;
    made.at = rows.real(at, 0, 1e15, "seconds from the first submission, not negative");
    made.node = static_cast<std::int32_t>(rows.whole(node, 0, cluster.nodes() - 1, nodes.c_str()));
    made.repair = rows.real(repair, 0, 1e15, "seconds until it is repaired, not negative");
    if (rows.has(device) && !rows.text(device).empty()) {
      isize before = 0;
      const device_group* of = &cluster.kinds[0];
      for (const device_group& each : cluster.kinds)
        if (before <= made.node) of = &each, before += each.nodes;
      const std::string devices = "a device of its node from 0 to " + std::to_string(of->per_node - 1);
      made.device = static_cast<std::int32_t>(rows.whole(device, 0, of->per_node - 1, devices.c_str()));
    }
    out.push_back(made);
  }
  return out;
}

}  // namespace motet
