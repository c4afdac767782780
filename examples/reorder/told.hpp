// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "found.hpp"
#include "packed.hpp"

#include <motet/format/text/json.hpp>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace motet::reorder {

// Samples that run in a later step than they are listed for.
inline std::vector<std::string> those_who_wait(const step& of, const found& chosen) {
  std::vector<std::string> out;
  const std::int32_t each = of.times.samples / static_cast<std::int32_t>(chosen.samples.size());
  for (std::int32_t s = 0; s < chosen.samples.size(); ++s)
    for (const std::int32_t k : chosen.samples[s])
      if (k / each < s) out.push_back(of.names[as_size(k)][0]);
  return out;
}

inline isize samples_of(const step& of, const packing& packed) {
  auto sum = static_cast<isize>(packed.left_over.size());
  for (const std::vector<std::string>& each : of.names) sum += static_cast<isize>(each.size());
  return sum;
}
inline std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& each : names) out += (out.empty() ? ": " : " ") + each;
  return out + "\n";
}

inline json answer(const settings& given, const step& of, const packing& packed, const found& chosen) {
  json out, steps{json::array{}}, waits{json::array{}};
  for (isize s = 0; s < chosen.samples.size(); ++s) {
    json replicas{json::array{}};
    for (const hands& own : chosen.orders[as_size(s)]) {
      json one{json::array{}};
      for (const list<std::int32_t>& each : own) {
        json samples{json::array{}};
        for (const std::int32_t k : each)
          for (const std::string& name : of.names[as_size(chosen.samples[s][k])]) samples.push_back(name);
        one.push_back(std::move(samples));
      }
      replicas.push_back(std::move(one));
    }
    steps.push_back(std::move(replicas));
  }
  for (const std::string& each : those_who_wait(of, chosen)) waits.push_back(each);
  out.set("samples", samples_of(of, packed));
  out.set("stages", given.stages);
  out.set("chunks", given.chunks);
  out.set("replicas", given.replicas);
  out.set("microbatches", given.microbatches);
  out.set("order", given.order);
  out.set("listed", chosen.listed);
  out.set("random", chosen.random);
  out.set("chosen", chosen.seconds);
  out.set("bound", chosen.bound);
  if (given.rows > 0) {
    json left{json::array{}};
    for (const std::string& each : packed.left_over) left.push_back(each);
    out.set("most_rows", packed.most_rows);
    out.set("uneven_pictures", packed.uneven);
    out.set("left_over", std::move(left));
  }
  if (given.defer > 1) {
    out.set("none_waits", chosen.none_waits);
    out.set("waits", std::move(waits));
    out.set("steps", std::move(steps));
  } else {
    out.set("orders", steps.items()[0]);
  }
  return out;
}

inline std::string told(const settings& given, const step& of, const packing& packed, const found& chosen) {
  char numbers[256];
  std::snprintf(numbers, sizeof numbers, "%.6g s; by chance %.6g s, as listed %.6g s, at least %.6g s\n",
                chosen.seconds, chosen.random, chosen.listed, chosen.bound);
  std::string out = sentence({samples_of(of, packed), " samples, ", given.replicas, " replicas of ",
                              given.stages, " stages, ", given.microbatches, " microbatches: "}) +
                    numbers;
  if (given.rows > 0) {
    std::snprintf(
        numbers, sizeof numbers,
        "at most %.6g rows in a microbatch, pictures of the heaviest %.3f of the mean; %zu samples left over",
        packed.most_rows, packed.uneven, packed.left_over.size());
    out += numbers + listed(packed.left_over);
  }
  if (given.defer > 1) {
    const std::vector<std::string> waits = those_who_wait(of, chosen);
    std::snprintf(numbers, sizeof numbers, "%zu samples wait; %.6g s where none does", waits.size(),
                  chosen.none_waits);
    out += numbers + listed(waits);
  }
  for (isize s = 0; s < chosen.samples.size(); ++s)
    for (isize r = 0; r < chosen.orders[as_size(s)].size(); ++r) {
      if (given.defer > 1) out += "step " + std::to_string(s) + ", ";
      out += "replica " + std::to_string(r) + ":";
      for (const list<std::int32_t>& each : chosen.orders[as_size(s)][r]) {
        std::string samples;
        for (const std::int32_t k : each)
          for (const std::string& name : of.names[as_size(chosen.samples[s][k])])
            samples += (samples.empty() ? " " : "+") + name;
        out += samples;
      }
      out += "\n";
    }
  return out;
}

}  // namespace motet::reorder
