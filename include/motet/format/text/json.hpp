// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/messages.hpp>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace motet {

// A JSON value. Integers stay integers (64 bit, signed or unsigned), objects keep the order of their members,
// and a name occurs once in an object. Reading: json_read.hpp. Writing: json_write.hpp.
// Asks for: nothing; a value is what it is made of.
// Memory: its members, and a hash table for objects of many.
// Errors: MT-F02
// Example:
//   const json plan{{"ranks", 4}, {"name", "pair"}};
//   const std::int64_t ranks = plan.at("ranks").integer();
class json {
 public:
  using array = std::vector<json>;
  struct member {
    const std::string& name;
    const json& value;
  };

  // Members in the order of their first insertion. They are found by a linear search while few, by a hash
  // table when many.
  class object {
   public:
    class iterator {
     public:
      using difference_type = std::ptrdiff_t;
      using value_type = member;
      iterator() = default;
      iterator(const object* of, std::size_t at) : of_(of), at_(at) {}
      member operator*() const { return {of_->names_[at_], of_->values_[at_]}; }
      iterator& operator++() { return ++at_, *this; }
      iterator operator++(int) { return {of_, at_++}; }
      bool operator==(const iterator&) const = default;

     private:
      const object* of_ = nullptr;
      std::size_t at_ = 0;
    };
    std::size_t size() const { return names_.size(); }
    bool empty() const { return names_.empty(); }
    iterator begin() const { return {this, 0}; }
    iterator end() const { return {this, size()}; }
    inline const json* find(std::string_view name) const;
    inline json* find(std::string_view name);
    // The result is false when the name is there already; the value is then unchanged.
    inline bool insert(std::string name, json value);
    inline bool operator==(const object& other) const;

   private:
    static constexpr std::size_t few = 8, none = static_cast<std::size_t>(-1);
    inline std::size_t position(std::string_view name) const;
    inline void enter(std::size_t which);

    std::vector<std::string> names_;
    std::vector<json> values_;
    std::vector<std::uint32_t> slots_;  // 1 + position, 0 is free; a power of two of them
  };

  json() = default;
  json(std::nullptr_t) {}
  template <std::same_as<bool> Bool>
  json(Bool value) : value_(value) {}
  template <std::signed_integral Integer>
  json(Integer value) : value_(static_cast<std::int64_t>(value)) {}
  template <std::unsigned_integral Integer>
    requires(!std::same_as<Integer, bool>)
  json(Integer value) {
    if (std::cmp_less_equal(value, INT64_MAX)) {
      value_ = static_cast<std::int64_t>(value);
    } else {
      value_ = static_cast<std::uint64_t>(value);
    }
  }
  template <std::floating_point Real>
  json(Real value) : value_(static_cast<double>(value)) {}
  json(std::string value) : value_(std::move(value)) {}
  json(std::string_view value) : value_(std::string(value)) {}
  json(const char* value) : value_(std::string(value)) {}
  json(array value) : value_(std::move(value)) {}
  json(object value) : value_(std::move(value)) {}
  // an object; a repeated name keeps its first value
  inline json(std::initializer_list<std::pair<std::string, json>> members);

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_boolean() const { return std::holds_alternative<bool>(value_); }
  bool is_integer() const {
    return std::holds_alternative<std::int64_t>(value_) || std::holds_alternative<std::uint64_t>(value_);
  }
  bool is_number() const { return is_integer() || std::holds_alternative<double>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<array>(value_); }
  bool is_object() const { return std::holds_alternative<object>(value_); }
  const char* kind() const {
    constexpr const char* names[] = {"null",     "a boolean", "an integer", "an integer",
                                     "a number", "a string",  "an array",   "an object"};
    return names[value_.index()];
  }

