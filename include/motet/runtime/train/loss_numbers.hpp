// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/gradients/parameter_piece.hpp>
#include <motet/runtime/stage/model_table.hpp>

#include <span>
#include <vector>

namespace motet {

// The numbers that losses of a model learn. Those of each loss are on one rank, the owner of its meeting
// point; parts of their gradients are found on all ranks that meet there.
template <class Master>
class loss_numbers {
 public:
  loss_numbers(const model_outline& model, const learning& how, std::size_t ranks)
      : model_(model), how_(how), found_(ranks) {
    const std::vector<parameter> all = model.loss_parameters();
    for (const join_outline& join : model.joins) {
      auto& own = parameters_.emplace_back();
      for (parameter each : all) {
        if (each.offset < join.numbers.begin || each.offset >= join.numbers.end) continue;
        each.offset -= join.numbers.begin;
        own.push_back(std::move(each));
      }
    }
  }

  // The numbers of a loss, of the point that owns them.
  template <class Point>
  parameter_piece<Master> piece(std::size_t join, const Point& own) const {
    parameter_piece<Master> out{size(join),      parameters_[join], own.weights(),
                                own.gradients(), own.first(),       own.second()};
    out.runs = update_runs(parameters_[join], out.size);
    out.loss = static_cast<std::int32_t>(join);
    if (how_.optimizer.kind == optimizer_kind::lion) out.second = nullptr;
    if (how_.ema > 0) out.average = own.average();
    return out;
  }
  isize size(std::size_t join) const { return model_.joins[join].numbers.size(); }
  void forget_gradients() {
    for (auto& each : found_) each.clear();
  }
  // A point has its memory from now on.
  template <class Point>
  void find(std::int32_t rank, std::size_t join, const Point& own) {
    if (size(join) > 0)
      found_[as_size(rank)].push_back({own.gradients(), model_.joins[join].numbers, own.is_owner()});
  }
  std::span<const loss_gradients<Master>> gradients_on(std::int32_t rank) const {
    return found_[as_size(rank)];
  }

 private:
  const model_outline& model_;
  learning how_;
  std::vector<std::vector<parameter>> parameters_;  // of each loss
  std::vector<std::vector<loss_gradients<Master>>> found_;
};

}  // namespace motet
