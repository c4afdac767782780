// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/disttrain/chain_forecast.hpp>

#include <algorithm>
#include <limits>
#include <vector>

namespace motet {

// The search names the rules that look for a plan of a chain.
enum class chain_search {
  disttrain,     // ranks of its own for each part, by the published stage-time model, solved in whole numbers
  megatron,      // one pipeline: a stage each for encoder and generator, one tensor degree for all
  proportional,  // ranks in proportion to FLOPs, without a model of time
  motet  // parts apart or on the language model's ranks, the encoder also multiplexed, judged by drawn samples
};

struct chain_answer {
  chain_plan how;
  chain_forecast gives;
  chain_order order = chain_order::as_they_come;
  isize considered = 0;
};

namespace detail {

class chain_searcher {
 public:
  explicit chain_searcher(const chain_costs& costs) : costs_(costs) {}

  chain_plan disttrain() {
    best_.clear();
    each_middle([&](const part_place& middle) { spread_apart({false, false, false}, middle, 1); });
    if (best_.empty()) refuse();
    return best_[0].how;
  }
  // The best by the stage-time model of each way to share ranks.
  std::vector<chain_plan> candidates(std::size_t most) {
    std::vector<chain_plan> out;
    for (const bool first : {false, true})
      for (const bool last : {false, true}) {
        best_.clear();
        each_middle([&](const part_place& middle) { spread_apart({first, false, last}, middle, most); });
        for (const found& each : best_) out.push_back(each.how);
      }
    if (out.empty()) refuse();
    return out;
  }
  // The plans whose encoder shares a pipeline's ranks, with parts of every microbatch there; the shortest by
  // what their busiest rank does.
  std::vector<chain_plan> multiplexed(std::vector<chain_plan> of) {
    constexpr std::size_t most = 4;
    std::vector<found> out;
    for (chain_plan& each : of) {
      if (!each.shares[0] || each.middle().stages == 1) continue;
      each.multiplexed = true;
      ++considered_;
      if (fits(each)) out.push_back({costs_.model_seconds(each), each});
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const found& a, const found& b) { return a.seconds < b.seconds; });
    if (out.size() > most) out.resize(most);
    of.clear();
    for (const found& each : out) of.push_back(each.how);
    return of;
  }
  // Tensor groups are nodes; the language model has the stages that it is known by, or as many more as memory
  // asks.
  chain_plan megatron() {
    const isize tensor = costs_.cluster().devices_per_node;
    chain_plan out;
    for (const isize stages : divisors(layers())) {
      if (stages < model().monolith_stages) continue;
      const isize most = devices() / (tensor * (stages + 2));
      out.parts[chain_model::middle] = {stages, largest_divisor(most), tensor};
      for (const isize k : ends) out.parts[k] = {1, out.middle().data * tensor, 1};
      ++considered_;
      if (most > 0 && fits(out)) return out;
    }
    refuse();
  }
  // Of the ranks each part gets its share of FLOPs, or what its memory asks; the language model tensor groups
  // as large as a node, and as few stages as fit.
  chain_plan proportional() {
    double all = 0;
    for (isize k = 0; k < chain_model::size; ++k) all += step_flops(k);
    const auto share = [&](isize k) {
      return std::max<isize>(1, static_cast<isize>(static_cast<double>(devices()) * step_flops(k) / all));
    };
    const isize tensor = costs_.cluster().devices_per_node;
    chain_plan out;
    for (const isize stages : divisors(layers())) {
      for (isize most = share(chain_model::middle) / (tensor * stages); most > 0; --most) {
        out.parts[chain_model::middle] = {stages, most = largest_divisor(most), tensor};
        const isize pictures = pictures_at_once(most);
        for (const isize k : ends) {
          part_place& own = out.parts[k] = {1, std::min(share(k), pictures), 1};
          while (own.data < pictures && room(out, k) < 0) ++own.data;
        }
        ++considered_;
        if (fits(out) && out.ranks() <= devices()) return out;
      }
    }
    refuse();
  }
  isize considered() const { return considered_; }

 private:
  static constexpr isize ends[] = {0, chain_model::size - 1};
  struct found {
    double seconds;
    chain_plan how;
  };

