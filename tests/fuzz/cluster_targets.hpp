// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/collective_cost.hpp>
#include <motet/plan/files/cluster_json.hpp>

#include <cmath>
#include <cstdlib>

// Any bytes are a cluster or refused with MT-F01, MT-P70, MT-P71 or MT-P75..77; a cluster is the same after
// writing and reading again, and what is estimated on it is a number. Aborts when that does not hold; returns
// 0: refused, 1: a cluster.
inline int fuzz_cluster_json(std::string_view bytes) {
  using namespace motet;
  cluster_facts made;
  try {
    made = parse_cluster(bytes, "fuzz");
  } catch (const error& refused) {
    const std::string_view code = refused.code();
    for (const char* known : {"MT-F01", "MT-P70", "MT-P71", "MT-P75", "MT-P76", "MT-P77"})
      if (code == known) return 0;
    std::abort();
  }
  if (!(parse_cluster(format_cluster(made), "again") == made)) std::abort();
  if (made.devices() < 1 || made.node(made.devices() - 1) != made.nodes - 1) std::abort();
  const group_layout all{made.nodes, made.devices_per_node, 1, made.all_kinds()},
      lines{made.nodes, 1, made.devices_per_node, made.all_kinds()};
  for (const group_layout& each : {all, lines}) {
    const double spent[] = {all_gather_seconds(1e9, each, made), all_reduce_seconds(1e9, each, made),
                            broadcast_seconds(1e9, each, made), all_to_all_seconds(1e9, each, made),
                            deliver_seconds(1e9, each, each, made)};
    for (const double seconds : spent)
      if (!std::isfinite(seconds) || seconds < 0) std::abort();
    if (each.ranks() > 1 && !(spent[0] > 0)) std::abort();
  }
  return 1;
}

// Any bytes after --cluster name a cluster, or are refused with MT-P75 or MT-P76.
inline int fuzz_cluster_name(std::string_view bytes) {
  using namespace motet;
  try {
    const cluster_facts made = cluster_named(bytes);
    if (made.nodes < 1 || made.devices_per_node < 1 || made.devices() > most_devices) std::abort();
    if (bytes.find('+') != bytes.npos) return parse_cluster(format_cluster(made), "").runs() == made.runs();
    const std::string again = std::string(made.name.view()) + ":" + std::to_string(made.nodes) + "x" +
                              std::to_string(made.devices_per_node);
    if (!(cluster_named(again) == made)) std::abort();
    return 1;
  } catch (const error& refused) {
    const std::string_view code = refused.code();
    if (code != "MT-P75" && code != "MT-P76") std::abort();
    return 0;
  }
}
