// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/kernels/sort.hpp>

#include <doctest/doctest.h>
#include <motet/tensor/random.hpp>

#include "laws/cuda_run.hpp"

#include <algorithm>
#include <numeric>

namespace motet {

TEST_CASE("pairs are sorted by the low bits of their keys, and equal keys keep their order") {
  for (const isize count : {0, 1, 2, 31, 1000})
    for (const int bits : {0, 1, 5, 17, 32}) {
      const random_stream draw(static_cast<std::uint64_t>(count * 33 + bits), "keys");
      std::vector<std::uint32_t> keys(static_cast<std::size_t>(count)), values(keys.size());
      const std::uint32_t mask = bits == 32 ? 0xffffffffu : (std::uint32_t{1} << bits) - 1;
      for (std::size_t i = 0; i < keys.size(); ++i) {
        keys[i] = draw.word(i) & mask;
        if (i % 3 == 0) keys[i] &= 0x0f;
        values[i] = static_cast<std::uint32_t>(i);
      }
      const laws::flat_on_gpu<std::uint32_t> a(keys), b(values), c(count), d(count);
      motet::cuda::pairs found;
      laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
        found = sort_pairs(ctx, motet::cuda::pairs{a.data(), b.data()},
                           motet::cuda::pairs{c.data(), d.data()}, count, bits);
      });
      const bool stayed = found.keys == a.data();
      const auto got_keys = stayed ? a.back() : c.back(), got_values = stayed ? b.back() : d.back();
      std::vector<std::uint32_t> order(keys.size());
      std::iota(order.begin(), order.end(), 0u);
      std::stable_sort(order.begin(), order.end(), [&](auto i, auto j) { return keys[i] < keys[j]; });
      std::vector<std::uint32_t> want_keys;
      for (const std::uint32_t each : order) want_keys.push_back(keys[each]);
      CHECK(laws::off_by(got_keys, want_keys) == 0);
      CHECK(laws::off_by(got_values, order) == 0);
    }
}

}  // namespace motet
