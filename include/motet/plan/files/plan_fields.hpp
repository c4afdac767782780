// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/text/json_write.hpp>
#include <motet/plan/describe/messages.hpp>
#include <motet/schedule/core/voice.hpp>

#include <algorithm>
#include <concepts>
#include <limits>
#include <span>

namespace motet::detail {

// Reads one object of a plan, and knows where in the file it stands.
class plan_fields {
 public:
  plan_fields(const json& from, std::string path, std::initializer_list<std::string_view> known)
      : plan_fields(from, std::move(path), std::span(known.begin(), known.size())) {}
  plan_fields(const json& from, std::string path, std::span<const std::string_view> known)
      : from_(from), path_(std::move(path)) {
    if (!from.is_object())
      fail(plan_wrong_kind,
           (path_.empty() ? "the plan" : path_) + " is " + from.kind() + ", wanted an object");
    for (const auto& [name, value] : from.members()) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      std::string all;
      for (const std::string_view each : known) all += (all.empty() ? "" : ", ") + std::string(each);
      fail(plan_unknown_field, path_of(name) + "; wanted one of " + all);
    }
  }

  const json* find(std::string_view name) const { return from_.find(name); }
  const json& at(std::string_view name) const {
    const json* const found = find(name);
    if (found == nullptr) fail(plan_wrong_kind, path_of(name) + " is missing");
    return *found;
  }
  std::string path_of(std::string_view name) const {
    return path_.empty() ? std::string(name) : path_ + "." + std::string(name);
  }

  template <std::integral Integer>
  void read(std::string_view name, Integer& into, std::int64_t least, std::int64_t most,
            const message& row = plan_out_of_range) const {
    if (const json* const found = find(name))
      into = static_cast<Integer>(number(*found, path_of(name), least, most, row));
  }
  void read(std::string_view name, double& into, double least, double most,
            const message& row = plan_out_of_range) const {
    if (const json* const found = find(name)) into = real(*found, path_of(name), least, most, row);
  }
  void read(std::string_view name, bool& into) const {
    if (const json* const found = find(name)) into = boolean(*found, path_of(name));
  }
  void read(std::string_view name, label& into) const {
    const json* const found = find(name);
    if (found == nullptr) return;
    if (!found->is_string())
      fail(plan_wrong_kind, path_of(name) + " is " + found->kind() + ", wanted a name");
    into = plan_fields::name(found->string(), path_of(name));
  }
  // push(item, its path) for all items of an array.
  template <class Push>
  void each(std::string_view name, Push push) const {
    const json* const found = find(name);
    if (found == nullptr) return;
    if (!found->is_array())
      fail(plan_wrong_kind, path_of(name) + " is " + found->kind() + ", wanted an array");
    std::size_t i = 0;
    for (const json& item : found->items()) push(item, sentence({path_of(name), "[", i++, "]"}));
  }

  static std::int64_t number(const json& from, const std::string& path, std::int64_t least, std::int64_t most,
                             const message& row = plan_out_of_range) {
    if (!from.is_integer()) fail(plan_wrong_kind, path + " is " + from.kind() + ", wanted an integer");
    const std::string range = sentence({"wanted ", least, " to ", most});
    // A number that 64 bits with a sign do not hold is out of every range.
    std::int64_t value = std::numeric_limits<std::int64_t>::max();
    from.visit([&](const auto& held) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(held)>, std::int64_t>) value = held;
    });
    if (value < least || value > most) fail(row, path + " is " + write_json(from) + ", " + range);
    return value;
  }
  static double real(const json& from, const std::string& path, double least, double most,
                     const message& row = plan_out_of_range) {
    if (!from.is_number()) fail(plan_wrong_kind, path + " is " + from.kind() + ", wanted a number");
    const double value = from.number();
    // A value that is no number is out of every range, too.
    if (!(value >= least && value <= most))
      fail(row, path + " is " + write_json(from) + ", wanted " + write_json(json(least)) + " to " +
                    write_json(json(most)));
    return value;
  }
  static bool boolean(const json& from, const std::string& path) {
    if (!from.is_boolean()) fail(plan_wrong_kind, path + " is " + from.kind() + ", wanted true or false");
    return from.boolean();
  }
  // A plan keeps the first 15 letters of a name.
  static label name(const std::string& text, const std::string& path) {
    if (text.empty() || text.size() >= sizeof label::text || text.find('\0') != std::string::npos)
      fail(plan_wrong_kind,
           sentence({path, " has a name of ", text.size(), " letters, wanted 1 to 15, none of them zero"}));
    return label(text);
  }

 private:
  const json& from_;
  std::string path_;
};

}  // namespace motet::detail
