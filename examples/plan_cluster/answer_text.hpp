// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answer.hpp"

#include <motet/plan/cost/measured_gaps.hpp>

// The answer for people: a line for each plan, why it lost, and where the best one puts each tower.
namespace motet::plan_cluster {

namespace detail {

using row = std::vector<std::string>;

// Columns as wide as their widest word, numbers on their right. The first `names` columns and the last are
// words, on their left.
inline std::string table_of(const std::vector<row>& rows, std::size_t names = 0) {
  std::vector<std::size_t> widths;
  for (const row& each : rows)
    for (std::size_t c = 0; c < each.size(); ++c) {
      if (c == widths.size()) widths.push_back(0);
      widths[c] = std::max(widths[c], each[c].size());
    }
  std::string out;
  for (const row& each : rows) {
    for (std::size_t c = 0; c < each.size(); ++c) {
      const bool last = c + 1 == each.size();
      const std::string space(last ? 0 : widths[c] - each[c].size(), ' ');
      out += (c < names || last ? each[c] + space : space + each[c]) + (last ? "" : "  ");
    }
    out += "\n";
  }
  return out;
}

inline std::string plans_table(const answer& of) {
  std::vector<row> rows{{"", "step", "samples/s", "bubbles", "exchange", "memory", "node sends", "layout"}};
  for (isize i = 0; i < of.found.plans.size(); ++i) {
    const run_forecast& gives = of.found.plans[i].gives;
    rows.push_back({std::to_string(i + 1), with_unit(gives.step_seconds, "s"),
                    std::to_string(std::llround(gives.samples_per_second)), percent(gives.bubble_rate),
                    percent(gives.communication_share), with_unit(gives.memory_bytes, "B"),
                    of.machine.nodes > 1 ? with_unit(gives.node_traffic_bytes, "B") : "-",
                    layout_of(of.found.plans[i].how)});
  }
  return table_of(rows);
}

inline std::string module_lines(const module_plan& own, const module_forecast& gives, isize batch) {
  const isize devices = own.on.ranks().size();
  const std::string pieces =
      own.microbatches == 1 ? "one microbatch" : std::to_string(own.microbatches) + " microbatches";
  char samples[32];
  std::snprintf(samples, sizeof samples, "%.4g",
                static_cast<double>(batch) / own.on.split().data / own.microbatches);
  std::string out = std::string(own.name.view()) + ": " + ways_of(own.on.split()) + ", " +
                    std::to_string(devices) + (devices == 1 ? " device, " : " devices, ") + pieces + " of " +
                    samples + (std::string_view(samples) == "1" ? " sample" : " samples");
  if (own.groups() > 1)
    out += ", a loss for each" + (own.whole_group() > 1 ? " " + std::to_string(own.whole_group()) : "") +
           " of them";
  if (own.stash >= 0)
    out += ", " + std::to_string(own.stash) + " of " + std::to_string(own.whole_group()) +
           " kept, the others run forward twice";
  module_plan rest = own;
  rest.microbatches = 1, rest.stash = -1;
  out += manner_of(rest) + "\n  a microbatch: forward " + with_unit(gives.forward_seconds, "s");
  if (gives.backward_seconds > 0) out += ", backward " + with_unit(gives.backward_seconds, "s");
  out += "; its devices at " + percent(gives.utilisation) + " of their peak";
  if (gives.forward_waits > 0 || gives.backward_waits > 0 || gives.waits_measured)
    out += "; of these its groups wait " + percent(gives.forward_waits) +
           (gives.backward_seconds > 0 ? " and " + percent(gives.backward_waits) : "") + ", " +
           std::string(gaps_are(gives.waits_measured));
  if (gives.reduction_seconds > 0) out += "; sums of gradients " + with_unit(gives.reduction_seconds, "s");
  const auto bytes = [](const char* name, double count) {
    return count > 0 ? ", " + with_unit(count, "B") + " " + name : std::string();
  };
  return out + "\n  a device: " + with_unit(gives.bytes.weights, "B") + " weights" +
         bytes("gradients", gives.bytes.gradients) + bytes("optimizer", gives.bytes.state) +
         bytes("activations", gives.bytes.activations) + bytes("features", gives.bytes.features) + "\n";
}

// Says what the devices of a node hold: "0-5 picture, 6-7 caption".
inline std::string node_line(const plan& of, const std::vector<std::vector<std::uint8_t>>& holds, isize first,
                             isize last) {
  std::string out;
  const auto names = [&](isize rank) {
    std::string all;
    for (isize k = 0; k < of.modules.size(); ++k)
      if (holds[static_cast<std::size_t>(k)][static_cast<std::size_t>(rank)] != 0)
        all += (all.empty() ? "" : " + ") + std::string(of.modules[k].name.view());
    return all.empty() ? std::string("idle") : all;
  };
  for (isize from = first; from < last;) {
    isize to = from + 1;
    while (to < last && names(to) == names(from)) ++to;
    out += (out.empty() ? "" : ", ") + std::to_string(from - first) +
           (to - from > 1 ? "-" + std::to_string(to - 1 - first) : "") + " " + names(from);
    from = to;
  }
  return out;
}
inline std::string where(const answer& of) {
  const plan& best = of.found.plans[0].how;
  const isize devices = std::max<isize>(of.machine.devices(), best.cluster.ranks),
              each = of.machine.devices_per_node;
  std::vector<std::vector<std::uint8_t>> holds(static_cast<std::size_t>(best.modules.size()),
                                               std::vector<std::uint8_t>(static_cast<std::size_t>(devices)));
  for (isize k = 0; k < best.modules.size(); ++k)
    for (const std::int32_t rank : best.modules[k].on.ranks())
      holds[static_cast<std::size_t>(k)][static_cast<std::size_t>(rank)] = 1;
  std::vector<std::pair<std::string, std::vector<isize>>> kinds;
  for (isize first = 0; first < devices; first += each) {
    const std::string line = node_line(best, holds, first, std::min(first + each, devices));
    auto known =
        std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) { return kind.first == line; });
    if (known == kinds.end()) known = kinds.insert(kinds.end(), {line, {}});
    known->second.push_back(first / each);
  }
  std::string out;
  for (const auto& [line, nodes] : kinds)
    out += (nodes.size() > 1 ? "nodes " : "node ") + row_of(nodes) + ": devices " + line + "\n";
  return out;
}

}  // namespace detail

