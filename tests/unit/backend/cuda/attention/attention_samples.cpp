// SPDX-License-Identifier: Apache-2.0
// Where kernels are emulated, so is cuDNN: its headers are enough.
#if !defined(__CUDACC__) && !defined(MOTET_HAS_CUDNN) && __has_include(<cudnn.h>)
#define MOTET_HAS_CUDNN 1
#endif
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/attention/attention_samples.hpp>

#include <doctest/doctest.h>

#include "cuda_run.hpp"

#include <vector>

#if MOTET_CUDNN_ATTENTION

namespace motet {
namespace {

using motet::cuda::detail::lengths_of, motet::cuda::detail::recipe_rows, motet::cuda::detail::tell_samples;

TEST_CASE("few lengths serve many") {
  for (const auto& [rows, planned] : std::vector<std::pair<isize, isize>>{
           {0, 0}, {1, 64}, {2, 64}, {64, 64}, {65, 96}, {96, 96}, {97, 128}, {129, 192}, {4097, 6144}})
    CHECK(recipe_rows(rows) == planned);
}

TEST_CASE("what samples are like") {
  const auto like = [](const std::vector<isize>& q, const std::vector<isize>& kv, bool causal) {
    return lengths_of({static_cast<isize>(q.size()) - 1, 1, q.data()},
                      {static_cast<isize>(kv.size()) - 1, 1, kv.data()}, causal);
  };
  auto found = like({0, 3, 3, 10}, {0, 3, 3, 10}, true);
  CHECK((found.usable && found.alike && found.samples == 2 && found.q_most == 7 && found.kv_most == 7));
  found = like({0, 3, 4}, {0, 5, 6}, true);
  CHECK((found.usable && !found.alike && found.samples == 2 && found.q_most == 3 && found.kv_most == 5));
  CHECK_FALSE(like({0, 3, 4}, {0, 2, 9}, true).usable);  // the first query of the first sample sees no key
  CHECK(like({0, 3, 4}, {0, 2, 9}, false).usable);
  CHECK_FALSE(like({0, 3, 4}, {0, 2, 2}, false).usable);
  CHECK_FALSE(like({0, 3, 3}, {0, 2, 4}, false).usable);
  CHECK(like({0}, {0}, false).samples == 0);
  CHECK(like({0, 0}, {0, 0}, false).samples == 0);
  found = lengths_of({5, 9, nullptr}, {5, 9, nullptr}, true);
  CHECK((found.usable && found.alike && found.samples == 5 && found.q_most == 9 && found.kv_most == 9));
  CHECK_FALSE(lengths_of({5, 9, nullptr}, {5, 8, nullptr}, true).usable);
}

// A loop says what must be told.
void check_told(const std::vector<isize>& q_rows, const std::vector<isize>& kv_rows, bool pooled) {
  const auto samples = static_cast<isize>(q_rows.size());
  std::vector<isize> q{0}, kv{0};
  for (const isize n : q_rows) q.push_back(q.back() + n);
  for (const isize n : kv_rows) kv.push_back(kv.back() + n);
  const isize strides[] = {24, 40, 56, 8, 1, 8, 24, 40, 56};
  std::vector<std::int32_t> q_lengths, kv_lengths;
  std::vector<std::vector<isize>> starts(9);
  for (std::size_t s = 0; s < q_rows.size(); ++s) {
    if (q_rows[s] == 0) continue;
    q_lengths.push_back(static_cast<std::int32_t>(q_rows[s])),
        kv_lengths.push_back(static_cast<std::int32_t>(kv_rows[s]));
    for (int t = 0; t < 9; ++t)
      starts[static_cast<std::size_t>(t)].push_back(strides[t] *
                                                    (motet::cuda::detail::is_of_keys(t) ? kv : q)[s]);
  }
  for (int t = 0; t < 9; ++t)
    starts[static_cast<std::size_t>(t)].push_back(strides[t] *
                                                  (motet::cuda::detail::is_of_keys(t) ? kv : q).back());

  const auto kept = static_cast<isize>(q_lengths.size()), pitch = kept + 3;
  const laws::flat_on_gpu<isize> q_at(q), kv_at(kv), there(9 * pitch);
  const laws::flat_on_gpu<std::int32_t> q_there(kept), kv_there(kept);
  tell_samples tell{};
  tell.q = {pooled ? nullptr : q_at.data(), samples, 1}, tell.kv = {kv_at.data(), samples, 1};
  tell.kept = kept, tell.pitch = pitch, tell.tensors = 9;
  for (int t = 0; t < 9; ++t) {
    tell.strides[t] = strides[t];
    if (motet::cuda::detail::is_of_keys(t)) tell.of_keys |= 1u << t;
  }
  tell.q_lengths = q_there.data(), tell.kv_lengths = kv_there.data(), tell.starts = there.data();
  motet::cuda::launch(laws::gpu().stream(),
                      {1, tell_samples::most_threads, motet::cuda::block_scratch<isize>}, tell);
  CHECK(laws::off_by(q_there.back(), q_lengths) == 0);
  CHECK(laws::off_by(kv_there.back(), kv_lengths) == 0);
  const std::vector<isize> all = there.back();
  for (std::size_t t = 0; t < 9; ++t)
    CHECK(std::vector<isize>(all.begin() + static_cast<std::ptrdiff_t>(t) * pitch,
                             all.begin() + static_cast<std::ptrdiff_t>(t) * pitch + kept + 1) == starts[t]);
}

TEST_CASE("samples as the GPU tells them") {
  check_told({3, 0, 1, 70, 0}, {5, 0, 1, 7, 0}, false);
  check_told({0, 2}, {0, 2}, false);
  check_told({1, 1, 1}, {9, 1, 33}, true);
  std::vector<isize> many;
  for (isize s = 0; s < 700; ++s) many.push_back(s * 7 % 5);
  check_told(many, many, false);
}

}  // namespace
}  // namespace motet

#else

TEST_CASE("without cuDNN there is nothing of it") { CHECK(MOTET_CUDNN_ATTENTION == 0); }

#endif
