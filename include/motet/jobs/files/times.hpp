// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/jobs/files/columns.hpp>
#include <motet/jobs/messages.hpp>
#include <motet/meta/config.hpp>

#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace motet {

// A measured time of one iteration of a model on so many nodes with so many devices each.
struct measured_time {
  double seconds = 0;  // the best plan's; not positive where none runs
  double whole = 0;    // end to end, where it was measured apart; else 0
  double bar = 0;      // of seconds, where they are estimated
};

// Times of iterations, by model, size, batch, kind of device and layout.
class iteration_times {
 public:
  using key = std::tuple<std::string, std::string, isize, std::string, isize, isize>;

  const measured_time* find(const std::string& model, const std::string& size, isize batch,
                            const std::string& kind, isize nodes, isize per_node) const {
    const auto at = times_.find(key{model, size, batch, kind, nodes, per_node});
    return at == times_.end() ? nullptr : &at->second;
  }
  // Says whether anything was measured of it.
  bool knows(const std::string& model, const std::string& size, isize batch) const {
    const auto at = times_.lower_bound(key{model, size, batch, "", 0, 0});
    return at != times_.end() && std::get<0>(at->first) == model && std::get<1>(at->first) == size &&
           std::get<2>(at->first) == batch;
  }
  // The sizes of a model, the smallest first.
  std::vector<std::string> sizes(const std::string& model) const {
    const auto at = sizes_.find(model);
    return at == sizes_.end() ? std::vector<std::string>{} : at->second;
  }
  // The batches that were measured of a model and its size, as one text.
  std::string batches(const std::string& model, const std::string& size) const {
    std::string out;
    isize before = -1;
    for (auto at = times_.lower_bound(key{model, size, 0, "", 0, 0}); at != times_.end(); ++at) {
      const auto& [of, with, batch, kind, nodes, per_node] = at->first;
      if (of != model || with != size) break;
      if (batch != before) out += (out.empty() ? "" : ", ") + std::to_string(batch);
      before = batch;
    }
    return out;
  }
  std::string models() const {
    std::string out;
    for (const auto& each : sizes_) out += (out.empty() ? "" : ", ") + each.first;
    return out;
  }
  std::size_t size() const { return times_.size(); }
  // The result is false where there is one already.
  bool add(const key& at, measured_time made) {
    if (!times_.emplace(at, made).second) return false;
    std::vector<std::string>& known = sizes_[std::get<0>(at)];
    const std::string& size = std::get<1>(at);
    if (std::find(known.begin(), known.end(), size) == known.end()) {
      known.push_back(size);
      std::stable_sort(known.begin(), known.end(), [](const std::string& a, const std::string& b) {
        return parameters(a) < parameters(b);
      });
    }
    return true;
  }
  // 2.4e9 of "2.4B"; negative where it is no number with K, M, B or T behind it.
  static double parameters(std::string_view size) {
    double out = -1;
    const char* const last = size.data() + size.size();
    const auto [end, bad] = std::from_chars(size.data(), last, out);
    if (bad != std::errc{} || !(out > 0) || end + 1 != last) return -1;
    switch (*end) {
      case 'K': return out * 1e3;
      case 'M': return out * 1e6;
      case 'B': return out * 1e9;
      case 'T': return out * 1e12;
      default: return -1;
    }
  }

 private:
  std::map<key, measured_time> times_;
  std::map<std::string, std::vector<std::string>> sizes_;
};

// Reads times with the columns model, params, global_batch, gpu_type, hosts, gpus_per_host and iter_s; gpus,
// iter_s_e2e and max_mem_gb may be there. Throws MT-J01 to MT-J03, each with line and column.
inline iteration_times read_iteration_times(std::string_view text, const std::string& origin) {
  enum column : std::size_t { model, size, batch, kind, nodes, per_node, seconds, devices, whole };
  named_columns rows(text, origin,
                     {"model", "params", "global_batch", "gpu_type", "hosts", "gpus_per_host", "iter_s"},
                     {"gpus", "iter_s_e2e", "max_mem_gb"});
  iteration_times out;
  while (rows.next()) {
    const char* const count = "a whole number from 1 to 1048576";
    if (iteration_times::parameters(rows.text(size)) < 0) rows.refuse(size, "a size, as in 760M or 2.4B");
    const iteration_times::key at{
        rows.name(model, "a name of a model"),
        rows.text(size),
        rows.whole(batch, 1, isize{1} << 40, "a whole number of samples, at least 1"),
        rows.name(kind, "a kind of device"),
        rows.whole(nodes, 1, 1 << 20, count),
        rows.whole(per_node, 1, 1 << 20, count)};
    if (rows.has(devices) && !rows.text(devices).empty() &&
        rows.whole(devices, 1, isize{1} << 40, count) != std::get<4>(at) * std::get<5>(at))
      rows.refuse(devices, "hosts times gpus_per_host");
    measured_time made{rows.real(seconds, -1e9, 1e9, "seconds; not positive where it does not run"), 0};
    if (rows.has(whole) && !rows.text(whole).empty())
      made.whole = rows.real(whole, -1e9, 1e9, "seconds; not positive where it does not run");
    if (!out.add(at, made))
      fail(jobs_row_twice, sentence({origin, ", line ", rows.line(), ": this layout of ", rows.text(model),
                                     " ", rows.text(size), " stands in an earlier line, too"}));
  }
  if (out.size() == 0)
    fail(jobs_bad_cell, origin + " has no times behind its first line, wanted one at least");
  return out;
}

}  // namespace motet
