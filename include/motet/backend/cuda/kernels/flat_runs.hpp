// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/flat_runs.hpp>
#include <motet/backend/cuda/kernels/transfer.hpp>

#include <vector>

// Many runs of flat buffers as one launch works on them: in chunks of equal size, so that many small ones and
// a large one keep a GPU equally busy.

namespace motet::cuda {

// Packs move a run but for its ends: all but the elements before the first multiple of 16 bytes, and those
// after the last; these are loose.
struct flat_span {
  isize count = 0, head = 0, packs = 0;
};
// Buffers that are walked together and do not begin alike are loose all through.
template <class T, class... More>
flat_span flat_span_of(isize count, const T* data, const More*... more) {
  const auto phase = [](const void* at) { return reinterpret_cast<std::uintptr_t>(at) % 16; };
  constexpr auto size = static_cast<std::uintptr_t>(sizeof(T));
  if (((phase(data) != phase(more)) || ...) || phase(data) % size != 0) return {count, 0, 0};
  const isize head = static_cast<isize>((16 - phase(data)) % 16 / size);
  if (count <= head) return {count, 0, 0};
  return {count, head, (count - head) / pack<T>::size};
}

// A chunk's packs, 16 KiB of each buffer, and its loose elements, which all go with the first chunk where
// there are packs.
inline constexpr isize packs_of_chunk = 1024;
template <class T>
struct flat_chunk {
  interval packs, loose;
  flat_span of;
  MOTET_HOST_DEVICE flat_chunk(const flat_span& span, isize number) : of(span) {
    constexpr isize most = packs_of_chunk * pack<T>::size;
    packs = part(span.packs, number, packs_of_chunk);
    loose = part(span.count - span.packs * pack<T>::size, number, most);
  }
  MOTET_HOST_DEVICE isize pack_at(isize p) const { return of.head + p * pack<T>::size; }
  MOTET_HOST_DEVICE isize loose_at(isize e) const { return e < of.head ? e : e + of.packs * pack<T>::size; }

  static isize count(const flat_span& span) {
    constexpr isize most = packs_of_chunk * pack<T>::size;
    if (span.count == 0) return 0;
    return span.packs > 0 ? (span.packs + packs_of_chunk - 1) / packs_of_chunk
                          : (span.count + most - 1) / most;
  }

 private:
  MOTET_HOST_DEVICE static interval part(isize all, isize number, isize each) {
    const isize begin = number * each, end = begin + each;
    return {begin < all ? begin : all, end < all ? end : all};
  }
};

// Records of runs and the run of each chunk, where kernels read them. One record alone is an argument of the
// kernel. A record tells chunks() and keeps first_chunk.
template <class Record>
struct chunked_runs {
  const Record* records = nullptr;  // null: `one` is all
  const int* run_of = nullptr;      // of each chunk
  isize chunks = 0;
  Record one{};

  chunked_runs() = default;
  explicit chunked_runs(const Record& alone) : chunks(alone.chunks()), one(alone) {}
  MOTET_HOST_DEVICE const Record& record(isize chunk) const {
    return records != nullptr ? records[run_of[chunk]] : one;
  }
};

// Records lie in the GPU's memory and are written once. A chunk takes four bytes, which is nothing beside
// what it moves.
template <class Record>
class chunk_table {
 public:
  void put(context& ctx, std::vector<Record> records) {
    std::vector<int> run_of;
    for (std::size_t r = 0; r < records.size(); ++r) {
      records[r].first_chunk = static_cast<isize>(run_of.size());
      run_of.resize(run_of.size() + as_size(records[r].chunks()), static_cast<int>(r));
    }
    ctx.on->finish();  // kernels may still read the old ones
    records_ = buffer<Record>(static_cast<isize>(records.size()));
    run_of_ = buffer<int>(static_cast<isize>(run_of.size()));
    upload(ctx, static_cast<const Record*>(records.data()), records_.data(), records_.size());
    upload(ctx, static_cast<const int*>(run_of.data()), run_of_.data(), run_of_.size());
  }
  chunked_runs<Record> runs() const {
    chunked_runs<Record> found;
    found.records = records_.data();
    found.run_of = run_of_.data();
    found.chunks = run_of_.size();
    return found;
  }

 private:
  buffer<Record> records_;
  buffer<int> run_of_;
};

}  // namespace motet::cuda
