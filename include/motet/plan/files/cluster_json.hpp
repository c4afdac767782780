// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/files/file.hpp>
#include <motet/format/text/json_read.hpp>
#include <motet/plan/describe/cluster_presets.hpp>
#include <motet/plan/files/plan_fields.hpp>

// Clusters as JSON, written and read by hand. With "like" a file says only what differs from a cluster that
// has a name. docs/plan/cluster.md lists all fields.

namespace motet {

namespace detail {

// The limits are wide enough for any machine, and narrow enough for what follows from them to stay numbers.
inline constexpr double least_rate = 1, most_rate = 1e21, most_latency = 60;

// A rate that nothing else has given may not be left out.
inline void read_rate(const plan_fields& fields, std::string_view name, double& into) {
  if (into <= 0) static_cast<void>(fields.at(name));
  fields.read(name, into, least_rate, most_rate, cluster_out_of_range);
}
inline void read_inside(const plan_fields& cluster, cluster_facts& into) {
  if (cluster.find("inside") == nullptr && (into.devices_per_node == 1 || into.inside.bytes_per_second > 0))
    return;
  const plan_fields fields(cluster.at("inside"), cluster.path_of("inside"), {"latency", "bytes_per_second"});
  fields.read("latency", into.inside.latency, 0, most_latency, cluster_out_of_range);
  read_rate(fields, "bytes_per_second", into.inside.bytes_per_second);
}
inline void read_between(const plan_fields& cluster, cluster_facts& into) {
  if (cluster.find("between") == nullptr && (into.nodes == 1 || into.between.bytes_per_second > 0)) return;
  const plan_fields fields(cluster.at("between"), cluster.path_of("between"),
                           {"latency", "bytes_per_second", "of_device"});
  fields.read("latency", into.between.latency, 0, most_latency, cluster_out_of_range);
  read_rate(fields, "bytes_per_second", into.between.bytes_per_second);
  fields.read("of_device", into.of_device, least_rate, most_rate, cluster_out_of_range);
}
inline void read_device(const plan_fields& cluster, device_facts& into) {
  if (cluster.find("device") == nullptr && into.single_flops > 0) return;
  const plan_fields fields(cluster.at("device"), cluster.path_of("device"),
                           {"name", "half_flops", "single_flops", "memory_bytes", "bytes_per_second",
                            "products", "launch_seconds"});
  fields.read("name", into.name);
  read_rate(fields, "single_flops", into.single_flops);
  if (into.half_flops <= 0) into.half_flops = into.single_flops;
  read_rate(fields, "half_flops", into.half_flops);
  read_rate(fields, "memory_bytes", into.memory_bytes);
  read_rate(fields, "bytes_per_second", into.bytes_per_second);
  fields.read("launch_seconds", into.launch_seconds, 0, most_latency, cluster_out_of_range);
  if (fields.find("products") == nullptr) return;
  const plan_fields products(fields.at("products"), fields.path_of("products"),
                             {"best", "half_rows", "half_columns"});
  products.read("best", into.products.best, 1e-6, 1, cluster_out_of_range);
  products.read("half_rows", into.products.half_rows, 0, 1e9, cluster_out_of_range);
  products.read("half_columns", into.products.half_columns, 0, 1e9, cluster_out_of_range);
}

// The fields of `bytes`, with the largest value of each.
struct byte_field {
  std::string_view name;
  double training_bytes::*value;
  double most;
};
inline constexpr byte_field byte_fields[] = {
    {"weight", &training_bytes::weight, 1024},   {"gradient", &training_bytes::gradient, 1024},
    {"state", &training_bytes::state, 1024},     {"activation", &training_bytes::activation, 1024},
    {"feature", &training_bytes::feature, 1024}, {"kept", &training_bytes::kept, 1024},
    {"uncut", &training_bytes::uncut, 1}};
inline void read_training_bytes(const plan_fields& cluster, training_bytes& into) {
  if (cluster.find("bytes") == nullptr) return;
  const plan_fields fields(cluster.at("bytes"), "bytes",
                           {"weight", "gradient", "state", "activation", "feature", "kept", "uncut"});
  for (const byte_field& each : byte_fields)
    fields.read(each.name, into.*each.value, 0, each.most, cluster_out_of_range);
}

// Nodes that are alike, and how training keeps its numbers on the cluster that they are like.
inline cluster_facts read_nodes(const plan_fields& fields) {
  cluster_facts out;
  if (fields.find("like") != nullptr) {
    const json& like = fields.at("like");
    if (!like.is_string())
      fail(plan_wrong_kind, fields.path_of("like") + " is " + like.kind() + ", wanted the name of a cluster");
    out = cluster_named(like.string());
    for (const std::string_view own : {"nodes", "devices_per_node", "device", "inside", "between"})
      if (out.runs() > 1 && fields.find(own) != nullptr)
        fail(plan_wrong_kind, fields.path_of(own) + " is told of " + like.string() +
                                  ", whose nodes are not alike; wanted runs, each with its own");
  }
  fields.read("nodes", out.nodes, 1, most_devices, cluster_out_of_range);
  fields.read("devices_per_node", out.devices_per_node, 1, most_devices, cluster_out_of_range);
  require_size(out, fields.path_of("nodes x devices_per_node"));
  read_device(fields, out.device);
  read_inside(fields, out);
  read_between(fields, out);
  return out;
}
// Runs of nodes, one behind the other. Each has a way out, as there are others.
inline cluster_facts read_runs(const plan_fields& fields) {
  cluster_facts out;
  bool any = false;
  fields.each("runs", [&](const json& from, const std::string& path) {
    const cluster_facts own =
        read_nodes({from, path, {"like", "nodes", "devices_per_node", "device", "inside", "between"}});
    if (own.between.bytes_per_second <= 0) fail(plan_wrong_kind, path + ".between is missing");
    if (any) add_nodes(out, own, path);
    else out = own;
    any = true;
  });
  if (!any) fail(plan_wrong_kind, fields.path_of("runs") + " is an empty array, wanted a run at least");
  out.name = {};
  return out;
}

}  // namespace detail

// JSON that is no cluster is refused with the path of what is wrong (MT-P70 to MT-P72, MT-P75 to MT-P77).
inline cluster_facts read_cluster(const json& from) {
  if (!from.is_object())
    fail(plan_wrong_kind, std::string("the cluster is ") + from.kind() + ", wanted an object");
  cluster_facts out;
  if (from.find("runs") != nullptr) {
    const detail::plan_fields fields(from, "", {"name", "runs", "bytes"});
    out = detail::read_runs(fields);
    fields.read("name", out.name);
    detail::read_training_bytes(fields, out.bytes);
    return out;
  }
  const detail::plan_fields fields(
      from, "", {"name", "like", "nodes", "devices_per_node", "device", "inside", "between", "bytes"});
  out = detail::read_nodes(fields);
  fields.read("name", out.name);
  detail::read_training_bytes(fields, out.bytes);
  return out;
}
// `origin` is named where the text is no JSON or no cluster.
inline cluster_facts parse_cluster(std::string_view text, const std::string& origin) {
  const json whole = read_json(text, origin);
  try {
    return read_cluster(whole);
  } catch (const error& problem) {
    throw error(problem, origin);
  }
}
inline cluster_facts load_cluster(const std::filesystem::path& path) {
  return parse_cluster(mapped_file(path).text(), path.string());
}
// --cluster is given a file that ends with .json, or NAME, NAME:NODES, NAME:NODESxDEVICES.
// Asks for: a name that is listed in docs/plan/cluster.md, or a file with the fields listed there.
// Memory: the file's text while it is read, and the cluster.
// Errors: MT-F01, MT-F04, MT-P70, MT-P71, MT-P72, MT-P75, MT-P76, MT-P77
// Example:
//   const cluster_facts on = choose_cluster("a100:4x2");
inline cluster_facts choose_cluster(const std::string& text) {
  return text.ends_with(".json") ? load_cluster(text) : cluster_named(text);
}

namespace detail {

inline void write_nodes(json& out, const node_run& from, std::int32_t nodes, std::int32_t devices_per_node) {
  const auto way = [](const wire& of) {
    return json{{"latency", of.latency}, {"bytes_per_second", of.bytes_per_second}};
  };
  const device_facts& own = from.device;
  const efficiency_curve& curve = own.products;
  json device;
  if (!own.name.view().empty()) device.set("name", own.name.view());
  device.set("half_flops", own.half_flops).set("single_flops", own.single_flops);
  device.set("memory_bytes", own.memory_bytes).set("bytes_per_second", own.bytes_per_second);
  device.set(
      "products",
      json{{"best", curve.best}, {"half_rows", curve.half_rows}, {"half_columns", curve.half_columns}});
  if (own.launch_seconds > 0) device.set("launch_seconds", own.launch_seconds);
  out.set("nodes", nodes).set("devices_per_node", devices_per_node).set("device", std::move(device));
  if (from.inside.bytes_per_second > 0) out.set("inside", way(from.inside));
  if (from.between.bytes_per_second > 0) out.set("between", way(from.between));
  if (from.between.bytes_per_second > 0 && from.of_device > 0) {
    json between = out.at("between");
    out.set("between", std::move(between.set("of_device", from.of_device)));
  }
}

}  // namespace detail

inline json cluster_json(const cluster_facts& from) {
  json out;
  if (!from.name.view().empty()) out.set("name", from.name.view());
  if (from.runs() == 1) {
    detail::write_nodes(out, from.run(0), from.nodes, from.devices_per_node);
  } else {
    json runs{json::array{}};
    for (isize r = 0; r < from.runs(); ++r) {
      const auto [first, end] = from.nodes_of_run(r);
      json one;
      detail::write_nodes(one, from.run(first), end - first, from.devices_per_node);
      runs.push_back(std::move(one));
    }
    out.set("runs", std::move(runs));
  }
  if (from.bytes != training_bytes{}) {
    json bytes;
    for (const detail::byte_field& each : detail::byte_fields) bytes.set(each.name, from.bytes.*each.value);
    out.set("bytes", std::move(bytes));
  }
  return out;
}
// A line for each member.
inline std::string format_cluster(const cluster_facts& from) {
  const json whole = cluster_json(from);
  std::string out = "{";
  const char* between = "\n  ";
  for (const auto& [name, value] : whole.members()) {
    out += between + write_json(json(name)) + ": " + write_json(value);
    between = ",\n  ";
  }
  return out + "\n}\n";
}

}  // namespace motet
