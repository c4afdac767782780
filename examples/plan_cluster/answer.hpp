// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/describe/cluster.hpp>
#include <motet/plan/describe/tower.hpp>
#include <motet/plan/search/search_result.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

// An answer has what was asked and found, and the words that text, JSON and headers share.
namespace motet::plan_cluster {

struct answer {
  std::string search, model, cluster;  // as the command line has them
  model_shape towers;
  cluster_facts machine;
  isize batch = 0;
  search_options wishes;
  search_result found;
};

// "12.3 ms", "4.50 GB": three digits, and a prefix; seconds have none for thousands.
inline std::string with_unit(double value, const std::string& unit) {
  constexpr const char* prefixes[] = {"n", "u", "m", "", "k", "M", "G", "T", "P"};
  const std::size_t most = unit == "s" ? 3 : std::size(prefixes) - 1;
  const bool none = std::abs(value) < 1e-12;
  std::size_t which = none ? 3 : 0;
  double shown = none ? 0 : value * 1e9;
  // A number that rounds to a thousand is one of the next.
  for (; which < most && std::abs(shown) >= 999.5; ++which) shown /= 1000;
  char text[64];
  std::snprintf(text, sizeof text, "%.*f %s%s",
                std::abs(shown) < 9.995   ? 2
                : std::abs(shown) < 99.95 ? 1
                                          : 0,
                shown, prefixes[which], unit.c_str());
  return text;
}
inline std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * share);
  return text;
}

// "0-5, 8".
inline std::string row_of(const std::vector<isize>& numbers) {
  std::string out;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    out += (out.empty() ? "" : ", ") + std::to_string(numbers[i]) +
           (last > i ? "-" + std::to_string(numbers[last]) : "");
    i = last + 1;
  }
  return out;
}
// "0-7, 16-23", sorted; of many pieces the first ones.
inline std::string ranks_of(const module_plan& of) {
  std::vector<isize> sorted(of.on.ranks().begin(), of.on.ranks().end());
  std::sort(sorted.begin(), sorted.end());
  std::string out = row_of(sorted);
  if (out.size() > 60) out = out.substr(0, out.rfind(',', 57)) + ", ...";
  return out;
}

// "2 stages x 3 data"; what is 1 is left out.
inline std::string ways_of(const degrees& split) {
  std::string out;
  const auto put = [&](std::int32_t ways, const char* name) {
    if (ways > 1) out += (out.empty() ? "" : " x ") + std::to_string(ways) + " " + name;
  };
  put(split.stages, "stages");
  put(split.data, "data");
  put(split.context, "context");
  put(split.tensor, "tensor");
  return out.empty() ? "whole" : out;
}

// Says how the samples of a tower go through it: "8 microbatches, 2 of 4 kept, remade, zero 1"; what is usual
// is left out.
inline std::string manner_of(const module_plan& of) {
  std::string out;
  const auto put = [&](const std::string& words) { out += ", " + words; };
  if (of.microbatches > 1) put(std::to_string(of.microbatches) + " microbatches");
  if (of.stash >= 0) put(std::to_string(of.stash) + " of " + std::to_string(of.whole_group()) + " kept");
  if (of.ahead > 0) put(std::to_string(of.ahead) + " ahead");
  isize remade = 0;
  for (const std::uint8_t each : of.remade) remade += each;
  if (remade > 0)
    put(remade == of.remade.size() ? "remade" : "remade in " + std::to_string(remade) + " stages");
  if (of.zero > 0) put("zero " + std::to_string(of.zero));
  if (of.experts > 1) put("experts over " + std::to_string(of.experts) + " replicas");
  return out;
}
// "picture: 2 stages x 3 data on 0-5, 4 microbatches; caption: 2 data on 6-7".
inline std::string layout_of(const plan& of) {
  std::string out;
  for (const module_plan& each : of.modules)
    out += (out.empty() ? "" : "; ") + std::string(each.name.view()) + ": " + ways_of(each.on.split()) +
           " on " + ranks_of(each) + manner_of(each);
  return out;
}

// Says in a sentence why a plan is not the best one.
inline std::string loss_of(const lost_by& why) {
  if (why.cause == setback::none) return "as fast as the best";
  const bool counts = why.cause == setback::more_ranks;
  const auto amount = [&](double value) {
    if (counts) return std::to_string(std::llround(value));
    return with_unit(value, "s");
  };
  const std::string compared = amount(why.own) +
                               (counts                         ? ""
                                : why.cause == setback::memory ? " of a device"
                                                               : " of a step") +
                               ", the best plan has " + amount(why.winners);
  return (why.seconds > 0 ? with_unit(why.seconds, "s") + " longer, by " : "") +
         std::string(name_of(why.cause)) + ": " + compared;
}

}  // namespace motet::plan_cluster
