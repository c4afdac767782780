// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/estimate_plan.hpp>

#include <doctest/doctest.h>

// Models and clusters of the tests of costs: round numbers, so that closed forms can be followed by hand.

// Seconds are small, so only ratios count: doctest::Approx alone takes 0 and 1e-6 for equal.
inline doctest::Approx about(double value, double part = 1e-9) {
  return doctest::Approx(value).epsilon(part).scale(0);
}

// A cluster whose wires cost nothing unless told otherwise, and whose products run at the peak.
inline motet::cluster_facts plain_cluster(std::int32_t nodes, std::int32_t devices_per_node) {
  motet::cluster_facts on;
  on.name = "plain";
  on.device.half_flops = 100e12;
  on.device.single_flops = 20e12;
  on.device.memory_bytes = 80e9;
  on.device.bytes_per_second = 1e12;
  on.device.products.best = 1;
  on.nodes = nodes;
  on.devices_per_node = devices_per_node;
  return on;
}
// This cluster has latencies, fast ways inside nodes and slow ones between.
inline motet::cluster_facts wired_cluster(std::int32_t nodes, std::int32_t devices_per_node) {
  motet::cluster_facts on = plain_cluster(nodes, devices_per_node);
  on.inside = {5e-6, 100e9};
  on.between = {20e-6, 5e9};
  return on;
}

// The same, and behind it so many nodes of devices that are half as fast, with a third of the room.
inline motet::cluster_facts with_slower_nodes(motet::cluster_facts on, std::int32_t nodes) {
  motet::node_run slower = on.run(0);
  slower.device.half_flops /= 2;
  slower.device.single_flops /= 2;
  slower.device.bytes_per_second /= 2;
  slower.device.memory_bytes /= 3;
  slower.inside.bytes_per_second /= 4;
  slower.between = {2 * slower.between.latency, slower.between.bytes_per_second / 2};
  REQUIRE(on.add(nodes, slower));
  return on;
}

inline motet::tower_outline tower_of_layers(const char* name, motet::isize layers, motet::isize width,
                                            motet::isize tokens) {
  motet::tower_outline of;
  of.name = name;
  of.layers = layers;
  of.width = width;
  of.heads = 8;
  of.tokens = tokens;
  of.embedding = 256;
  return of;
}
inline motet::model_shape pictures_and_captions() {
  motet::model_shape of;
  of.name = "clip";
  of.towers = {tower_of_layers("picture", 8, 512, 256), tower_of_layers("caption", 4, 256, 64)};
  return of;
}

inline motet::run_forecast estimated(const motet::plan& of, const motet::model_shape& model,
                                     const motet::cluster_facts& on, motet::isize samples,
                                     const motet::estimate_options& options = {},
                                     const motet::training_bytes& bytes = {}) {
  motet::run_forecast out;
  const motet::verdict found = motet::estimate(of, model, on, bytes, samples, out, options);
  REQUIRE_MESSAGE(found.ok(), found.why->sentence);
  return out;
}
