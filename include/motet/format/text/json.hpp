// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/messages.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
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
  json(Bool value) : holds_(held::boolean), bits_{.boolean = value} {}
  template <std::signed_integral Integer>
  json(Integer value) : holds_(held::integer), bits_{.integer = value} {}
  template <std::unsigned_integral Integer>
    requires(!std::same_as<Integer, bool>)
  json(Integer value) {
    if (std::cmp_less_equal(value, INT64_MAX)) {
      holds_ = held::integer;
      bits_.integer = static_cast<std::int64_t>(value);
    } else {
      holds_ = held::large;
      bits_.large = value;
    }
  }
  template <std::floating_point Real>
  json(Real value) : holds_(held::real), bits_{.real = static_cast<double>(value)} {}
  json(std::string value) : holds_(held::text), text_(std::move(value)) {}
  json(std::string_view value) : json(std::string(value)) {}
  json(const char* value) : json(std::string(value)) {}
  json(array value) : holds_(held::items), items_(std::move(value)) {}
  inline json(object value);
  // an object; a repeated name keeps its first value
  inline json(std::initializer_list<std::pair<std::string, json>> members);

  inline json(const json& other);
  // What was moved from is null.
  json(json&& other) noexcept { swap(other); }
  json& operator=(json other) noexcept { return swap(other), *this; }
  ~json() = default;

  bool is_null() const { return holds_ == held::nothing; }
  bool is_boolean() const { return holds_ == held::boolean; }
  bool is_integer() const { return holds_ == held::integer || holds_ == held::large; }
  bool is_number() const { return is_integer() || holds_ == held::real; }
  bool is_string() const { return holds_ == held::text; }
  bool is_array() const { return holds_ == held::items; }
  bool is_object() const { return holds_ == held::members; }
  const char* kind() const {
    constexpr const char* names[] = {"null",     "a boolean", "an integer", "an integer",
                                     "a number", "a string",  "an array",   "an object"};
    return names[static_cast<std::size_t>(holds_)];
  }

  // Each of these throws MT-F02 on a value of another kind. An integer is also a number; a number is not an
  // integer, even 2.0.
  bool boolean() const { return need(held::boolean, "a boolean"), bits_.boolean; }
  std::int64_t integer() const {
    if (holds_ == held::large)
      fail(json_wrong_kind, std::to_string(bits_.large) + " does not fit 64 bits with a sign");
    return need(held::integer, "an integer"), bits_.integer;
  }
  std::uint64_t unsigned_integer() const {
    if (holds_ == held::large) return bits_.large;
    const std::int64_t value = integer();
    if (value < 0) fail(json_wrong_kind, "wanted a count, got " + std::to_string(value));
    return static_cast<std::uint64_t>(value);
  }
  double number() const {
    if (holds_ == held::integer) return static_cast<double>(bits_.integer);
    if (holds_ == held::large) return static_cast<double>(bits_.large);
    return need(held::real, "a number"), bits_.real;
  }
  const std::string& string() const { return need(held::text, "a string"), text_; }
  const array& items() const { return need(held::items, "an array"), items_; }
  const object& members() const { return need(held::members, "an object"), *members_; }

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
  inline bool operator==(const json& other) const;
  // Calls the visitor with what is held, of its own type; a null pointer stands for nothing.
  template <class Visitor>
  decltype(auto) visit(Visitor&& visitor) const {
    switch (holds_) {
      case held::boolean: return visitor(bits_.boolean);
      case held::integer: return visitor(bits_.integer);
      case held::large: return visitor(bits_.large);
      case held::real: return visitor(bits_.real);
      case held::text: return visitor(text_);
      case held::items: return visitor(items_);
      case held::members: return visitor(*members_);
      default: return visitor(nullptr);
    }
  }

 private:
  // The order is that of the words in kind(). An integer is large where 64 bits with a sign do not hold it.
  enum class held : std::uint8_t { nothing, boolean, integer, large, real, text, items, members };
  union number_bits {
    std::int64_t integer = 0;
    std::uint64_t large;
    double real;
    bool boolean;
  };

  void need(held wanted, const char* word) const {
    if (holds_ != wanted) fail(json_wrong_kind, std::string("wanted ") + word + ", got " + kind());
  }
  void swap(json& other) noexcept {
    std::swap(holds_, other.holds_);
    std::swap(bits_, other.bits_);
    text_.swap(other.text_);
    items_.swap(other.items_);
    members_.swap(other.members_);
  }

  // A std::variant of these costs whoever includes this header 27 MB and 0.4 s of g++.
  held holds_ = held::nothing;
  number_bits bits_{};
  std::string text_;
  array items_;
  std::unique_ptr<object> members_;
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

inline json::json(object value)
    : holds_(held::members), members_(std::make_unique<object>(std::move(value))) {}
inline json::json(std::initializer_list<std::pair<std::string, json>> members) : json(object()) {
  for (const auto& [name, value] : members) members_->insert(name, value);
}
inline json::json(const json& other)
    : holds_(other.holds_),
      bits_(other.bits_),
      text_(other.text_),
      items_(other.items_),
      members_(other.members_ ? std::make_unique<object>(*other.members_) : nullptr) {}
inline bool json::operator==(const json& other) const {
  if (holds_ != other.holds_) return false;
  switch (holds_) {
    case held::boolean: return bits_.boolean == other.bits_.boolean;
    case held::integer: return bits_.integer == other.bits_.integer;
    case held::large: return bits_.large == other.bits_.large;
    case held::real: return bits_.real == other.bits_.real;
    case held::text: return text_ == other.text_;
    case held::items: return items_ == other.items_;
    case held::members: return *members_ == *other.members_;
    default: return true;
  }
}
inline json& json::push_back(json value) {
  if (is_null()) *this = array();
  need(held::items, "an array");
  items_.push_back(std::move(value));
  return *this;
}
inline json& json::set(std::string_view name, json value) {
  if (is_null()) *this = object();
  need(held::members, "an object");
  if (json* there = members_->find(name)) {
    *there = std::move(value);
  } else {
    members_->insert(std::string(name), std::move(value));
  }
  return *this;
}

}  // namespace motet
