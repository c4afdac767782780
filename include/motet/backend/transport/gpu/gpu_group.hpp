// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/device/block.hpp>
#include <motet/backend/cuda/device/launch.hpp>
#include <motet/backend/transport/core/call.hpp>
#include <motet/backend/transport/gpu/gpu_end.hpp>

#include <memory>

namespace motet::transports {

// Begins to add numbers [at.begin, at.end) of the parts, in their order, and to write the sum to each of
// `outs`.
using sum_launch = void (*)(cudaStream_t, const std::byte* const* parts, isize part_count,
                            std::byte* const* outs, isize out_count, interval at);

namespace detail {

// An out may be a part: whoever reads an element of all parts then writes it. Moves each byte once; 16 at a
// time.
template <class T>
struct sum_members {
  static constexpr isize most = 32;
  using accumulator = std::conditional_t<std::is_same_v<T, bf16>, float, T>;
  const T* parts[most];
  T* outs[most];
  int part_count, out_count;
  interval at;
  bool packs;  // everything lies at multiples of 16 bytes

  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    constexpr isize size = cuda::pack<T>::size;
    const isize count = at.end - at.begin, whole = packs ? count / size : 0;
    for (isize i = self.number(); i < whole; i += self.all()) {
      const isize from = at.begin + i * size;
      accumulator sum[size];
      {
        const cuda::pack<T> first = cuda::load_pack(parts[0] + from);
        MOTET_UNROLLED
        for (int e = 0; e < size; ++e) sum[e] = static_cast<accumulator>(first.of[e]);
      }
      for (int p = 1; p < part_count; ++p) {
        const cuda::pack<T> next = cuda::load_pack(parts[p] + from);
        MOTET_UNROLLED
        for (int e = 0; e < size; ++e) sum[e] += static_cast<accumulator>(next.of[e]);
      }
      cuda::pack<T> result;
      MOTET_UNROLLED
      for (int e = 0; e < size; ++e) result.of[e] = T(sum[e]);
      for (int o = 0; o < out_count; ++o) cuda::store_pack(outs[o] + from, result);
    }
    for (isize i = at.begin + whole * size + self.number(); i < at.end; i += self.all()) {
      auto sum = static_cast<accumulator>(parts[0][i]);
      for (int p = 1; p < part_count; ++p) sum += static_cast<accumulator>(parts[p][i]);
      for (int o = 0; o < out_count; ++o) outs[o][i] = T(sum);
    }
  }
};
template <class T>
void begin_sum(cudaStream_t stream, const std::byte* const* parts, isize part_count, std::byte* const* outs,
               isize out_count, interval at) {
  if (at.size() <= 0) return;
  if (part_count > sum_members<T>::most)
    fail(group_disagrees,
         sentence({part_count, " members share a GPU, sums are of ", sum_members<T>::most, " at most"}));
  sum_members<T> all{};
  all.part_count = static_cast<int>(part_count);
  all.out_count = static_cast<int>(out_count);
  all.at = at;
  all.packs = true;
  const auto lies_well = [&](const T* data) {
    all.packs = all.packs && reinterpret_cast<std::uintptr_t>(data + at.begin) % 16 == 0;
  };
  for (isize p = 0; p < part_count; ++p) lies_well(all.parts[p] = reinterpret_cast<const T*>(parts[p]));
  for (isize o = 0; o < out_count; ++o) lies_well(all.outs[o] = reinterpret_cast<T*>(outs[o]));
  cuda::launch(stream, {cuda::blocks_for(at.size(), 256 * cuda::pack<T>::size), 256, 0}, all);
}

}  // namespace detail

// What the stages of a rank see of a group, as of their end (gpu_end.hpp): each call is one of a table.
class gpu_group : public group_calls<gpu_group> {
 public:
  gpu_group() = default;
  gpu_group(const gpu_group&) = delete;
  gpu_group& operator=(const gpu_group&) = delete;
  virtual ~gpu_group() = default;

  virtual std::int32_t size() const = 0;
  virtual std::int32_t member() const = 0;
  virtual gpu_end& end() = 0;
  virtual ticket start(const call& it) = 0;
  virtual bool test(ticket which) = 0;
  virtual void wait(ticket which) = 0;
  // Each names what adds its numbers, for whoever has the members' memory at hand: kernels are compiled for
  // those who call.
  template <class T>
  ticket all_reduce_sum(T* numbers, isize count) {
    begin_sum_ = &detail::begin_sum<T>;
    return group_calls::all_reduce_sum(numbers, count);
  }
  template <class T>
  ticket reduce_scatter_sum(const T* from, T* to, std::span<const isize> counts,
                            std::span<const isize> places = {}) {
    begin_sum_ = &detail::begin_sum<T>;
    return group_calls::reduce_scatter_sum(from, to, counts, places);
  }

  // Memory that calls use, on all members alike; the transport is told while what is returned lives. Most do
  // not care.
  virtual std::shared_ptr<void> keep(const void*, isize) { return {}; }
  // Work that begins from now on comes after all calls that are done, where these go beside it.
  virtual void see() {}

 protected:
  sum_launch begin_sum_ = nullptr;  // of the sum that was called last
};

static_assert(collective_group<gpu_group> && takes_places<gpu_group>,
              "motet: a group on GPUs offers all collectives");

}  // namespace motet::transports
