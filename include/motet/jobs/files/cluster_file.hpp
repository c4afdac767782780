// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/text/json_read.hpp>
#include <motet/jobs/files/cluster.hpp>
#include <motet/jobs/messages.hpp>
#include <motet/meta/config.hpp>

#include <cmath>
#include <string>
#include <string_view>
#include <utility>

namespace motet {

// Reads {"name": "lab", "kinds": [{"kind": "a100", "nodes": 4, "per_node": 8, "memory_gb": 80}, ...]}; the
// name may be left out. Throws MT-J07 and what JSON throws.
// Asks for: one kind of devices at least.
// Memory: some numbers for each kind.
// Errors: MT-F01, MT-J07
// Example:
//   const job_cluster lab = read_job_cluster(R"({"kinds": [{"kind": "a100", "nodes": 4, "per_node": 8,
//     "memory_gb": 80}]})", "lab.json");
inline job_cluster read_job_cluster(std::string_view text, const std::string& origin) {
  const json file = read_json(text, origin);
  if (!file.is_object()) fail(jobs_bad_cluster, origin + ": got " + file.kind() + ", wanted an object");
  job_cluster out{origin, {}};
  const auto text_of = [](const json& of, const std::string& where) {
    if (!of.is_string()) fail(jobs_bad_cluster, where + ": got " + of.kind() + ", wanted a text");
    return of.string();
  };
  for (const json::member each : file.members()) {
    if (each.name == "name") {
      out.name = text_of(each.value, origin + ", name");
      continue;
    }
    if (each.name != "kinds")
      fail(jobs_bad_cluster,
           origin + ": got the field \"" + std::string(each.name) + "\", wanted name and kinds");
    if (!each.value.is_array())
      fail(jobs_bad_cluster, origin + ", kinds: got " + each.value.kind() + ", wanted a list of kinds");
    for (const json& one : each.value.items()) {
      const std::string where = origin + ", kinds[" + std::to_string(out.kinds.size()) + "]";
      if (!one.is_object()) fail(jobs_bad_cluster, where + ": got " + one.kind() + ", wanted an object");
      device_group made;
      for (const json::member field : one.members()) {
        const std::string at = where + ", " + std::string(field.name);
        if (field.name == "kind") {
          made.kind = text_of(field.value, at);
          continue;
        }
        if (field.name == "like") {
          made.like = text_of(field.value, at);
          continue;
        }
        if (field.name != "nodes" && field.name != "per_node" && field.name != "memory_gb")
          fail(jobs_bad_cluster,
               at + ": there is no such field, wanted kind, nodes, per_node, memory_gb and like");
        if (!field.value.is_number())
          fail(jobs_bad_cluster, at + ": got " + field.value.kind() + ", wanted a number");
        const double value = field.value.number();
        if (field.name == "memory_gb") {
          made.memory_gb = value;
          continue;
        }
        if (!(value >= 1 && value <= 1 << 20) || value != std::floor(value))
          fail(jobs_bad_cluster, at + ": wanted a whole number from 1 to 1048576");
        (field.name == "nodes" ? made.nodes : made.per_node) = static_cast<isize>(value);
      }
      out.kinds.push_back(std::move(made));
    }
  }
  require_job_cluster(out, origin);
  return out;
}

}  // namespace motet
