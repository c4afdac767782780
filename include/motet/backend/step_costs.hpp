// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <string>

namespace motet {

// What one part of a step cost: filled while running (seconds) and while measuring (FLOPs, bytes).
struct section_cost {
  const char* name = nullptr;
  int parent = -1;  // place of the section around it; -1: none
  double seconds = 0;
  double flops = 0;
  double bytes = 0;
};

// Costs by section; sections lie inside each other, and each counts what lies in no inner one. Thread 0 alone keeps time.
class step_costs {
 public:
  static constexpr int capacity = 64;
  // The place of a section inside another.
  int inside(int parent, const char* name) {
    for (int i = 0; i < size_; ++i)
      if (costs_[i].parent == parent && (costs_[i].name == name || std::strcmp(costs_[i].name, name) == 0)) return i;
    if (size_ == capacity) return capacity - 1;
    costs_[size_].name = name;
    costs_[size_].parent = parent;
    return size_++;
  }
  section_cost& at(int place) { return costs_[place >= 0 ? place : inside(-1, "other")]; }
  // "picture / blocks / mlp".
  std::string path(const section_cost& cost) const {
    return cost.parent < 0 ? std::string(cost.name) : path(costs_[cost.parent]) + " / " + cost.name;
  }
  const section_cost* begin() const { return costs_; }
  const section_cost* end() const { return costs_ + size_; }
  void clear() { *this = step_costs{}; }
  double flops() const {
    double sum = 0;
    for (const auto& cost : *this) sum += cost.flops;
    return sum;
  }

 private:
  section_cost costs_[capacity] = {};
  int size_ = 0;
};

}  // namespace motet
