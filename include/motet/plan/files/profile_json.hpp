// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/profile.hpp>
#include <motet/plan/files/model_json.hpp>

#include <array>

// Profiles as JSON. docs/plan/profile.md lists all fields.

namespace motet {

namespace detail {

// Three numbers of a forward, of a backward's input part and of its weight part; `row` tells of what is no
// three numbers, `range` of one that is out of its range.
inline std::array<double, 3> read_three(const plan_fields& of, std::string_view name, const char* what,
                                        double most, const message& row, const message& range) {
  const std::string path = of.path_of(name);
  const json& from = of.at(name);
  if (!from.is_array() || from.items().size() != 3)
    fail(row, path + " is " + from.kind() + ", wanted an array of three " + what);
  std::array<double, 3> out;
  std::size_t i = 0;
  for (const json& each : from.items()) {
    out[i] = plan_fields::real(each, sentence({path, "[", i, "]"}), 0, most, range);
    ++i;
  }
  return out;
}
inline part_times read_times(const plan_fields& point, std::string_view name) {
  const auto [forward, input, weight] =
      read_three(point, name, "times", 1e6, profile_misfit, profile_out_of_range);
  return {forward, input, weight};
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

inline measured_gaps read_gaps(const json& from, const std::string& path) {
  const plan_fields fields(from, path, {"module", "tensor", "context", "experts", "zero", "data", "shares"});
  measured_gaps out;
  static_cast<void>(fields.at("module"));
  fields.read("module", out.module);
  gap_degrees& under = out.under;
  fields.read("tensor", under.tensor, 1, 1 << 16);
  fields.read("context", under.context, 1, 1 << 16);
  fields.read("experts", under.experts, 1, 1 << 16);
  fields.read("zero", under.zero, 0, 3);
  fields.read("data", under.data, 1, 1 << 16);
  if (under.zero == 1 || (under.zero == 0 && under.data > 1))
    fail(gaps_misfit,
         sentence({path, " has zero ", under.zero, " and data ", under.data,
                   ", with which replicas do not wait inside operations; wanted zero 2 or 3, or neither"}));
  if (!under.waits())
    fail(gaps_misfit, path + " is of ranks that have nobody to wait for, wanted a degree above 1");
  const auto [forward, input, weight] =
      read_three(fields, "shares", "shares", most_waited, gaps_misfit, gaps_misfit);
  out.of = {forward, input, weight};
  return out;
}

// FLOPs or seconds, of which a forward has some.
inline counted_seconds read_counted(const plan_fields& from, std::string_view name, double most) {
  const auto [forward, input, weight] = read_three(from, name, "numbers", most, times_misfit, times_misfit);
  if (!(forward > 0)) fail(times_misfit, from.path_of(name) + "[0] is nothing at all");
  return {forward, input, weight};
}
inline module_times read_module_times(const json& from, const std::string& path) {
  const plan_fields fields(from, path,
                           {"module", "layers", "work", "tensor", "context", "threads", "update", "points"});
  module_times out;
  for (const char* const needed : {"module", "layers", "work", "points"})
    static_cast<void>(fields.at(needed));
  fields.read("module", out.module);
  fields.read("layers", out.layers, 1, 1 << 20);
  fields.read("work", out.work, 0, 1e30, times_misfit);
  fields.read("tensor", out.tensor, 1, 1 << 16);
  fields.read("context", out.context, 1, 1 << 16);
  fields.read("threads", out.threads, 1, 1 << 16);
  fields.read("update", out.update, 0, 1, times_misfit);
  fields.each("points", [&](const json& item, const std::string& at) {
    const plan_fields point(item, at, {"flops", "seconds"});
    const times_point made{read_counted(point, "flops", 1e30), read_counted(point, "seconds", 1e6)};
    const isize before = out.points.size();
    add_point(out, made);
    if (out.points.size() == before)
      fail(times_misfit, at + " has as many FLOPs forward as another point, to a hundredth");
  });
  if (out.points.empty()) fail(times_misfit, fields.path_of("points") + " is empty");
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
inline json gaps_json(const measured_gaps& from) {
  json out;
  out.set("module", std::string(from.module.view()));
  out.set("tensor", from.under.tensor);
  out.set("context", from.under.context);
  out.set("experts", from.under.experts);
  out.set("zero", from.under.zero);
  out.set("data", from.under.data);
  out.set("shares", json(json::array{from.of.forward, from.of.input, from.of.weight}));
  return out;
}
inline json module_times_json(const module_times& from) {
  const auto three = [](const counted_seconds& of) {
    return json(json::array{of.forward, of.input, of.weight});
  };
  json points{json::array{}}, out;
  for (const times_point& at : from.points) {
    json one;
    one.set("flops", three(at.flops));
    one.set("seconds", three(at.seconds));
    points.push_back(std::move(one));
  }
  out.set("module", std::string(from.module.view()));
  out.set("layers", from.layers);
  out.set("work", from.work);
  out.set("tensor", from.tensor);
  out.set("context", from.context);
  out.set("threads", from.threads);
  out.set("update", from.update);
  out.set("points", std::move(points));
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

// Throws MT-P70 to MT-P72, MT-P78, MT-P90, MT-P91, MT-P94, MT-P96 and MT-P102, with the path of what is
// wrong, for what is no profile.
inline machine_profile read_profile(const json& from) {
  if (!from.is_object())
    fail(plan_wrong_kind, std::string("the profile is ") + from.kind() + ", wanted an object");
  const detail::plan_fields fields(from, "",
                                   {"machine", "activation_bytes", "product_flops", "copy_bytes_per_second",
                                    "modules", "pairs", "gaps", "times"});
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
  fields.each("gaps", [&](const json& item, const std::string& path) {
    const measured_gaps made = detail::read_gaps(item, path);
    if (find_gaps(out.gaps, made.module, made.under) != nullptr)
      fail(gaps_misfit, path + " is of " + std::string(made.module.view()) + " under the same degrees again");
    out.gaps.push(made);
  });
  fields.each("times", [&](const json& item, const std::string& path) {
    const module_times made = detail::read_module_times(item, path);
    for (const module_times& other : out.times)
      if (other.of_same(made))
        fail(times_misfit, path + " is of " + std::string(made.module.view()) +
                               " again, cut the same and on as many threads");
    out.times.push(made);
  });
  if (out.modules.empty() && out.pairs.empty() && out.gaps.empty() && out.times.empty())
    fail(profile_misfit, "modules is empty");
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
// Errors: MT-F01, MT-F04, MT-P70, MT-P71, MT-P72, MT-P78, MT-P79, MT-P90, MT-P91, MT-P94,
// MT-P96, MT-P102
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
  const auto put = [&](const char* name, const auto& all, auto made) {
    json each{json::array{}};
    for (const auto& one : all) each.push_back(made(one));
    if (!all.empty()) out.set(name, std::move(each));
  };
  put("pairs", from.pairs, detail::pair_json);
  put("gaps", from.gaps, detail::gaps_json);
  put("times", from.times, detail::module_times_json);
  return out;
}
// A line for each point, and for each module's gaps.
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
      between = ",\n    {";
      if (made.find("points") == nullptr) {
        out += std::string_view(write_json(made)).substr(1);
        continue;
      }
      for (const auto& [name, own] : made.members())
        if (name != "points") out += write_json(json(name)) + ": " + write_json(own) + ",\n     ";
      out += "\"points\": [";
      const char* before = "\n       ";
      for (const json& point : made.at("points").items()) {
        out += before + write_json(point);
        before = ",\n       ";
      }
      out += "]}";
    }
    out += "\n  ]";
  }
  return out + "\n}\n";
}

}  // namespace motet
