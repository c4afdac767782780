// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <string>

namespace motet {

// The cost of one part of a step: filled while running (seconds) and while measuring (FLOPs, bytes).
struct section_cost {
  const char* name = nullptr;
  int parent = -1;  // number of the section around it; -1: none
  double seconds = 0;
  double flops = 0;
  double bytes = 0;
};

// What bounds an operation: products of matrices, for which a chip has units of their own, attention, whose
// products are small and have a softmax between them, or single elements. All others wait for other ranks,
// and their FLOPs are what sums of their rows take: rows of a tensor group that are gathered, or summed; rows
// that go to experts; and what context parts exchange.
enum class flops_of : int { elements, products, attention, gathers, summed_rows, expert_rows, exchanges };

// Calls of one operation that cost alike, in one section, by a dry run.
struct operation_cost {
  const char* name = nullptr;
  int section = -1;  // number of the section that it was called in
  flops_of kind = flops_of::elements;
  long calls = 0;
  double flops = 0;  // of one call
  double bytes = 0;  // of one call
};

// A list of what step_costs holds.
template <class Cost>
struct cost_list {
  const Cost *first, *last;
  const Cost* begin() const { return first; }
  const Cost* end() const { return last; }
};

// Costs by section, and by operation in each section; sections lie inside each other, and each counts what
// lies in no inner one. Thread 0 alone keeps time.
class step_costs {
 public:
  static constexpr int capacity = 64, most_operations = 384;
  // The number of a section inside another.
  int inside(int parent, const char* name) {
    for (int i = 0; i < size_; ++i)
      if (costs_[i].parent == parent && same(costs_[i].name, name)) return i;
    if (size_ == capacity) return capacity - 1;
    costs_[size_].name = name;
    costs_[size_].parent = parent;
    return size_++;
  }
  section_cost& at(int number) { return costs_[own(number)]; }
  // note() counts one call of an operation. Names live as long as these costs.
  void note(int section, const char* name, double flops, double bytes, flops_of kind = flops_of::elements) {
    section = own(section);
    costs_[section].flops += flops;
    costs_[section].bytes += bytes;
    int i = 0;
    while (i < operation_count_ && !alike(operations_[i], {name, section, kind, 0, flops, bytes})) ++i;
    if (i == most_operations) {
      ++unlisted_;
      return;
    }
    if (i == operation_count_) operations_[operation_count_++] = {name, section, kind, 0, flops, bytes};
    ++operations_[i].calls;
  }
  // Operations come in the order in which they were first called.
  cost_list<operation_cost> operations() const { return {operations_, operations_ + operation_count_}; }
  // Calls that found no place in the list of operations; their sections have them.
  long unlisted() const { return unlisted_; }
  // "picture / blocks / mlp".
  std::string path(const section_cost& cost) const {
    return cost.parent < 0 ? std::string(cost.name) : path(costs_[cost.parent]) + " / " + cost.name;
  }
  std::string path(const operation_cost& cost) const { return path(costs_[cost.section]); }
  const section_cost* begin() const { return costs_; }
  const section_cost* end() const { return costs_ + size_; }
  void clear() { *this = step_costs{}; }
  // Costs of another rank, or of another part of a step, are added.
  void add(const step_costs& other) {
    int own[capacity] = {};
    for (int i = 0; i < other.size_; ++i) {
      const section_cost& from = other.costs_[i];
      own[i] = inside(from.parent < 0 ? -1 : own[from.parent], from.name);
      section_cost& to = costs_[own[i]];
      to.seconds += from.seconds;
      to.flops += from.flops;
      to.bytes += from.bytes;
    }
    for (const operation_cost& each : other.operations()) {
      const operation_cost moved{each.name, own[each.section], each.kind, each.calls, each.flops, each.bytes};
      int i = 0;
      while (i < operation_count_ && !alike(operations_[i], moved)) ++i;
      if (i < operation_count_) operations_[i].calls += each.calls;
      else if (i < most_operations) operations_[operation_count_++] = moved;
      else unlisted_ += each.calls;
    }
    unlisted_ += other.unlisted_;
  }
  double flops() const {
    double sum = 0;
    for (const auto& cost : *this) sum += cost.flops;
    return sum;
  }

 private:
  static bool same(const char* a, const char* b) { return a == b || std::strcmp(a, b) == 0; }
  static bool alike(const operation_cost& a, const operation_cost& b) {
    return a.section == b.section && a.kind == b.kind && a.flops == b.flops && a.bytes == b.bytes &&
           same(a.name, b.name);
  }
  int own(int number) { return number >= 0 ? number : inside(-1, "other"); }
  section_cost costs_[capacity] = {};
  int size_ = 0;
  operation_cost operations_[most_operations] = {};
  int operation_count_ = 0;
  long unlisted_ = 0;
};

}  // namespace motet
