// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/attention/attention_tile.hpp>
#include <motet/backend/cuda/device/launch.hpp>

#include <doctest/doctest.h>

#include "cuda_run.hpp"

namespace motet {
namespace {

using namespace motet::cuda::detail;
using laws::grid, laws::on_gpu;

TEST_CASE("the tiles of ragged samples, also without rows, have each row once") {
  const std::vector<std::vector<isize>> batches = {{0, 5},
                                                   {0, 0, 0},
                                                   {0, 0, 1, 1, 1, 18, 18},
                                                   {0, 64, 64, 129, 130},
                                                   {0, 1, 2, 3, 4, 5, 6, 7},
                                                   {0, 16, 32, 48},
                                                   {0, 31, 31, 63, 64, 64}};
  for (const auto& offsets : batches)
    for (const isize tile : {1, 3, 16, 64}) {
      const auto samples = static_cast<isize>(offsets.size()) - 1;
      const sequences seq{samples, 1, offsets.data()};
      const sample_rows rows{offsets.data(), samples, 1};
      std::vector<int> seen(static_cast<std::size_t>(offsets.back()), 0);
      for (isize slot = 0; slot < tile_slots(seq, seq.rows(), tile); ++slot) {
        const tile_position at = rows.find(slot, tile);
        REQUIRE(at.sample >= 0);
        REQUIRE(at.sample < samples);
        CHECK(at.begin == seq.begin(at.sample));
        CHECK(at.rows == seq.rows_of(at.sample));
        for (isize r = at.first; r < std::min(at.first + tile, at.rows); ++r)
          ++seen[static_cast<std::size_t>(at.begin + r)];
      }
      CHECK(laws::off_by(seen, std::vector<int>(seen.size(), 1)) == 0);
    }
}

TEST_CASE("so do those of samples of one length") {
  for (const isize length : {1, 5, 16, 33})
    for (const isize tile : {1, 4, 16}) {
      const sequences seq{3, length, nullptr};
      const sample_rows rows{nullptr, 3, length};
      std::vector<int> seen(static_cast<std::size_t>(3 * length), 0);
      for (isize slot = 0; slot < tile_slots(seq, seq.rows(), tile); ++slot) {
        const tile_position at = rows.find(slot, tile);
        CHECK(at.first < at.rows);  // none is idle
        for (isize r = at.first; r < std::min(at.first + tile, at.rows); ++r)
          ++seen[static_cast<std::size_t>(at.begin + r)];
      }
      CHECK(laws::off_by(seen, std::vector<int>(seen.size(), 1)) == 0);
    }
}

TEST_CASE("a query sees a key exactly if it does not come before the key's first query") {
  attention_batch batch;
  for (const bool causal : {false, true})
    for (const isize queries : {1, 3, 7})
      for (const isize keys : {1, 4, 7, 9}) {
        batch.causal = causal;
        for (isize q = 0; q < queries; ++q)
          for (isize k = 0; k < keys; ++k) {
            const bool seen = !causal || k <= q + keys - queries;
            CHECK((k < batch.reach(q + 1, queries, keys)) == seen);
            CHECK((q >= batch.first_query(k, queries, keys)) == seen);
          }
      }
  CHECK(in_tile<16>(-3) == 0);
  CHECK(in_tile<16>(5) == 5);
  CHECK(in_tile<16>(99) == 16);
}

TEST_CASE("pairs and scales") {
  const std::vector<isize> queries{0, 2, 2, 5}, keys{0, 3, 4, 8};
  CHECK(attention_pairs({3, 1, queries.data()}, {3, 1, keys.data()}) == 2 * 3 + 0 + 3 * 4);
  CHECK(attention_pairs({4, 3, nullptr}, {4, 5, nullptr}) == 60);
  CHECK(attention_scale({1, 1, 16, mask_kind::full}) == 0.25);
  CHECK(attention_scale({1, 1, 16, mask_kind::full, 0.7}) == 0.7);
}

// y = (a b^T) c of one warp: 16 rows of a, 32 of b and c.
struct products {
  static constexpr int width = 32;
  matrix<const bf16> a, b, c;
  matrix<bf16> y;
  isize first;
  bool packed;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    bf16* const a_tile = self.template shared<bf16>(16 * bf16_row<width>);
    bf16* const b_tile = self.template shared<bf16>(32 * bf16_row<width>);
    bf16* const c_tile = self.template shared<bf16>(32 * bf16_row<width>);
    const int wide = static_cast<int>(y.width);
    bring_tile<16, width>(self, a, first, a.rows - first, 0, wide, packed, a_tile);
    bring_tile<32, width>(self, b, 0, b.rows, 0, wide, packed, b_tile);
    bring_tile<32, width>(self, c, 0, c.rows, 0, wide, packed, c_tile);
    motet::cuda::close_copies(self);
    motet::cuda::await_copies<0>(self);
    self.barrier();
    float scores[1][4][4], out[1][width / 8][4] = {};
    multiply_heads<width>(self, scores, a_tile, 0, b_tile);
    add_scored_rows<width, width>(self, out, scores, c_tile, 0);
    write_rows<width>(self, out[0], 0.5f, 2.0f, y, first, a.rows - first, 0, wide, packed);
  }
};
TEST_CASE("a warp's products of tiles, with zeros below and right of what is there") {
  for (const bool packed : {true, false}) {
    const isize wide = packed ? 24 : 27, stride = packed ? 32 : 29;
    const auto a = grid<bf16>(14, wide, stride - wide).random(1),
               b = grid<bf16>(21, wide, stride - wide).random(2),
               c = grid<bf16>(21, wide, stride - wide).random(3);
    const on_gpu<bf16> a_there(a), b_there(b), c_there(c), y(14, wide, stride);
    motet::cuda::launch(laws::gpu().stream(), {1, 32, (16 + 32 + 32) * bf16_row<32> * 2},
                        products{a_there.all(), b_there.all(), c_there.all(), y.all(), 3, packed});
    laws::gpu().finish();
    grid<double> want(11, wide);
    for (isize i = 0; i < 11; ++i)
      for (isize n = 0; n < wide; ++n) {
        want.at(i, n) = 0;
        for (isize j = 0; j < 21; ++j) {
          double score = 0;
          for (isize k = 0; k < wide; ++k) score += a(i + 3, k) * b(j, k);
          // between the two it is rounded
          want.at(i, n) +=
              (i < 8 ? 0.5 : 2.0) * static_cast<double>(bf16(static_cast<float>(score))) * c(j, n);
        }
      }
    const auto found = y.back();
    grid<double> got(11, wide);
    for (isize i = 0; i < 11; ++i)
      for (isize n = 0; n < wide; ++n) got.at(i, n) = found(i + 3, n);
    CHECK(laws::distance(got, want) < 1e-2);
    CHECK(y.untouched());
    for (isize i = 0; i < 3; ++i) CHECK(std::isnan(found(i, 0)));
  }
}

}  // namespace
}  // namespace motet