  const chain_model& model() const { return costs_.model(); }
  isize devices() const { return costs_.cluster().devices(); }
  double memory() const { return costs_.cluster().device.memory_bytes; }
  isize layers() const { return model().parts[chain_model::middle].layers; }
  double step_flops(isize k) const { return model().flops(k) * (1 + model().backward(k)); }
  isize pictures_at_once(isize replicas) const {
    return static_cast<isize>(static_cast<double>(replicas) * model().pictures);
  }
  static std::vector<isize> divisors(isize of) {
    std::vector<isize> out;
    for (isize d = 1; d <= of; ++d)
      if (of % d == 0) out.push_back(d);
    return out;
  }
  isize largest_divisor(isize most) const {
    isize largest = 1;
    for (const isize d : divisors_)
      if (d <= most) largest = d;
    return largest;
  }
  // Bytes that are there on the rank of a part that has least room, beyond what it needs; negative: short.
  double room(const chain_plan& of, isize part) const {
    const isize replicas = of.middle().data;
    double shared = 0;
    for (const isize k : ends)
      if (of.shares[k]) shared += costs_.shared_bytes(k, of);
    if (of.shares[part]) return memory() - shared;
    isize behind = 0;
    for (isize k = part; k < chain_model::size; ++k) behind += of.shares[k] ? 0 : of.parts[k].stages;
    return memory() - costs_.bytes(part, of.parts[part], replicas, behind) -
           (part == chain_model::middle ? shared : 0);
  }
  bool fits(const chain_plan& of) const {
    for (isize k = 0; k < chain_model::size; ++k)
      if (room(of, k) < 0) return false;
    return true;
  }

  template <class Visit>
  void each_middle(Visit&& visit) const {
    for (isize tensor = 1; tensor <= costs_.cluster().devices_per_node; tensor *= 2)
      for (const isize stages : divisors(layers()))
        for (const isize data : divisors_)
          if (tensor * stages * data <= devices()) visit(part_place{stages, data, tensor});
  }
  // All ways to spread what the language model leaves. As a part is never slower for more lanes, the
  // generator gets all that the encoder leaves, and of lanes that are alike as fast as few as will do.
  void spread_apart(const bool (&shares)[chain_model::size], const part_place& middle, std::size_t most) {
    chain_plan trial;
    trial.parts[chain_model::middle] = middle;
    for (const isize k : ends) trial.shares[k] = shares[k];
    const isize left = devices() - middle.ranks(), pictures = pictures_at_once(middle.data);
    const auto each_tensor = [&](isize k, auto&& visit) {
      if (trial.shares[k]) {
        trial.parts[k] = {};
        return visit();
      }
      for (isize tensor = 1; tensor <= costs_.cluster().devices_per_node; tensor *= 2) {
        trial.parts[k].tensor = tensor;
        visit();
      }
    };
    // The fewest lanes with which one has `each` pictures at once.
    const auto lanes_for = [&](isize each) { return (pictures + each - 1) / each; };
    const auto as_few = [&](isize lanes) { return lanes_for((pictures + lanes - 1) / lanes); };
    each_tensor(0, [&] {
      each_tensor(chain_model::size - 1, [&] {
        part_place &first = trial.parts[0], &last = trial.parts[chain_model::size - 1];
        const auto with_first = [&](isize taken) {
          if (!trial.shares[chain_model::size - 1]) {
            last.data = std::min((left - taken) / last.tensor, pictures);
            if (last.data < 1) return;
            last.data = as_few(last.data);
          }
          offer(trial, most);
        };
        if (trial.shares[0]) return with_first(0);
        for (isize each = 1, before = 0; each <= pictures; ++each) {
          first.data = lanes_for(each);
          if (first.data == before) {
            // As many lanes as before have more to do: the next number of lanes that differs.
            each = (pictures + first.data - 2) / std::max<isize>(1, first.data - 1) - 1;
            if (first.data == 1) break;
            continue;
          }
          before = first.data;
          if (first.ranks() < left + (trial.shares[chain_model::size - 1] ? 1 : 0)) with_first(first.ranks());
        }
      });
    });
  }
  void offer(const chain_plan& of, std::size_t most) {
    ++considered_;
    const double seconds = costs_.model_seconds(of);
    if (best_.size() == most && !better(seconds, of, best_.back())) return;
    if (!fits(of)) return;
    if (best_.size() == most) best_.pop_back();
    auto at = best_.begin();
    while (at != best_.end() && !better(seconds, of, *at)) ++at;
    best_.insert(at, {seconds, of});
  }
  static bool better(double seconds, const chain_plan& of, const found& than) {
    return seconds != than.seconds ? seconds < than.seconds : of.ranks() < than.how.ranks();
  }

