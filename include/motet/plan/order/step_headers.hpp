// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/list.hpp>
#include <motet/schedule/core/voice.hpp>

#include <cstdint>
#include <string_view>

namespace motet {

// An order says which sample of a step comes to each place of its list: a permutation of the step's samples.
using sample_order = list<std::int32_t>;

// Headers tell of a step's samples, before one of them is looked at, what each brings to every module.
struct step_headers {
  std::int32_t samples = 0;
  list<label> modules{};  // in the model's order
  // Each (module, sample), all samples of the first module first, has so many rows, and they take about so
  // many multiplications forward.
  list<double> rows{}, work{};

  // Finds the module of this name; -1: none.
  std::int32_t find(std::string_view name) const {
    for (std::int32_t k = 0; k < modules.size(); ++k)
      if (modules[k].view() == name) return k;
    return -1;
  }
  // A name that no module has has no rows.
  double rows_of(std::string_view name, std::int32_t sample) const {
    const std::int32_t module = find(name);
    return module < 0 ? 0 : rows[isize{module} * samples + sample];
  }
  double work_of(std::int32_t module, std::int32_t sample) const {
    return work[isize{module} * samples + sample];
  }
};

}  // namespace motet
