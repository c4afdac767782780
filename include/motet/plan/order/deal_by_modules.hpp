// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/order/deal.hpp>
#include <motet/plan/order/place_clock.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace motet {

namespace detail {

// Deals samples to the microbatches of one module after the other, each within what those before have left
// together.
class module_dealer {
 public:
  module_dealer(const program_samples& samples, const place_clock& clock, const step_headers& of)
      : samples_(samples),
        of_(of),
        loads_(samples.cells()),
        whole_(samples.modules(), 0.0),
        busy_(samples.of().ranks(), 0.0),
        filled_(samples.cells(), 0.0) {
    for (const voice& sings : samples.of().voices) {
      double sum = 0;
      for (std::int32_t s = 0; s < sings.stages; ++s) {
        const double slope = clock.slope(sings.first_place + s);
        sum += slope;
        for (std::int32_t m = 0; m < sings.microbatches; ++m)
          loads_[samples.cell_of(sings, m)].push({samples.of().place(sings, s), slope});
      }
      whole_[sings.module] = std::max(whole_[sings.module], sum);
    }
    for (isize b = 0; b < samples.blocks().size(); ++b) {
      part_of_block_.push(samples.circle(b));
      for (isize p = samples.blocks()[b].places.begin; p < samples.blocks()[b].places.end; ++p)
        part_of_sample_.push(samples.circle(b));
    }
  }

  hands dealt() {
    for (const list<std::int32_t>& each : cut_alike()) deal(each);
    // Every part is one block now.
    list<std::int32_t> block(part_of_block_.size(), 0);
    for (std::int32_t b = 0; b < block.size(); ++b) block[part_of_block_[b]] = b;
    hands out(block.size());
    for (std::int32_t s = 0; s < of_.samples; ++s) out[block[part_of_sample_[s]]].push(s);
    return out;
  }

 private:
  // A rank takes so long for a unit of work of a microbatch.
  struct load {
    std::int32_t rank = 0;
    double slope = 0;
  };
  // Samples of one part that go to the same microbatch: some blocks, of which this is one.
  struct finer_part {
    std::int32_t within = 0, block = 0;
    isize room = 0;
  };
  // What is busiest, then what the microbatch has, then all that the ranks have: less is better.
  using order_key = std::pair<std::pair<double, double>, double>;

  std::int32_t cell(isize block, std::int32_t module) const { return samples_.blocks()[block].cells[module]; }
  bool cuts(std::int32_t module, isize block) const { return cell(block, module) != cell(block - 1, module); }
  // Modules that cut the list alike, those with the fewest microbatches first.
  list<list<std::int32_t>> cut_alike() const {
    list<list<std::int32_t>> out;
    const isize blocks = samples_.blocks().size();
    const auto alike = [&](std::int32_t a, std::int32_t b) {
      for (isize i = 1; i < blocks; ++i)
        if (cuts(a, i) != cuts(b, i)) return false;
      return true;
    };
    const auto count = [&](const list<std::int32_t>& each) {
      isize found = 0;
      for (isize i = 1; i < blocks; ++i) found += cuts(each[0], i) ? 1 : 0;
      return found;
    };
    for (std::int32_t k = 0; k < samples_.modules(); ++k) {
      isize at = 0;
      while (at < out.size() && !alike(out[at][0], k)) ++at;
      if (at == out.size()) out.push({});
      out[at].push(k);
    }
    std::stable_sort(out.begin(), out.end(),
                     [&](const auto& a, const auto& b) { return count(a) < count(b); });
    return out;
  }

  order_key key_with(const list<std::int32_t>& modules, isize block, std::int32_t sample) const {
    order_key key{{0, 0}, 0};
    for (const std::int32_t k : modules) {
      const std::int32_t at = cell(block, k);
      const double work = of_.work_of(k, sample);
      for (const load& each : loads_[at]) {
        const double busy = busy_[each.rank] + each.slope * work;
        key.first.first = std::max(key.first.first, busy);
        key.second += busy;
      }
      key.first.second = std::max(key.first.second, filled_[at] + whole_[k] * work);
    }
    return key;
  }
  void add(const list<std::int32_t>& modules, isize block, std::int32_t sample) {
    for (const std::int32_t k : modules) {
      const std::int32_t at = cell(block, k);
      const double work = of_.work_of(k, sample);
      for (const load& each : loads_[at]) busy_[each.rank] += each.slope * work;
      filled_[at] += whole_[k] * work;
    }
  }
  list<std::int32_t> largest_first(const list<std::int32_t>& modules) const {
    list<double> costs;
    for (std::int32_t s = 0; s < of_.samples; ++s) {
      double sum = 0;
      for (const std::int32_t k : modules) sum += whole_[k] * of_.work_of(k, s);
      costs.push(sum);
    }
    return detail::largest_first(costs);
  }

  void deal(const list<std::int32_t>& modules) {
    list<finer_part> parts;
    list<list<std::int32_t>> within(part_of_block_.size());  // parts of each part before
    for (std::int32_t b = 0; b < part_of_block_.size(); ++b) {
      std::int32_t& before = part_of_block_[b];
      list<std::int32_t>& finer = within[before];
      const auto* const known = std::find_if(finer.begin(), finer.end(), [&](std::int32_t p) {
        return cell(parts[p].block, modules[0]) == cell(b, modules[0]);
      });
      std::int32_t at = 0;
      if (known != finer.end()) {
        at = *known;
      } else {
        at = static_cast<std::int32_t>(parts.size());
        finer.push(at);
        parts.push({before, b, 0});
      }
      parts[at].room += samples_.blocks()[b].places.size();
      before = at;
    }
    for (const std::int32_t sample : largest_first(modules)) {
      std::int32_t best = -1;
      order_key least;
      for (const std::int32_t p : within[part_of_sample_[sample]]) {
        if (parts[p].room == 0) continue;
        const order_key now = key_with(modules, parts[p].block, sample);
        if (best < 0 || now < least) best = p, least = now;
      }
      --parts[best].room;
      part_of_sample_[sample] = best;
      add(modules, parts[best].block, sample);
    }
  }

  const program_samples& samples_;
  const step_headers& of_;
  list<list<load>> loads_;      // of each cell
  list<double> whole_;          // seconds of a unit of work on all stages of each module
  list<double> busy_, filled_;  // of each rank and of each cell, seconds so far
  list<std::int32_t> part_of_block_, part_of_sample_;
};

}  // namespace detail

// Deals the samples of a step to the blocks of a program, module after module by the costs of that module
// alone: first to the replicas and microbatches of those with the fewest, then the samples of each of these
// to the replicas of others. So each module is even by itself, where a plan lets rows cross between replicas
// (plan/describe/cut_apart.hpp); where it does not, a replica's samples follow from the first module.
// Asks for: as many samples as the program takes.
// Memory: some numbers for each microbatch and each sample.
// Errors: none of its own.
// Example:
//   isize of_first_block(const program_samples& samples, const place_clock& clock, const step_headers& of) {
//     return deal_by_modules(samples, clock, of)[0].size();
//   }
inline hands deal_by_modules(const program_samples& samples, const place_clock& clock,
                             const step_headers& of) {
  return detail::module_dealer(samples, clock, of).dealt();
}

}  // namespace motet
