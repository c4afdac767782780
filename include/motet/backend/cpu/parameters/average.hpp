// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/parameters/optimizer.hpp>

#include <utility>
#include <vector>

namespace motet::cpu {

// Weights that averages follow.
template <class T>
class average_list {
 public:
  average_list() = default;
  explicit average_list(std::vector<average_run<T>> runs) : all_(std::move(runs)) {}
  void prepare(context&) const {}
  const std::vector<average_run<T>>& all() const { return all_; }

 private:
  std::vector<average_run<T>> all_;
};
// average = decay * average + (1 - decay) * weight
template <class T>
void average(context& ctx, const average_list<T>& list, double decay) {
  for (const average_run<T>& each : list.all()) {
    ctx.note("average", 3 * static_cast<double>(each.count),
             3 * static_cast<double>(each.count) * bytes_of<T>);
    if (ctx.measuring()) continue;
    synchronize(ctx);
    const interval own = ctx.own(each.count);
    update_kernel<T>::average(each.weight + own.begin, each.average + own.begin, own.size(), T(1 - decay));
    synchronize(ctx);
  }
}
// Nothing follows where the sums did not allow an update.
template <class T>
void average(context& ctx, const average_list<T>& list, double decay, const real& loss, const real& squares) {
  if (update_sums{loss, squares}.allow()) average(ctx, list, decay);
}

}  // namespace motet::cpu
