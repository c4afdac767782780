// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/warnings.hpp>
#include <motet/backend/cuda/device/context.hpp>

#include <algorithm>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

// Operations that can go several ways tell which they took, and why: libraries come and go with the machine,
// and what stands in for them is slower.

namespace motet::cuda {

// A detour says why something went another way than the best one. Texts stay where they are, and are known by
// their addresses.
struct detour {
  const char* text = nullptr;  // with # for the number; null: it went the best way
  isize number = 0;
  const char* said = nullptr;  // by a library
  // the row that a user is warned by; null: it was asked for, or little is lost
  const message* warned = nullptr;

  bool none() const { return text == nullptr; }
  detour with(const message& row) const { return {text, number, said, &row}; }
  std::string sentence() const {
    if (none()) return {};
    std::string out = text;
    if (const auto at = out.find('#'); at != std::string::npos) out.replace(at, 1, std::to_string(number));
    return said == nullptr || *said == '\0' ? out : out + ": " + said;
  }
};

// One way that was taken `count` times: of what was given to a stream or recorded. A replay takes the ways of
// its record.
struct taken_path {
  std::string where;      // the module, or "loss"; empty: of no section
  std::string operation;  // "attention"
  std::string way;        // "cuDNN"
  std::string why;        // empty: it is the best one
  long count = 0;

  // "picture: attention by cuDNN, 48 times".
  std::string sentence() const {
    return motet::sentence({(where.empty() ? "" : where + ": "), operation, " by ", way, ", ", count,
                            (count == 1 ? " time" : " times"), (why.empty() ? "" : ": " + why)});
  }
};
inline void add_path(std::vector<taken_path>& to, const taken_path& more) {
  for (taken_path& each : to)
    if (each.where == more.where && each.operation == more.operation && each.way == more.way &&
        each.why == more.why) {
      each.count += more.count;
      return;
    }
  to.push_back(more);
}

// The ways of one engine, a part of it. A known way is a row of a table that is counted up; nothing is
// allocated.
class taken_paths {
 public:
  static constexpr bool of_all_lanes = true;

  explicit taken_paths(engine&) : rows_(64) {}
  taken_paths(const taken_paths&) = delete;
  taken_paths& operator=(const taken_paths&) = delete;
  ~taken_paths() {
    const std::lock_guard lock(ended().mutex);
    for (const taken_path& each : list()) add_path(ended().all, each);
  }

  // Literals, or what else stays: they are known by their addresses.
  void count(const char* where, const char* operation, const char* way, detour why = {}) {
    if (why.none()) why = instead_;
    instead_ = {};
    const row now{where, operation, way, why, 0};
    std::size_t at = now.hash() & (rows_.size() - 1);
    for (; rows_[at].operation != nullptr; at = (at + 1) & (rows_.size() - 1))
      if (rows_[at].is(now)) {
        ++rows_[at].count;
        return;
      }
    rows_[at] = now;
    rows_[at].count = 1;
    ++used_;
    warn(where, operation, why);
    if (2 * used_ > rows_.size()) grow();
  }
  // The next operation says this as its reason.
  void instead_of(const char* where, const char* operation, const detour& why) {
    instead_ = why;
    warn(where, operation, why);
  }
  // A copy of a library's words that lasts; equal ones are one.
  const char* kept(const std::string& words) {
    for (const std::string& each : words_)
      if (each == words) return each.c_str();
    return words_.emplace_back(words).c_str();
  }

  std::vector<taken_path> list() const {
    std::vector<taken_path> found;
    for (const row& each : rows_)
      if (each.operation != nullptr)
        add_path(found, {each.where, each.operation, each.way, each.why.sentence(), each.count});
    std::sort(found.begin(), found.end(), [](const taken_path& a, const taken_path& b) {
      return std::tie(a.where, a.operation, b.count, a.way, a.why) <
             std::tie(b.where, b.operation, a.count, b.way, b.why);
    });
    return found;
  }
  long calls(std::string_view operation) const {
    long sum = 0;
    for (const row& each : rows_)
      sum += each.operation != nullptr && each.operation == operation ? each.count : 0;
    return sum;
  }
  // All ways in one line: "attention by cuDNN 48, product by cuBLASLt 96".
  std::string summary() const {
    std::vector<taken_path> found;
    for (const taken_path& each : list()) add_path(found, {"", each.operation, each.way, "", each.count});
    std::string out;
    for (const taken_path& each : found)
      out += sentence({(out.empty() ? "" : ", "), each.operation, " by ", each.way, " ", each.count});
    return out;
  }
  void forget() {
    rows_.assign(rows_.size(), row{});
    used_ = 0;
  }

  // The ways of all engines of this process that have come to their end.
  static std::vector<taken_path> of_ended_engines() {
    const std::lock_guard lock(ended().mutex);
    return ended().all;
  }

 private:
  struct row {
    const char *where = nullptr, *operation = nullptr, *way = nullptr;
    detour why;
    long count = 0;
    bool is(const row& other) const {
      return where == other.where && operation == other.operation && way == other.way &&
             why.text == other.why.text && why.number == other.why.number && why.said == other.why.said;
    }
    std::size_t hash() const {
      std::size_t all = as_size(why.number);
      for (const char* each : {where, operation, way, why.text, why.said})
        all = (all ^ reinterpret_cast<std::uintptr_t>(each)) * 0x9e3779b97f4a7c15ull;
      return all >> 32;
    }
  };
  struct of_process {
    std::mutex mutex;
    std::vector<taken_path> all;
  };
  static of_process& ended() {
    static auto& one = *new of_process;  // for good: engines may end with the program
    return one;
  }
  static void warn(const char* where, const char* operation, const detour& why) {
    if (why.warned == nullptr) return;
    const std::string whose = std::string(operation) + (*where == '\0' ? "" : std::string(" of ") + where);
    warnings::of_process().say(*why.warned, why.text, whose + ": " + why.sentence());
  }
  void grow() {
    std::vector<row> old(2 * rows_.size());
    old.swap(rows_);
    for (const row& each : old) {
      if (each.operation == nullptr) continue;
      std::size_t at = each.hash() & (rows_.size() - 1);
      while (rows_[at].operation != nullptr) at = (at + 1) & (rows_.size() - 1);
      rows_[at] = each;
    }
  }

  std::vector<row> rows_;  // a power of two
  std::size_t used_ = 0;
  detour instead_;
  std::deque<std::string> words_;
};

namespace detail {

// The outermost section that the context is in.
inline const char* module_of(const context& ctx) {
  if (ctx.costs == nullptr || ctx.section < 0) return "";
  const section_cost* at = ctx.costs->begin() + ctx.section;
  while (at->parent >= 0) at = ctx.costs->begin() + at->parent;
  return at->name;
}

}  // namespace detail

// The operation that was given to the stream just now went this way.
inline void took(context& ctx, const char* operation, const char* way, const detour& why = {}) {
  ctx.on->part<taken_paths>().count(detail::module_of(ctx), operation, way, why);
}
// The next one cannot be done as it was asked for.
inline void does_without(context& ctx, const char* operation, const detour& why) {
  ctx.on->part<taken_paths>().instead_of(detail::module_of(ctx), operation, why);
}

}  // namespace motet::cuda
