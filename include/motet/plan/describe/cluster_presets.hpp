// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/nearest.hpp>
#include <motet/plan/describe/cluster.hpp>
#include <motet/plan/describe/messages.hpp>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

namespace motet {

// Clusters with names. Memory is in whole GiB what the driver tells, less about one for itself; wires are
// what collective operations reach, not what data sheets say. docs/plan/cluster.md tells where every number
// is from.
inline constexpr double gib = 1 << 30;
inline constexpr cluster_facts known_clusters[] = {
    // 8 nodes p3.16xlarge, as in the paper on DistMM. Its runs must have kept their numbers otherwise than
    // this library: 1.52 billion parameters on a device of 16 GB leave 10 bytes for each at most, so 16-bit
    // weights and gradients and two moments of 8 bits; and layers of PyTorch keep 17 or 18 numbers for each
    // of a row's columns where ours keep 10, a quarter of them whole on every rank of a tensor group.
    {"v100",
     {"V100-SXM2-16GB", 125e12, 15.7e12, 15 * gib, 900e9, {0.39, 500, 64}, 420e-6},
     8,
     8,
     {3.4e-6, 120e9},
     {30e-6, 13.5e9},
     0,
     {.weight = 2, .gradient = 2, .state = 2, .kept = 1.75, .uncut = 0.25}},
    // 8 nodes DGX.
    {"a100",
     {"A100-SXM4-80GB", 312e12, 19.5e12, 78 * gib, 2039e9, {0.8, 128, 128}},
     8,
     8,
     {3.4e-6, 235e9},
     {14e-6, 192e9},
     24e9},
    {"h100",
     {"H100-SXM5-80GB", 989e12, 67e12, 78 * gib, 3350e9, {0.7, 256, 256}},
     8,
     8,
     {3.4e-6, 370e9},
     {14e-6, 384e9},
     48e9},
    {"h200",
     {"H200-SXM5-141GB", 989e12, 67e12, 139 * gib, 4800e9, {0.7, 256, 256}},
     8,
     8,
     {3.4e-6, 370e9},
     {14e-6, 384e9},
     48e9},
    // DistTrain's: nodes of 8 Ampere devices with links of 300 GB/s, and four ports of 200 Gb/s out of each.
    // Products reach what makes such devices train language models at half of their peak.
    {"a800-96",
     {"A800-SXM4-80GB", 312e12, 19.5e12, 78 * gib, 2039e9, {0.72, 0, 220}},
     12,
     8,
     {3.4e-6, 300e9},
     {14e-6, 100e9},
     25e9},
    {"a800-1296",
     {"A800-SXM4-80GB", 312e12, 19.5e12, 78 * gib, 2039e9, {0.72, 0, 220}},
     162,
     8,
     {3.4e-6, 300e9},
     {14e-6, 100e9},
     25e9},
    // Ranks that are threads of a machine without a GPU, and gigabit Ethernet.
    {"laptop",
     {"processor core", 40e9, 40e9, 1 * gib, 10e9, {0.9, 8, 8}},
     1,
     8,
     {2e-6, 5e9},
     {50e-6, 0.125e9},
     0},
};

inline constexpr std::int64_t most_devices = 1 << 20;

// `what` names the numbers that are refused with MT-P76.
inline void require_size(std::int64_t nodes, std::int32_t devices_per_node, std::string_view what) {
  const std::int64_t devices = nodes * devices_per_node;
  if (devices > most_devices)
    fail(cluster_of_no_size, sentence({what, " are ", devices, " devices, wanted at most ", most_devices}));
}
inline void require_size(const cluster_facts& of, std::string_view what) {
  require_size(of.nodes, of.devices_per_node, what);
}

// The cluster of this name; null when there is none.
constexpr const cluster_facts* find_cluster(std::string_view name) {
  for (const cluster_facts& each : known_clusters)
    if (each.name.view() == name) return &each;
  return nullptr;
}

// Nodes of another cluster behind those of `to`. `what` names them where they are refused (MT-P76).
inline void add_nodes(cluster_facts& to, const cluster_facts& more, std::string_view what) {
  if (more.devices_per_node != to.devices_per_node)
    fail(cluster_of_no_size,
         sentence({what, " has nodes of ", more.devices_per_node,
                   " devices, wanted as many as the nodes before it, ", to.devices_per_node}));
  for (isize r = 0; r < more.runs(); ++r) {
    const auto [first, end] = more.nodes_of_run(r);
    require_size(std::int64_t{to.nodes} + end - first, to.devices_per_node,
                 sentence({what, " and the nodes before it"}));
    if (!to.add(end - first, more.run(first)))
      fail(cluster_of_no_size, sentence({what, " makes one run of like nodes more than ",
                                         cluster_facts::most_runs, ", the most that a cluster has"}));
  }
}

// What is no cluster is refused (MT-P75, MT-P76). `text` is NAME, NAME:NODES or NAME:NODESxDEVICES; the way
// out of a node stays the same when it has fewer devices. Several with + between them are one cluster of
// several kinds, whose training keeps its numbers as on the first.
// Asks for: a name that is listed here, with one node and one device at least.
// Memory: a cluster's numbers.
// Errors: MT-P75, MT-P76
// Example:
//   const cluster_facts two_nodes = cluster_named("h100:2"), old_and_new = cluster_named("h100:2+a100:4");
inline cluster_facts cluster_named(std::string_view text) {
  // A sign of a number is none between names.
  const bool of_number = text.find(":+") != text.npos || text.find("x+") != text.npos;
  if (const std::size_t plus = text.find('+'); plus != text.npos && !of_number) {
    cluster_facts out = cluster_named(text.substr(0, plus));
    for (std::size_t at = plus; at < text.size();) {
      const std::size_t next = std::min(text.find('+', at + 1), text.size());
      const std::string_view part = text.substr(at + 1, next - at - 1);
      add_nodes(out, cluster_named(part), part);
      at = next;
    }
    out.name = text;
    return out;
  }
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string name(text.substr(0, colon));
  // "hopper-512": as many devices of such nodes.
  if (constexpr std::string_view prefix = "hopper-"; name.starts_with(prefix) && colon == text.size()) {
    cluster_facts out = *find_cluster("h100");
    std::int32_t devices = 0;
    const char *const from = name.data() + prefix.size(), *const to = name.data() + name.size();
    const auto [next, problem] = std::from_chars(from, to, devices);
    if (problem != std::errc{} || next != to || devices < 8 || devices % 8 != 0)
      fail(cluster_of_no_size, "got \"" + name + "\", wanted a multiple of 8 devices");
    out.name = std::string_view(name);
    out.nodes = devices / 8;
    out.devices_per_node = 8;
    require_size(out, text);
    return out;
  }
  const cluster_facts* const found = find_cluster(name);
  if (found == nullptr) {
    std::string all, meant;
    std::vector<std::string_view> names;
    for (const cluster_facts& each : known_clusters) {
      names.push_back(each.name.view());
      all += (all.empty() ? "" : ", ") + std::string(each.name.view());
    }
    if (const std::string_view near = nearest(name, names); !near.empty())
      meant = "; did you mean " + std::string(near);
    fail(no_such_cluster,
         "got \"" + name + "\", wanted one of " + all + ", or a file that ends with .json" + meant);
  }
  cluster_facts out = *found;
  if (colon == text.size()) return out;
  const char *at = text.data() + colon + 1, *const end = text.data() + text.size();
  const auto number = [&](std::int32_t& into) {
    const auto [next, problem] = std::from_chars(at, end, into);
    if (problem == std::errc{} && into > 0) at = next;
    return problem == std::errc{} && into > 0;
  };
  bool understood = number(out.nodes);
  if (understood && at != end && *at == 'x') {
    ++at;
    understood = number(out.devices_per_node);
  }
  if (!understood || at != end)
    fail(cluster_of_no_size, "got \"" + std::string(text) + "\", wanted numbers of at least 1");
  require_size(out, text);
  return out;
}

}  // namespace motet
