// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/profile.hpp>
#include <motet/plan/files/model_json.hpp>

// Profiles as JSON. docs/plan/profile.md lists all fields.

namespace motet {

namespace detail {

// Seconds of a forward, of a backward's input part and of its weight part.
inline part_times read_times(const plan_fields& point, std::string_view name) {
  const std::string path = point.path_of(name);
  const json& from = point.at(name);
  if (!from.is_array() || from.items().size() != 3)
    fail(profile_misfit, path + " is " + from.kind() + ", wanted an array of three times");
  double times[3];
  std::size_t i = 0;
  for (const json& each : from.items()) {
    times[i] = plan_fields::real(each, sentence({path, "[", i, "]"}), 0, 1e6, profile_out_of_range);
    ++i;
  }
  return {times[0], times[1], times[2]};
}

inline module_profile read_module_profile(const json& from, const std::string& path) {
  const plan_fields fields(from, path, {"tower", "points"});
  module_profile out;
  out.of = read_tower(fields.at("tower"), fields.path_of("tower"));
  static_cast<void>(fields.at("points"));
  fields.each("points", [&](const json& item, const std::string& at) {
    const plan_fields point(item, at, {"tensor", "samples", "before", "block", "behind"});
    profile_point made;
    point.read("tensor", made.tensor, 1, 1 << 16);
    static_cast<void>(point.at("samples"));
    point.read("samples", made.samples, 1e-3, 1e9, profile_out_of_range);
    made.before = read_times(point, "before");
    made.block = read_times(point, "block");
    made.behind = read_times(point, "behind");
    if (made.block.forward <= 0) fail(profile_out_of_range, point.path_of("block") + "[0] is no time at all");
    const isize before = out.points.size();
    add_point(out, made);
    if (out.points.size() == before)
      fail(profile_misfit, at + " has the tensor degree and the samples of another point");
  });
  if (out.points.empty()) fail(profile_misfit, fields.path_of("points") + " is empty");
  return out;
}

inline module_pair read_pair(const json& from, const std::string& path) {
  const plan_fields fields(from, path, {"first", "second", "samples", "points"});
  module_pair out;
  for (const char* const needed : {"first", "second", "samples", "points"})
    static_cast<void>(fields.at(needed));
  fields.read("first", out.first);
  fields.read("second", out.second);
  if (out.first == out.second)
    fail(pair_misfit, path + " is of " + std::string(out.first.view()) + " beside itself");
  fields.read("samples", out.samples, 1e-3, 1e9, profile_out_of_range);
  fields.each("points", [&](const json& item, const std::string& at) {
    const plan_fields point(item, at, {"share", "threads", "slowdowns"});
    pair_point made;
    const auto two = [&](const char* name, auto& first, auto& second, auto least, auto most) {
      const json& both = point.at(name);
      if (!both.is_array() || both.items().size() != 2)
        fail(pair_misfit, point.path_of(name) + " is " + both.kind() + ", wanted an array of two numbers");
      const auto number = [&](const json& own, const char* which) {
        const std::string path_of_it = point.path_of(name) + which;
        if constexpr (std::is_integral_v<decltype(least)>)
          return static_cast<std::int32_t>(
              plan_fields::number(own, path_of_it, least, most, profile_out_of_range));
        else return plan_fields::real(own, path_of_it, least, most, profile_out_of_range);
      };
      first = number(both.items().front(), "[0]");
      second = number(both.items().back(), "[1]");
    };
    static_cast<void>(point.at("share"));
    point.read("share", made.share, 1e-3, 1 - 1e-3, profile_out_of_range);
    two("threads", made.first_threads, made.second_threads, 1, 1 << 16);
    two("slowdowns", made.first, made.second, 1e-2, 1e4);
    const isize before = out.points.size();
    add_point(out, made);
    if (out.points.size() == before) fail(pair_misfit, at + " has the share of another point");
  });
  if (out.points.empty()) fail(pair_misfit, fields.path_of("points") + " is empty");
  return out;
}

inline json times_json(const part_times& from) {
  return json(json::array{from.forward, from.backward_input, from.backward_weight});
}
inline json point_json(const profile_point& from) {
  json out;
  out.set("tensor", from.tensor);
  out.set("samples", from.samples);
  out.set("before", times_json(from.before));
  out.set("block", times_json(from.block));
  out.set("behind", times_json(from.behind));
  return out;
}
inline json pair_json(const module_pair& from) {
  json points{json::array{}}, out;
  for (const pair_point& at : from.points) {
    json one;
    one.set("share", at.share);
    one.set("threads", json(json::array{at.first_threads, at.second_threads}));
    one.set("slowdowns", json(json::array{at.first, at.second}));
    points.push_back(std::move(one));
  }
  out.set("first", std::string(from.first.view()));
  out.set("second", std::string(from.second.view()));
  out.set("samples", from.samples);
  out.set("points", std::move(points));
  return out;
}

}  // namespace detail

// Throws MT-P70 to MT-P72, MT-P78, MT-P90, MT-P91 and MT-P94, with the path of what is wrong, for what
// is no profile.
inline machine_profile read_profile(const json& from) {
  if (!from.is_object())
    fail(plan_wrong_kind, std::string("the profile is ") + from.kind() + ", wanted an object");
  const detail::plan_fields fields(
      from, "",
      {"machine", "activation_bytes", "product_flops", "copy_bytes_per_second", "modules", "pairs"});
  machine_profile out;
  const json& machine = fields.at("machine");
  if (!machine.is_string())
    fail(plan_wrong_kind, std::string("machine is ") + machine.kind() + ", wanted a text");
  out.machine = machine.string();
  static_cast<void>(fields.at("activation_bytes"));
  fields.read("activation_bytes", out.activation_bytes, 1, 8, profile_out_of_range);
  fields.read("product_flops", out.product_flops, 0, 1e21, profile_out_of_range);
  fields.read("copy_bytes_per_second", out.copy_bytes_per_second, 0, 1e21, profile_out_of_range);
  static_cast<void>(fields.at("modules"));
  fields.each("modules", [&](const json& item, const std::string& path) {
    const module_profile made = detail::read_module_profile(item, path);
    for (const module_profile& other : out.modules)
      if (parts_alone(other.of) == parts_alone(made.of))
        fail(profile_misfit, path + ".tower has the parts of " + std::string(other.of.name.view()));
    out.modules.push(made);
  });
  fields.each("pairs", [&](const json& item, const std::string& path) {
    const module_pair made = detail::read_pair(item, path);
    if (find_pair(out.pairs, made.first, made.second) != nullptr)
      fail(pair_misfit, path + " is of " + std::string(made.first.view()) + " and " +
                            std::string(made.second.view()) + " again");
    out.pairs.push(made);
  });
  if (out.modules.empty() && out.pairs.empty()) fail(profile_misfit, "modules is empty");
  return out;
}
// `origin` is named where the text is no JSON or no profile.
inline machine_profile parse_profile(std::string_view text, const std::string& origin) {
  const json whole = read_json(text, origin);
  try {
    return read_profile(whole);
  } catch (const error& problem) {
    throw error(problem, origin);
  }
}
// A profile from a file, as the program profile writes it.
// Asks for: JSON with the fields that docs/plan/profile.md lists.
// Memory: the file's text while it is read, and the profile.
// Errors: MT-F01, MT-F04, MT-P70, MT-P71, MT-P72, MT-P78, MT-P79, MT-P90, MT-P91, MT-P94
// Example:
//   std::string points_of(const std::string& file) { return format_profile(load_profile(file)); }
inline machine_profile load_profile(const std::filesystem::path& path) {
  return parse_profile(mapped_file(path).text(), path.string());
}

inline json profile_json(const machine_profile& from) {
  json out, modules{json::array{}};
  for (const module_profile& each : from.modules) {
    json points{json::array{}}, made;
    for (const profile_point& at : each.points) points.push_back(detail::point_json(at));
    made.set("tower", tower_json(each.of));
    made.set("points", std::move(points));
    modules.push_back(std::move(made));
  }
  out.set("machine", from.machine);
  out.set("activation_bytes", from.activation_bytes);
  out.set("product_flops", from.product_flops);
  out.set("copy_bytes_per_second", from.copy_bytes_per_second);
  out.set("modules", std::move(modules));
  if (from.pairs.empty()) return out;
  json pairs{json::array{}};
  for (const module_pair& each : from.pairs) pairs.push_back(detail::pair_json(each));
  out.set("pairs", std::move(pairs));
  return out;
}
// A line for each point.
inline std::string format_profile(const machine_profile& from) {
  const json whole = profile_json(from);
  std::string out = "{";
  const char* line = "\n";
  for (const auto& [field, value] : whole.members()) {
    out += line + ("  " + write_json(json(field)) + ": ");
    line = ",\n";
    if (!value.is_array()) {
      out += write_json(value);
      continue;
    }
    out += "[";
    const char* between = "\n    {";
    for (const json& made : value.items()) {
      out += between;
      for (const auto& [name, own] : made.members())
        if (name != "points") out += write_json(json(name)) + ": " + write_json(own) + ",\n     ";
      out += "\"points\": [";
      const char* before = "\n       ";
      for (const json& point : made.at("points").items()) {
        out += before + write_json(point);
        before = ",\n       ";
      }
      out += "]}";
      between = ",\n    {";
    }
    out += "\n  ]";
  }
  return out + "\n}\n";
}

}  // namespace motet
