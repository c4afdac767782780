// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/tensor/random.hpp>

#include <string>
#include <vector>

// Damages good inputs in the ways that files get damaged, always the same way for the same number: what a
// fuzzer does, for builds without one.
inline std::string mutated(const std::vector<std::string>& seeds, std::uint64_t number) {
  const motet::random_stream draws(7, number);
  std::uint64_t at = 0;
  const auto below = [&](std::size_t bound) {
    return bound == 0 ? std::size_t{0}
                      : static_cast<std::size_t>(draws.below(at++, static_cast<std::uint32_t>(bound)));
  };
  std::string out = seeds[below(seeds.size())];
  for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
    const std::size_t place = below(out.size());
    switch (below(7)) {
      case 0: out.resize(place); break;
      case 1:
      case 2:
        if (!out.empty()) out[place] = static_cast<char>(out[place] ^ static_cast<char>(1u << below(8)));
        break;
      case 3:
        if (!out.empty()) out[place] = static_cast<char>(below(256));
        break;
      case 4: out.insert(place, below(40), static_cast<char>(below(256))); break;
      case 5: out.erase(place, below(40)); break;
      default: {
        const std::string& other = seeds[below(seeds.size())];
        const std::size_t from = below(other.size());
        out.replace(place, below(64), other, from, below(64));
      }
    }
  }
  return out;
}
