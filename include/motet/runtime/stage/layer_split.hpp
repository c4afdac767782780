// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/verdict.hpp>
#include <motet/runtime/messages.hpp>
#include <motet/schedule/core/rules.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace motet {

// Each stage of a module holds so many layers: as even as possible, or as `given` says, if that fits.
inline std::vector<isize> split_layers(std::string_view module, isize layers, isize stages,
                                       std::vector<isize> given = {}) {
  const auto wrong = [&](const message& row, const std::string& what) {
    fail(row, std::string(module) + " has " + what);
  };
  if (layers < stages)
    wrong(*reason::more_stages_than_layers, sentence({layers, " layers, the program ", stages, " stages"}));
  if (given.empty())
    for (isize s = 0; s < stages; ++s) given.push_back(layers * (s + 1) / stages - layers * s / stages);
  if (static_cast<isize>(given.size()) != stages)
    wrong(program_does_not_fit, sentence({stages, " stages in the program, and layers for ", given.size()}));
  isize sum = 0;
  for (const isize each : given) {
    if (each < 1) wrong(program_does_not_fit, sentence({"a stage of ", each, " layers"}));
    sum += each;
  }
  if (sum != layers) wrong(program_does_not_fit, sentence({layers, " layers, and its stages hold ", sum}));
  return given;
}

}  // namespace motet
