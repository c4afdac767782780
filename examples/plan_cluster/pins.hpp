// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/describe/messages.hpp>
#include <motet/plan/describe/tower.hpp>
#include <motet/plan/search/search_result.hpp>

#include <algorithm>
#include <charconv>
#include <vector>

// --pin settles these before the search: "picture:tensor=2,stages=3", several towers with semicolons between
// them.
namespace motet::plan_cluster {

namespace detail {

// A field that may be pinned has its range, and a value that leaves it open.
struct pin_field {
  std::string_view name;
  std::int32_t tower_pin::*into;
  std::int32_t least, most, open;
};
inline constexpr std::int32_t most_pinned = 1 << 20;
inline constexpr pin_field pin_fields[] = {
    {"stages", &tower_pin::stages, 1, most_pinned, 0},
    {"data", &tower_pin::data, 1, most_pinned, 0},
    {"context", &tower_pin::context, 1, most_pinned, 0},
    {"tensor", &tower_pin::tensor, 1, most_pinned, 0},
    {"experts", &tower_pin::experts, 1, most_pinned, 0},
    {"ranks", &tower_pin::ranks, 1, most_pinned, 0},
    {"microbatches", &tower_pin::microbatches, 1, most_pinned, 0},
    {"stash", &tower_pin::stash, -1, most_pinned, -2},
    {"recompute", &tower_pin::recompute, 0, 1, -1},
    {"zero", &tower_pin::zero, 0, 3, -1},
};

// One tower's.
inline void read_pin(const std::string& all, const model_shape& model, list<tower_pin>& out) {
  const auto refuse = [&](const std::string& what) { fail(pin_not_understood, "\"" + all + "\": " + what); };
  const auto names = [](const auto& of) {
    std::string joined;
    for (const auto& each : of) joined += (joined.empty() ? "" : ", ") + std::string(std::string_view(each));
    return joined;
  };
  const std::size_t colon = all.find(':');
  if (colon == std::string::npos) refuse("there is no colon behind the tower");
  const std::string name = all.substr(0, colon);
  std::vector<std::string_view> towers, fields;
  for (const auto& each : model.towers) towers.push_back(each.name.view());
  for (const pin_field& each : pin_fields) fields.push_back(each.name);
  if (std::find(towers.begin(), towers.end(), name) == towers.end())
    refuse("there is no tower \"" + name + "\"; wanted one of " + names(towers));
  isize place = 0;
  while (place < out.size() && out[place].name.view() != name) ++place;
  if (place == out.size()) out.push({.name = label(name)});

  std::string_view text = all;
  text.remove_prefix(colon + 1);
  for (bool more = true; more;) {
    const std::size_t comma = std::min(text.find(','), text.size()), equals = text.find('=');
    if (equals >= comma) refuse("\"" + std::string(text.substr(0, comma)) + "\" is no FIELD=VALUE");
    const std::string field(text.substr(0, equals));
    const std::string_view value = text.substr(equals + 1, comma - equals - 1);
    const auto which = std::find(fields.begin(), fields.end(), field);
    if (which == fields.end()) refuse("there is no field \"" + field + "\"; wanted one of " + names(fields));
    const pin_field& known = pin_fields[which - fields.begin()];
    std::int32_t number = 0;
    const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (value.empty() || problem != std::errc{} || end != value.data() + value.size() ||
        number < known.least || number > known.most)
      refuse(field + " is \"" + std::string(value) + "\", wanted " + std::to_string(known.least) + " to " +
             std::to_string(known.most));
    std::int32_t& pinned = out[place].*known.into;
    if (pinned != known.open && pinned != number)
      refuse("they contradict each other: " + field + " " + std::to_string(pinned) + " and " +
             std::to_string(number) + " for " + name);
    pinned = number;
    more = comma < text.size();
    text.remove_prefix(comma + (more ? 1 : 0));
  }
}

}  // namespace detail

inline list<tower_pin> read_pins(const std::vector<std::string>& texts, const model_shape& model) {
  list<tower_pin> out;
  for (const std::string& each : texts) {
    for (std::size_t from = 0, end = 0; end < each.size(); from = end + 1) {
      end = std::min(each.find(';', from), each.size());
      detail::read_pin(each.substr(from, end - from), model, out);
    }
  }
  return out;
}

}  // namespace motet::plan_cluster
