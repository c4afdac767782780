// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/kernels/token_sums.hpp>

#include <doctest/doctest.h>

#include "laws/cuda_run.hpp"

namespace motet {
using laws::grid, laws::distance;

namespace {

// The sums of plain loops in double.
template <class X>
void compare(const std::vector<std::int32_t>& ids, isize first, isize table_rows, isize width, isize gap,
             std::uint64_t seed) {
  const isize rows = static_cast<isize>(ids.size());
  const auto dy = grid<X>(rows, width, gap).random(seed);
  const auto before = grid<float>(table_rows, width, gap).random(seed + 1);
  grid<double> want(table_rows, width);
  for (isize t = 0; t < table_rows; ++t)
    for (isize c = 0; c < width; ++c) want.at(t, c) = before(t, c);
  for (isize r = 0; r < rows; ++r)
    if (const isize at = ids[static_cast<std::size_t>(r)] - first; at >= 0 && at < table_rows)
      for (isize c = 0; c < width; ++c) want.at(at, c) += dy(r, c);
  const laws::flat_on_gpu<std::int32_t> on_gpu(ids);
  const laws::on_gpu<X> gdy(dy);
  std::vector<std::vector<float>> twice;
  for (int run = 0; run < 2; ++run) {
    const laws::on_gpu<float> table(before);
    laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
      motet::cuda::add_by_token(ctx, on_gpu.data(), first, gdy.all(), table.all());
    });
    CHECK(distance(table.back(), want) < 2e-5);
    CHECK(table.untouched());
    twice.push_back(table.back().data);
  }
  CHECK(twice[0] == twice[1]);
}

}  // namespace

TEST_CASE_TEMPLATE("tokens that lie in one chunk, end with one, and go on over many", X, float, bf16) {
  const auto mixed = [](std::initializer_list<std::pair<std::int32_t, int>> runs) {
    // There are so many of each token, in a random order.
    std::vector<std::int32_t> ids;
    for (const auto& [id, count] : runs) ids.insert(ids.end(), static_cast<std::size_t>(count), id);
    const random_stream draw(5, "order");
    for (std::size_t i = ids.size(); i > 1; --i)
      std::swap(ids[i - 1], ids[draw.below(i, static_cast<std::uint32_t>(i))]);
    return ids;
  };
  std::uint64_t seed = 1;
  for (const isize width : {8, 45, 264}) {
    const isize gap = width == 45 ? 0 : 8;
    compare<X>({}, 0, 5, width, gap, ++seed);
    compare<X>({3}, 0, 5, width, gap, ++seed);
    compare<X>(mixed({{0, 32}, {2, 32}, {4, 32}}), 0, 5, width, gap, ++seed);  // runs end with their chunks
    compare<X>(mixed({{1, 20}, {2, 30}, {3, 14}}), 0, 5, width, gap, ++seed);  // one goes on
    compare<X>(mixed({{1, 5}, {2, 200}, {4, 3}}), 0, 5, width, gap, ++seed);   // over many chunks
    compare<X>(mixed({{1, 31}, {2, 33}, {3, 64}, {4, 40}}), 0, 5, width, gap, ++seed);
    compare<X>(mixed({{7, 500}}), 7, 1, width, gap, ++seed);  // all of them
    // most are of rows that the table lacks
    compare<X>(mixed({{0, 50}, {6, 40}, {7, 35}, {9, 60}}), 6, 2, width, gap, ++seed);
    compare<X>(mixed({{0, 50}, {1, 40}}), 6, 2, width, gap, ++seed);  // all are
  }
}

}  // namespace motet
