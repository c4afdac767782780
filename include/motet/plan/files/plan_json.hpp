// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/files/file.hpp>
#include <motet/format/text/json_read.hpp>
#include <motet/plan/describe/plan.hpp>
#include <motet/plan/files/plan_fields.hpp>
#include <motet/schedule/core/instruction.hpp>

// Plans as JSON, written and read by hand: what keeps its usual value is left out. docs/plan/plan.md lists
// all fields.

namespace motet {

// The most ranks, stages, microbatches or layers that a plan is read to have.
inline constexpr std::int64_t most_of_plan = 1 << 20;

namespace detail {

inline mesh read_mesh(const plan_fields& from) {
  degrees split;
  if (from.find("degrees") != nullptr) {
    const plan_fields ways(from.at("degrees"), from.path_of("degrees"),
                           {"stages", "data", "context", "tensor"});
    std::int64_t product = 1;
    const auto read = [&](const char* name, std::int32_t& into) {
      ways.read(name, into, 1, most_of_plan);
      product *= into;
      if (product > most_of_plan)
        fail(plan_out_of_range,
             sentence({from.path_of("degrees"), " multiply to more than ", most_of_plan, " ranks"}));
    };
    read("stages", split.stages);
    read("data", split.data);
    read("context", split.context);
    read("tensor", split.tensor);
  }
  const json& where = from.at("ranks");
  if (where.is_object()) {
    const plan_fields row(where, from.path_of("ranks"), {"first"});
    return mesh::from(static_cast<std::int32_t>(
                          plan_fields::number(row.at("first"), row.path_of("first"), 0, most_of_plan)),
                      split);
  }
  if (!where.is_array())
    fail(plan_wrong_kind,
         from.path_of("ranks") + " is " + where.kind() +
             ", wanted an array of ranks, or {\"first\": N} for as many as the degrees need");
  list<std::int32_t> ranks;
  from.each("ranks", [&](const json& item, const std::string& path) {
    ranks.push(static_cast<std::int32_t>(plan_fields::number(item, path, 0, most_of_plan)));
  });
  return {split, ranks};
}

inline module_plan read_module_plan(const std::string& name, const json& from) {
  module_plan out;
  out.name = plan_fields::name(name, "modules");
  const plan_fields fields(
      from, "modules." + name,
      {"degrees", "ranks",  "chunks",    "layers",      "remade",  "microbatches",  "group",          "stash",
       "ahead",   "zero",   "balanced",  "fills",       "room",    "forward_takes", "backward_takes", "lane",
       "share",   "pieces", "long_rows", "multiplexed", "experts", "offload_beyond"});
  out.on = read_mesh(fields);
  fields.read("chunks", out.chunks, 0, 1024);
  fields.each("layers", [&](const json& item, const std::string& at) {
    out.layers.push(plan_fields::number(item, at, 0, most_of_plan));
  });
  fields.each("remade", [&](const json& item, const std::string& at) {
    out.remade.push(plan_fields::boolean(item, at) ? 1 : 0);
  });
  fields.read("microbatches", out.microbatches, 1, most_of_plan - 1);
  fields.read("group", out.group, 0, most_of_plan - 1);
  fields.read("stash", out.stash, -1, most_of_plan - 1);
  fields.read("ahead", out.ahead, 0, most_of_plan - 1);
  fields.read("offload_beyond", out.offload_beyond, 0, most_of_plan - 1);
  fields.read("zero", out.zero, 0, 9);
  fields.read("experts", out.experts, 1, most_of_plan - 1);
  fields.read("balanced", out.balanced);
  fields.read("long_rows", out.long_rows, long_rows_chosen, most_of_plan);
  fields.read("fills", out.fills);
  fields.read("multiplexed", out.multiplexed);
  fields.read("room", out.room, 0, most_of_plan - 1);
  for (const auto& [field, into] :
       {std::pair{"forward_takes", &out.forward_takes}, {"backward_takes", &out.backward_takes}})
    fields.read(field, *into, 0, 1e9, plan_out_of_range);
  fields.read("lane", out.lane, 0, lane::most_computing - 1);
  fields.read("share", out.share, 0, 1, plan_out_of_range);
  fields.read("pieces", out.pieces, 0, most_row_pieces);
  return out;
}

inline json module_plan_json(const module_plan& from) {
  json out, ways{json::object{}}, ranks;
  const degrees &split = from.on.split(), usual;
  const auto put = [](json& into, const char* name, auto value, auto otherwise) {
    if (value != otherwise) into.set(name, value);
  };
  put(ways, "stages", split.stages, usual.stages);
  put(ways, "data", split.data, usual.data);
  put(ways, "context", split.context, usual.context);
  put(ways, "tensor", split.tensor, usual.tensor);
  if (!ways.members().empty()) out.set("degrees", std::move(ways));
  const list<std::int32_t>& on = from.on.ranks();
  if (!on.empty() && from.on == mesh::from(on[0], split)) {
    ranks.set("first", on[0]);
  } else {
    ranks = json(json::array{});
    for (const std::int32_t each : on) ranks.push_back(each);
  }
  out.set("ranks", std::move(ranks));
  const module_plan plain;
  put(out, "chunks", from.chunks, plain.chunks);
  json layers, remade;
  for (const isize each : from.layers) layers.push_back(each);
  for (const std::uint8_t each : from.remade) remade.push_back(each != 0);
  if (!from.layers.empty()) out.set("layers", std::move(layers));
  if (!from.remade.empty()) out.set("remade", std::move(remade));
  put(out, "microbatches", from.microbatches, plain.microbatches);
  put(out, "group", from.group, plain.group);
  put(out, "stash", from.stash, plain.stash);
  put(out, "ahead", from.ahead, plain.ahead);
  put(out, "offload_beyond", from.offload_beyond, plain.offload_beyond);
  put(out, "zero", from.zero, plain.zero);
  put(out, "experts", from.experts, plain.experts);
  put(out, "balanced", from.balanced, plain.balanced);
  put(out, "long_rows", from.long_rows, plain.long_rows);
  put(out, "fills", from.fills, plain.fills);
  put(out, "multiplexed", from.multiplexed, plain.multiplexed);
  put(out, "room", from.room, plain.room);
  put(out, "forward_takes", from.forward_takes, plain.forward_takes);
  put(out, "backward_takes", from.backward_takes, plain.backward_takes);
  put(out, "lane", from.lane, plain.lane);
  put(out, "share", from.share, plain.share);
  put(out, "pieces", from.pieces, plain.pieces);
  return out;
}

}  // namespace detail

inline json plan_json(const plan& from) {
  json cluster, modules{json::object{}}, out;
  cluster.set("ranks", from.cluster.ranks);
  if (from.cluster.ranks_per_node != 0) cluster.set("ranks_per_node", from.cluster.ranks_per_node);
  if (from.cluster.tensor_may_cross_nodes) cluster.set("tensor_may_cross_nodes", true);
  for (const module_plan& each : from.modules) modules.set(each.name.view(), detail::module_plan_json(each));
  out.set("cluster", std::move(cluster));
  out.set("schedule", from.schedule.view());
  out.set("modules", std::move(modules));
  return out;
}

// JSON that is no plan is refused with the path of what is wrong (MT-P70 to MT-P72). Whether it fits a model
// is for require_plan() to say, modules may come in any order.
inline plan read_plan(const json& from) {
  const detail::plan_fields fields(from, "", {"cluster", "schedule", "modules"});
  plan out;
  const detail::plan_fields cluster(fields.at("cluster"), "cluster",
                                    {"ranks", "ranks_per_node", "tensor_may_cross_nodes"});
  out.cluster.ranks = static_cast<std::int32_t>(
      detail::plan_fields::number(cluster.at("ranks"), "cluster.ranks", 1, most_of_plan));
  cluster.read("ranks_per_node", out.cluster.ranks_per_node, 0, most_of_plan);
  cluster.read("tensor_may_cross_nodes", out.cluster.tensor_may_cross_nodes);
  if (const json* const schedule = fields.find("schedule")) {
    if (!schedule->is_string())
      fail(plan_wrong_kind, std::string("schedule is ") + schedule->kind() + ", wanted the name of one");
    out.schedule = detail::plan_fields::name(schedule->string(), "schedule");
  }
  const json& modules = fields.at("modules");
  if (!modules.is_object())
    fail(plan_wrong_kind,
         std::string("modules is ") + modules.kind() + ", wanted an object with a member for each module");
  for (const auto& [name, value] : modules.members()) out.modules.push(detail::read_module_plan(name, value));
  return out;
}
// The best plan of a search's result, {"plans": [{"plan": {...}, ...}, ...], ...}, or MT-P84.
inline plan read_best_plan(const json& result) {
  const json& plans = result.at("plans");
  const json* const best = plans.is_array() && !plans.items().empty() && plans.items()[0].is_object()
                               ? plans.items()[0].find("plan")
                               : nullptr;
  if (best == nullptr)
    fail(result_without_plan,
         plans.is_array() && plans.items().empty() ? "plans is empty" : "plans[0].plan is missing");
  try {
    return read_plan(*best);
  } catch (const error& problem) {
    throw error(problem, "plans[0].plan");
  }
}
// A plan, or the result of a search. `origin` is named where the text is no JSON or neither of them.
inline plan parse_plan(std::string_view text, const std::string& origin) {
  const json whole = read_json(text, origin);
  try {
    return whole.is_object() && whole.find("plans") != nullptr ? read_best_plan(whole) : read_plan(whole);
  } catch (const error& problem) {
    throw error(problem, origin);
  }
}
// Reads a plan from a file: one plan, or the best of a search's result.
// Asks for: JSON with the fields that docs/plan/plan.md lists, or what plan_cluster --json wrote.
// Memory: the file's text while it is read, and the plan.
// Errors: MT-F01, MT-F04, MT-P70, MT-P71, MT-P72, MT-P84
// Example:
//   std::string lines_of(const std::string& file) { return format_plan(load_plan(file)); }
inline plan load_plan(const std::filesystem::path& path) {
  return parse_plan(mapped_file(path).text(), path.string());
}
// A line for each module.
inline std::string format_plan(const plan& from) {
  const json whole = plan_json(from);
  std::string out = "{\n  \"cluster\": " + write_json(whole.at("cluster")) +
                    ",\n  \"schedule\": " + write_json(whole.at("schedule")) + ",\n  \"modules\": {";
  const char* between = "\n    ";
  for (const auto& [name, value] : whole.at("modules").members()) {
    out += between + write_json(json(name)) + ": " + write_json(value);
    between = ",\n    ";
  }
  return out + "\n  }\n}\n";
}

}  // namespace motet