// What is assumed of routers, one line for each tower with experts.
inline std::string routers_of(const model_shape& towers) {
  std::string out;
  for (const tower_outline& each : towers.towers) {
    if (each.experts < 2) continue;
    char uneven[32];
    std::snprintf(uneven, sizeof uneven, "%g", each.uneven);
    out += "\n" + std::string(each.name.view()) + ": of ranks that share its " +
           std::to_string(each.experts) + " experts the busiest is taken to have " +
           (each.uneven > 1    ? std::string(uneven) + " times its even share of rows"
            : each.uneven == 1 ? "its even share of rows"
                               : "as many rows as by lot") +
           " (uneven)";
  }
  return out;
}

inline std::string tell_answer(const answer& of) {
  const list<ranked_plan>& plans = of.found.plans;
  std::string out = of.model + " on " + of.cluster + ": " + std::to_string(of.machine.devices()) +
                    (of.machine.devices() == 1 ? " device, " : " devices, ") + std::to_string(of.batch) +
                    (of.batch == 1 ? " sample a step" : " samples a step");
  if (of.wishes.contrastive_batch > 0)
    out += ", a loss for each " + std::to_string(of.wishes.contrastive_batch);
  out += "; search " + of.search;
  if (of.found.simulated > 0)
    out += ", " + std::to_string(of.found.considered) + " combinations, " +
           std::to_string(of.found.simulated) + " simulated";
  if (!of.found.not_tried.empty()) out += "\n" + of.found.not_tried;
  out += routers_of(of.towers);
  out += "\n\n" + detail::plans_table(of);
  if (plans.size() > 1) out += "\nwhy they lost\n";
  for (isize i = 1; i < plans.size(); ++i) out += std::to_string(i + 1) + "  " + loss_of(plans[i].why) + "\n";
  out += "\nthe best plan, schedule " + std::string(plans[0].how.schedule.view()) + "\n";
  for (isize k = 0; k < plans[0].how.modules.size(); ++k)
    out += detail::module_lines(
        plans[0].how.modules[k],
        k < plans[0].gives.modules.size() ? plans[0].gives.modules[k] : module_forecast{}, of.batch);
  return out + "\nwhere\n" + detail::where(of);
}

}  // namespace motet::plan_cluster
