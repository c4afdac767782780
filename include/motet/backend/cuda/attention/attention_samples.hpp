// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/attention/attention_graph.hpp>
#include <motet/backend/cuda/attention/attention_tile.hpp>
#include <motet/backend/cuda/kernels/prefix.hpp>

// Samples are told to cuDNN by the longest of them, which a recipe is made for, and on the GPU their lengths
// and where each begins in each matrix.

#if MOTET_CUDNN_ATTENTION

namespace motet::cuda::detail {

// Recipes know lengths up to one of few numbers, so that they serve many batches: powers of two from 64 on,
// and what lies halfway between them. A recipe for one row of each sample would be the library's for one
// query, whose logarithms are not numbers where samples lie by offsets.
inline isize recipe_rows(isize rows) {
  if (rows == 0) return 0;
  for (isize step = 64;; step *= 2) {
    if (rows <= step) return step;
    if (rows <= step + step / 2) return step + step / 2;
  }
}

// The samples of a batch that have rows. Those without are left out: the library makes NaN of them.
struct attention_lengths {
  bool usable = true;  // false where queries of a sample see no key, or nobody sees its keys
  bool alike = true;   // all samples have as many queries as keys
  isize samples = 0, q_most = 0, kv_most = 0;
};
inline attention_lengths lengths_of(const sequences& q, const sequences& kv, bool causal) {
  attention_lengths found;
  const bool even = q.offsets == nullptr && kv.offsets == nullptr;
  for (isize s = 0; s < (even ? std::min<isize>(q.samples, 1) : q.samples); ++s) {
    const isize queries = q.rows_of(s), keys = kv.rows_of(s);
    if (queries == 0 && keys == 0) continue;
    if (queries == 0 || keys == 0 || (causal && queries > keys)) found.usable = false;
    if (queries != keys) found.alike = false;
    if (found.q_most < queries) found.q_most = queries;
    if (found.kv_most < keys) found.kv_most = keys;
    found.samples += even ? q.samples : 1;
  }
  return found;
}

inline bool is_of_keys(int tensor) { return tensor == 1 || tensor == 2 || tensor >= 7; }

// Lengths of the samples with rows, and in elements where they begin in each tensor, one more place at the
// end. One block.
struct tell_samples {
  static constexpr int most_threads = 256;
  sample_rows q, kv;
  isize kept, pitch;  // samples with rows; from the starts of one tensor to those of the next
  int tensors;
  std::uint32_t of_keys;  // a bit for each tensor
  isize strides[attention_problem::most_tensors];
  std::int32_t *q_lengths, *kv_lengths;
  isize* starts;  // (tensors, pitch)

  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    isize* const scratch = self.template shared<isize>(warp_size);
    isize before = 0;
    for (isize first = 0; first < q.samples; first += self.threads()) {
      const isize s = first + self.thread();
      const bool counts = s < q.samples && q.rows_of(s) > 0;
      isize all = 0;
      const isize at = before + block_prefix(self, counts ? isize(1) : isize(0), all, scratch);
      if (counts && at < kept) {
        q_lengths[at] = static_cast<std::int32_t>(q.rows_of(s));
        kv_lengths[at] = static_cast<std::int32_t>(kv.rows_of(s));
        for (int t = 0; t < tensors; ++t)
          starts[t * pitch + at] = strides[t] * ((of_keys >> t & 1u) != 0 ? kv.begin(s) : q.begin(s));
      }
      before += all;
    }
    if (self.thread() < tensors) {
      const int t = self.thread();
      starts[t * pitch + kept] =
          strides[t] * ((of_keys >> t & 1u) != 0 ? kv.begin(kv.samples) : q.begin(q.samples));
    }
  }
};

}  // namespace motet::cuda::detail

#endif