  // Each of these throws MT-F02 on a value of another kind. An integer is also a number; a number is not an
  // integer, even 2.0.
  bool boolean() const { return get<bool>("a boolean"); }
  std::int64_t integer() const {
    if (const auto* large = std::get_if<std::uint64_t>(&value_))
      fail(json_wrong_kind, std::to_string(*large) + " does not fit 64 bits with a sign");
    return get<std::int64_t>("an integer");
  }
  std::uint64_t unsigned_integer() const {
    if (const auto* large = std::get_if<std::uint64_t>(&value_)) return *large;
    const std::int64_t value = get<std::int64_t>("an integer");
    if (value < 0) fail(json_wrong_kind, "wanted a count, got " + std::to_string(value));
    return static_cast<std::uint64_t>(value);
  }
  double number() const {
    if (const auto* whole = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*whole);
    if (const auto* large = std::get_if<std::uint64_t>(&value_)) return static_cast<double>(*large);
    return get<double>("a number");
  }
  const std::string& string() const { return get<std::string>("a string"); }
  const array& items() const { return get<array>("an array"); }
  const object& members() const { return get<object>("an object"); }

  // The member of an object: null pointer, or MT-F02 naming it, when it is not there.
  const json* find(std::string_view name) const { return members().find(name); }
  const json& at(std::string_view name) const {
    const json* found = find(name);
    if (found == nullptr) fail(json_wrong_kind, "there is no member \"" + std::string(name) + "\"");
    return *found;
  }
  // Adds to an array, or sets a member; null becomes an array or an object.
  inline json& push_back(json value);
  inline json& set(std::string_view name, json value);

  // 1 and 1.0 differ; so does another order of members
  bool operator==(const json& other) const { return value_ == other.value_; }
  template <class Visitor>
  decltype(auto) visit(Visitor&& visitor) const {
    return std::visit(std::forward<Visitor>(visitor), value_);
  }

 private:
  template <class T>
  const T& get(const char* wanted) const {
    const T* found = std::get_if<T>(&value_);
    if (found == nullptr) fail(json_wrong_kind, std::string("wanted ") + wanted + ", got " + kind());
    return *found;
  }
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, array, object> value_;
};

inline std::size_t json::object::position(std::string_view name) const {
  if (slots_.empty()) {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] == name) return i;
    }
    return none;
  }
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t slot = std::hash<std::string_view>{}(name)&mask; slots_[slot] != 0;
       slot = (slot + 1) & mask) {
    if (names_[slots_[slot] - 1] == name) return slots_[slot] - 1;
  }
  return none;
}
inline void json::object::enter(std::size_t which) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = std::hash<std::string_view>{}(names_[which]) & mask;
  while (slots_[slot] != 0) slot = (slot + 1) & mask;
  slots_[slot] = static_cast<std::uint32_t>(which + 1);
}
inline const json* json::object::find(std::string_view name) const {
  const std::size_t found = position(name);
  return found == none ? nullptr : &values_[found];
}
inline json* json::object::find(std::string_view name) {
  return const_cast<json*>(std::as_const(*this).find(name));
}
inline bool json::object::insert(std::string name, json value) {
  if (position(name) != none) return false;
  names_.push_back(std::move(name));
  values_.push_back(std::move(value));
  if (names_.size() <= few) return true;
  if (2 * names_.size() > slots_.size()) {
    slots_.assign(slots_.empty() ? 8 * few : 2 * slots_.size(), 0);
    for (std::size_t i = 0; i < names_.size(); ++i) enter(i);
  } else {
    enter(names_.size() - 1);
  }
  return true;
}
inline bool json::object::operator==(const object& other) const {
  return names_ == other.names_ && values_ == other.values_;
}

inline json::json(std::initializer_list<std::pair<std::string, json>> members) {
  object built;
  for (const auto& [name, value] : members) built.insert(name, value);
  value_ = std::move(built);
}
inline json& json::push_back(json value) {
  if (is_null()) value_ = array{};
  const_cast<array&>(items()).push_back(std::move(value));
  return *this;
}
inline json& json::set(std::string_view name, json value) {
  if (is_null()) value_ = object{};
  auto& own = const_cast<object&>(members());
  if (json* there = own.find(name)) {
    *there = std::move(value);
  } else {
    own.insert(std::string(name), std::move(value));
  }
  return *this;
}

}  // namespace motet
