// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/text/json_read.hpp>
#include <motet/jobs/messages.hpp>
#include <motet/meta/config.hpp>

#include <bit>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace motet {

// Gigabytes that a device needs where a model is trained by data parallelism alone on 1, 2, 4, ... devices;
// negative where it does not fit into any. Baselines that know only this way of training decide by it.
class data_parallel_memory {
 public:
  // `name` is the model, its size and its batch: moe_2.4B_256.
  void set(std::string name, std::vector<double> of) { known_[std::move(name)] = std::move(of); }
  bool empty() const { return known_.empty(); }
  // Says whether it fits into `room` gigabytes with a fifth to spare. A model that nobody measured does not;
  // a table that is empty forbids nothing.
  bool fits(const std::string& name, isize devices, double room) const {
    if (empty()) return true;
    const auto at = known_.find(name);
    const std::size_t place = std::bit_width(as_size(devices)) - 1;
    if (at == known_.end() || place >= at->second.size()) return false;
    const double need = at->second[place];
    return need == 0 || (need != -1 && need * 1.2 <= room);
  }

 private:
  std::map<std::string, std::vector<double>> known_;
};

// Reads {"moe_2.4B_256": [-1, 30.1, ...], ...}, or a list with this object alone. Throws MT-J10 and what JSON
// throws.
inline data_parallel_memory read_data_parallel_memory(std::string_view text, const std::string& origin) {
  const json file = read_json(text, origin);
  const bool listed = file.is_array() && file.items().size() == 1 && file.items()[0].is_object();
  if (!file.is_object() && !listed)
    fail(jobs_bad_memory, origin + ": got " + file.kind() + ", wanted an object of models");
  data_parallel_memory out;
  for (const json::member each : (listed ? file.items()[0] : file).members()) {
    const std::string name(each.name);
    if (!each.value.is_array())
      fail(jobs_bad_memory,
           origin + ", " + name + ": got " + each.value.kind() + ", wanted a list of gigabytes");
    std::vector<double> of;
    for (const json& one : each.value.items()) {
      if (!one.is_number())
        fail(jobs_bad_memory, sentence({origin, ", ", name, ", entry ", of.size() + 1, ": got ", one.kind(),
                                        ", wanted gigabytes, or -1 where it does not fit"}));
      of.push_back(one.number());
    }
    out.set(name, std::move(of));
  }
  return out;
}

}  // namespace motet
