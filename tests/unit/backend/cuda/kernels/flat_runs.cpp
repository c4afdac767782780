// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/kernels/flat_runs.hpp>

#include <doctest/doctest.h>

#include <cuda_run.hpp>

namespace motet {
using motet::cuda::flat_chunk, motet::cuda::flat_span, motet::cuda::flat_span_of;

TEST_CASE_TEMPLATE("chunks have each element once, and packs lie at 16 bytes", T, float, double) {
  constexpr isize size = motet::cuda::pack<T>::size;
  alignas(16) const T from[8] = {};
  for (const isize count : {0, 1, 2, 3, 4, 5, 17, 1023, 4096, 4099, 8193, 20000})
    for (isize first = 0; first < 4; ++first)
      for (const bool alike : {true, false}) {
        const flat_span span = flat_span_of(count, from + first, from + first + (alike ? 0 : 1));
        CHECK(span.count == count);
        if (!alike) CHECK(span.packs == 0);
        std::vector<int> met(static_cast<std::size_t>(count));
        isize most = 0;
        for (isize c = 0; c < flat_chunk<T>::count(span); ++c) {
          const flat_chunk<T> own(span, c);
          for (isize p = own.packs.begin; p < own.packs.end; ++p) {
            CHECK((first + own.pack_at(p)) % size == 0);
            for (isize k = 0; k < size; ++k) ++met[static_cast<std::size_t>(own.pack_at(p) + k)];
          }
          for (isize e = own.loose.begin; e < own.loose.end; ++e)
            ++met[static_cast<std::size_t>(own.loose_at(e))];
          const isize moved = own.packs.size() * size + own.loose.size();
          CHECK(moved > 0);
          most = most < moved ? moved : most;
        }
        CHECK(laws::off_by(met, std::vector<int>(met.size(), 1)) == 0);
        CHECK(most <= 1024 * size + 2 * size);
        if (alike && count > 6) CHECK(span.packs > 0);
      }
}

namespace {
struct numbered {
  float* to;
  flat_span span;
  isize first_chunk;
  int number;
  isize chunks() const { return flat_chunk<float>::count(span); }
};
// Writes the number of each element's run, and of its chunk in the run.
struct write_numbers {
  motet::cuda::chunked_runs<numbered> runs;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    for (isize c = self.block(); c < runs.chunks; c += self.blocks()) {
      const numbered& of = runs.record(c);
      const flat_chunk<float> own(of.span, c - of.first_chunk);
      const float wrote = static_cast<float>(100 * of.number + static_cast<int>(c - of.first_chunk));
      for (isize p = own.packs.begin + self.thread(); p < own.packs.end; p += self.threads())
        for (isize k = 0; k < 4; ++k) of.to[own.pack_at(p) + k] = wrote;
      for (isize e = own.loose.begin + self.thread(); e < own.loose.end; e += self.threads())
        of.to[own.loose_at(e)] = wrote;
    }
  }
};
}  // namespace

TEST_CASE("a table of many runs, some without elements, as a kernel reads it; and one run alone") {
  const isize counts[] = {0, 5, 9000, 0, 1, 4096, 30, 0};
  const laws::flat_on_gpu<float> on(14000);
  std::vector<numbered> records;
  std::vector<float> want;
  int number = 0;
  for (const isize count : counts) {
    const isize at = static_cast<isize>(want.size());
    records.push_back(
        {on.data() + at, flat_span_of(count, static_cast<const float*>(on.data() + at)), 0, ++number});
    const auto span = records.back().span;
    for (isize i = 0; i < count; ++i) {
      const isize packed = i - span.head;
      const bool loose = i < span.head || packed >= span.packs * 4;
      want.push_back(static_cast<float>(100 * number + (loose ? 0 : static_cast<int>(packed / 4096))));
    }
  }
  const auto start = [](motet::cuda::context& ctx, const auto& runs) {
    motet::cuda::launch(ctx.stream(), {motet::cuda::blocks_for(runs.chunks, 2), 64, 0}, write_numbers{runs});
  };
  motet::cuda::chunk_table<numbered> table;
  laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
    if (ctx.measuring()) return;
    table.put(ctx, {});
    CHECK(table.runs().chunks == 0);
    start(ctx, table.runs());
    table.put(ctx, records);
    CHECK(table.runs().chunks == 1 + 3 + 1 + 1 + 1);
    start(ctx, table.runs());
  });
  const auto got = on.back();
  CHECK(std::vector<float>(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(want.size())) == want);

  numbered alone = records[2];
  alone.number = 77;
  laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
    if (!ctx.measuring()) start(ctx, motet::cuda::chunked_runs<numbered>(alone));
  });
  CHECK(on.back()[5] == 7700);
  CHECK(on.back()[9004] >= 7700);
  CHECK(on.back()[4] < 7700);
  CHECK(on.back()[9005] < 7700);
}

}  // namespace motet