  // Says which part has no room even where it has all devices, and what it lacks.
  [[noreturn]] void refuse() const {
    std::string text;
    for (isize k = 0; k < chain_model::size && text.empty(); ++k) {
      double least = std::numeric_limits<double>::infinity();
      const isize most_stages = k == chain_model::middle ? layers() : 1;
      for (isize tensor = 1; tensor <= costs_.cluster().devices_per_node; tensor *= 2)
        for (const isize stages : divisors(most_stages)) {
          const isize data = largest_divisor(devices() / (tensor * stages));
          if (tensor * stages > devices()) continue;
          least = std::min(least, costs_.bytes(k, {stages, data, tensor}, 1, stages) - memory());
        }
      if (least > 0)
        text = sentence({model().parts[k].name.view(), " lacks ", static_cast<isize>(least),
                         " bytes on each device, however it is cut over all of them"});
    }
    if (text.empty()) {
      // Each has room by itself: what the largest of them leaves is too little for the others.
      const chain_part& largest = model().parts[chain_model::middle];
      text =
          sentence({largest.name.view(), " and the others do not fit beside each other: ", devices(),
                    " devices of ", static_cast<isize>(memory()),
                    " bytes, and their weights and state alone are ", static_cast<isize>(standing_bytes())});
    }
    fail(model_fits_nowhere, text);
  }
  double standing_bytes() const {
    double sum = 0;
    for (const chain_part& each : model().parts)
      sum += each.parameters * (each.bytes_of_weights() + each.bytes_of_state());
    return sum;
  }

  const chain_costs& costs_;
  std::vector<isize> divisors_ = divisors(costs_.samples());
  std::vector<found> best_;
  isize considered_ = 0;
};

}  // namespace detail

// The best plan by these rules for a chain on a cluster, and what it gives with the pictures that samples
// have: those of one step. Throws MT-P85 where nothing fits.
chain_answer search_chain(chain_search by, const chain_costs& costs, const list<double>& pictures);

#if !defined(MOTET_COMPILED_PLANNER)
MOTET_BODY chain_answer search_chain(chain_search by, const chain_costs& costs,
                                     const list<double>& pictures) {
  detail::chain_searcher searcher(costs);
  chain_answer out;
  if (by != chain_search::motet) {
    out.how = by == chain_search::disttrain  ? searcher.disttrain()
              : by == chain_search::megatron ? searcher.megatron()
                                             : searcher.proportional();
    if (by == chain_search::disttrain) out.order = chain_order::published;
    out.gives = forecast_chain(costs, out.how, pictures, out.order);
    out.considered = searcher.considered();
    return out;
  }
  constexpr std::size_t played = 12;  // of each way to share ranks
  constexpr std::int32_t swaps = 200;
  out.order = chain_order::even;
  const auto seconds_of = [&](const chain_plan& how) {
    return forecast_chain(costs, how, pictures, out.order).step_seconds;
  };
  const std::vector<chain_plan> all = searcher.candidates(played);
  double best = std::numeric_limits<double>::infinity();
  for (const chain_plan& each : all)
    if (const double seconds = seconds_of(each); seconds < best) best = seconds, out.how = each;
  out.gives = forecast_chain(costs, out.how, pictures, out.order, swaps);
  for (const chain_plan& each : searcher.multiplexed(all)) {
    const chain_forecast gives = forecast_chain(costs, each, pictures, out.order, 0, out.gives.step_seconds);
    if (gives.step_seconds >= out.gives.step_seconds) continue;
    out.how = each;
    out.gives = gives;
  }
  out.considered = searcher.considered();
  return out;
}
#endif

}  // namespace motet
