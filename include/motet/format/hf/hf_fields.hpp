// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/messages.hpp>
#include <motet/format/text/json_read.hpp>
#include <motet/meta/config.hpp>
#include <motet/meta/error.hpp>

#include <string>
#include <string_view>

namespace motet {

// Fields of one (sub-)configuration, by name, with messages that name them.
class hf_fields {
 public:
  hf_fields(const json* from, std::string where) : from_(from), where_(std::move(where)) {
    if (from_ != nullptr && !from_->is_object()) refuse("", "is not an object");
  }
  const json* find(std::string_view name) const { return from_ == nullptr ? nullptr : from_->find(name); }
  // For some fields null stands for absent.
  const json* find_any(std::string_view name) const {
    const json* const found = find(name);
    return found != nullptr && found->is_null() ? nullptr : found;
  }
  isize size(std::string_view name, isize otherwise) const {
    const json* value = find(name);
    if (value == nullptr) return otherwise;
    if (!value->is_integer() || value->number() < 1 || value->number() > 1e9)
      refuse(name, "is not a positive count: " + described(*value));
    return static_cast<isize>(value->integer());
  }
  double real(std::string_view name, double otherwise) const {
    const json* value = find(name);
    if (value == nullptr) return otherwise;
    if (!value->is_number()) refuse(name, "is not a number: " + described(*value));
    return value->number();
  }
  bool flag(std::string_view name, bool otherwise) const {
    const json* value = find(name);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean()) refuse(name, "is not true or false: " + described(*value));
    return value->boolean();
  }
  std::string text(std::string_view name, std::string otherwise) const {
    const json* value = find(name);
    if (value == nullptr) return otherwise;
    if (!value->is_string()) refuse(name, "is not a string: " + described(*value));
    return value->string();
  }
  [[noreturn]] void refuse(std::string_view name, const std::string& why) const {
    fail(hf_config_unsupported, where_ + (name.empty() ? "" : "." + std::string(name)) + " " + why);
  }

 private:
  static std::string described(const json& value) {
    if (value.is_string()) return "\"" + value.string() + "\"";
    return value.is_integer() || !value.is_number()
               ? (value.is_integer() ? std::to_string(static_cast<long long>(value.number())) : value.kind())
               : std::to_string(value.number());
  }
  const json* from_;
  std::string where_;
};

}  // namespace motet
