// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/device/block.hpp>
#include <motet/tensor/dtype.hpp>

// Small matrix products that a warp makes as one, by the tensor cores of chips from sm_80 on; and copies into
// shared memory that run beside other work. All 32 lanes ask alike. Each function has two forms: instructions
// for the thread of a GPU, and the same in plain code for any other thread, so that kernels run where there
// is no GPU; there, lanes see what each of them holds, and copies come as late as they may.
//
// A register of a lane holds two neighbours as bf16, the first in the lower half. With g = lane / 4 and t =
// lane % 4 * 2, the product of a (16 x 16) and b (16 x 8) into c (16 x 8) has on each lane
//   a: (g, t), (g + 8, t), (g, t + 8), (g + 8, t + 8)
//       b: (t, g), (t + 8, g), neighbours one below the other c: (g, t), (g + 8, t)

namespace motet::cuda {

// c += a b.
template <class Thread>
MOTET_HOST_DEVICE void multiply_tile(Thread& self, float (&c)[4], const std::uint32_t (&a)[4],
                                     std::uint32_t b0, std::uint32_t b1) {
  const auto both = [](std::uint32_t low, std::uint32_t high) {
    return static_cast<std::uint64_t>(low) | static_cast<std::uint64_t>(high) << 32;
  };
  const auto part = [](std::uint64_t of, int which) {
    return __builtin_bit_cast(float, static_cast<std::uint32_t>(of >> 16 * which & 0xffffu) << 16);
  };
  struct registers {
    std::uint64_t upper, lower, column;
  };
  const registers* const held =
      self.of_all_lanes(registers{both(a[0], a[2]), both(a[1], a[3]), both(b0, b1)});
  const int g = self.lane() / 4, t = self.lane() % 4 * 2;
  // the lanes that hold a row of a and a column of b, each with these rows of k: 2 four, + 1, + 8, + 9
  for (int four = 0; four < 4; ++four) {
    const std::uint64_t upper = held[g * 4 + four].upper, lower = held[g * 4 + four].lower;
    for (int e = 0; e < 2; ++e) {
      const std::uint64_t column = held[(t + e) * 4 + four].column;
      for (int i = 0; i < 4; ++i) {
        c[e] += part(upper, i) * part(column, i);
        c[2 + e] += part(lower, i) * part(column, i);
      }
    }
  }
}
// Four matrices of 8 x 8 in shared memory: lane l says where row l % 8 of matrix l / 8 is, at a multiple of
// 16 bytes. Each lane gets (g, t) of each.
template <class Thread>
MOTET_HOST_DEVICE void load_tiles(Thread& self, std::uint32_t (&to)[4], const bf16* row) {
  must_lie_in<memory_kind::block>(row, 16);
  const bf16* const* const rows = self.of_all_lanes(row);
  for (int i = 0; i < 4; ++i) {
    const bf16* const from = rows[i * 8 + self.lane() / 4] + self.lane() % 4 * 2;
    to[i] = static_cast<std::uint32_t>(from[0].bits) | static_cast<std::uint32_t>(from[1].bits) << 16;
  }
}
// Each lane gets (g, t) of the transposed matrices.
template <class Thread>
MOTET_HOST_DEVICE void load_tiles_across(Thread& self, std::uint32_t (&to)[4], const bf16* row) {
  must_lie_in<memory_kind::block>(row, 16);
  const bf16* const* const rows = self.of_all_lanes(row);
  for (int i = 0; i < 4; ++i) {
    const bf16* const first = rows[i * 8 + self.lane() % 4 * 2];
    const bf16* const second = rows[i * 8 + self.lane() % 4 * 2 + 1];
    to[i] = static_cast<std::uint32_t>(first[self.lane() / 4].bits) |
            static_cast<std::uint32_t>(second[self.lane() / 4].bits) << 16;
  }
}
// Two numbers for a register.
template <class Thread>
MOTET_HOST_DEVICE std::uint32_t narrow_pair(Thread&, float low, float high) {
  return static_cast<std::uint32_t>(bf16(low).bits) | static_cast<std::uint32_t>(bf16(high).bits) << 16;
}

// The same, stored: `to` is a multiple of 4.
struct alignas(4) bf16_pair {
  bf16 low, high;
};
template <class Thread>
MOTET_HOST_DEVICE void store_pair(Thread& self, bf16* to, float low, float high) {
  const std::uint32_t both = narrow_pair(self, low, high);
  bf16_pair values;
  values.low.bits = static_cast<std::uint16_t>(both & 0xffffu);
  values.high.bits = static_cast<std::uint16_t>(both >> 16);
  *reinterpret_cast<bf16_pair*>(to) = values;
}

// Bytes (4 or 16, both places aligned to it) come to shared memory in the background; zeros where they are
// not wanted. Copies are told in groups, in order; when all but the last Open groups have arrived, they have
// for this thread: a barrier makes it so for all.
template <int Bytes, class Thread>
MOTET_HOST_DEVICE void copy_in_background(Thread& self, void* to, const void* from, bool wanted) {
  must_lie_in<memory_kind::block>(to, Bytes);
  if (wanted) must_lie_in<memory_kind::gpu>(from, Bytes);
  self.copy_later(to, wanted ? from : nullptr, Bytes);
}
template <class Thread>
MOTET_HOST_DEVICE void close_copies(Thread& self) {
  self.close_copies();
}
template <int Open, class Thread>
MOTET_HOST_DEVICE void await_copies(Thread& self) {
  self.await_copies(Open);
}

#if defined(__CUDACC__)

inline __device__ std::uint32_t shared_address(const void* at) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(at));
}

inline __device__ void multiply_tile(gpu_thread&, float (&c)[4], const std::uint32_t (&a)[4],
                                     std::uint32_t b0, std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
inline __device__ void load_tiles(gpu_thread&, std::uint32_t (&to)[4], const bf16* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
}
inline __device__ void load_tiles_across(gpu_thread&, std::uint32_t (&to)[4], const bf16* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
}
inline __device__ std::uint32_t narrow_pair(gpu_thread&, float low, float high) {
  std::uint32_t both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}
template <int Bytes>
__device__ void copy_in_background(gpu_thread&, void* to, const void* from, bool wanted) {
  static_assert(Bytes == 4 || Bytes == 16, "motet: a copy beside computations moves 4 or 16 bytes");
  const int bytes = wanted ? Bytes : 0;
  if constexpr (Bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
                 "r"(bytes)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(to)), "l"(from),
                 "r"(bytes)
                 : "memory");
}
inline __device__ void close_copies(gpu_thread&) { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int Open>
__device__ void await_copies(gpu_thread&) {
  asm volatile("cp.async.wait_group %0;" ::"n"(Open) : "memory");
}

#endif

}  // namespace motet::cuda
