// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

// A kernel knows the block that runs it by the thread that its call takes. A kernel is a function object; its
// members are its arguments, and its call takes the thread that runs:
//
//   struct scale {
//     float* x; isize count; float by;
//     template <class Thread>
//     MOTET_HOST_DEVICE void operator()(Thread& self) const {
//       for (isize i = self.number(); i < count; i += self.all()) x[i] *= by;
//     }
//   };
//
// A Thread offers, all threads of a block asking alike for what is marked (*):
//   thread(), threads()
//       its number in the block, and their count lane(), warp(), warps() the same in warps of 32
//   block(), blocks()
//       its block's number, and their count number(), all() the same over the whole grid
//   barrier() (*)
//       all threads of the block see what all wrote
//   warp_barrier()
//       the lanes of the warp, all 32, see what each of them wrote
//   shared<T>(count) (*)
//       memory of the block, aligned to 16 bytes, uninitialised; taken in the same order by all
//   shuffle(value, lane), shuffle_xor(value, mask)
//       (*) within the warp, all 32 lanes
//   atomic_add(word, value)
//       float, double, int, unsigned, unsigned long long
//   atomic_max(word, value)
//       int, unsigned, unsigned long long
// What is built on these stands below, as functions of a thread.

#if defined(__CUDA_ARCH__)
#define MOTET_UNROLLED _Pragma("unroll")
#else
#define MOTET_UNROLLED
#endif

namespace motet::cuda {

inline constexpr int warp_size = 32;

#if defined(__CUDACC__)
// The thread of a kernel that a GPU runs. Shared memory is carved from what the launch gave.
class gpu_thread {
 public:
  __device__ int thread() const { return static_cast<int>(threadIdx.x); }
  __device__ int threads() const { return static_cast<int>(blockDim.x); }
  __device__ int lane() const { return thread() % warp_size; }
  __device__ int warp() const { return thread() / warp_size; }
  __device__ int warps() const { return threads() / warp_size; }
  __device__ isize block() const { return static_cast<isize>(blockIdx.x); }
  __device__ isize blocks() const { return static_cast<isize>(gridDim.x); }
  __device__ isize number() const { return block() * threads() + thread(); }
  __device__ isize all() const { return blocks() * threads(); }
  __device__ void barrier() const { __syncthreads(); }
  __device__ void warp_barrier() const { __syncwarp(); }
  template <class T>
  __device__ T* shared(isize count) {
    extern __shared__ __align__(16) unsigned char motet_shared[];
    T* const found = reinterpret_cast<T*>(motet_shared + used_);
    used_ += static_cast<int>(round_up(count * static_cast<isize>(sizeof(T)), 16));
    return found;
  }
  template <class T>
  __device__ T shuffle(T value, int lane) const {
    return __shfl_sync(0xffffffffu, value, lane);
  }
  template <class T>
  __device__ T shuffle_xor(T value, int mask) const {
    return __shfl_xor_sync(0xffffffffu, value, mask);
  }
  template <class T>
  __device__ T atomic_add(T* word, T value) const {
    return atomicAdd(word, value);
  }
  template <class T>
  __device__ T atomic_max(T* word, T value) const {
    return atomicMax(word, value);
  }

 private:
  int used_ = 0;
};
#endif

// Functions of a whole block take so much shared memory, for numbers as wide as T.
template <class T>
inline constexpr isize block_scratch = warp_size * static_cast<isize>(sizeof(T));

// The combination of all lanes' values, on every lane; in a fixed order.
template <class Thread, class T, class Combine>
MOTET_HOST_DEVICE T over_warp(Thread& self, T value, Combine combine) {
  MOTET_UNROLLED
  for (int mask = warp_size / 2; mask > 0; mask /= 2) value = combine(value, self.shuffle_xor(value, mask));
  return value;
}
// All threads of the block are combined, and each of them gets the result; `scratch` is shared memory for 32
// numbers, free again after the next barrier.
template <class Thread, class T, class Combine>
MOTET_HOST_DEVICE T over_block(Thread& self, T value, T neutral, Combine combine, T* scratch) {
  value = over_warp(self, value, combine);
  if (self.warps() == 1) return value;
  self.barrier();  // the scratch may still be read from before
  if (self.lane() == 0) scratch[self.warp()] = value;
  self.barrier();
  value = self.lane() < self.warps() ? scratch[self.lane()] : neutral;
  return over_warp(self, value, combine);
}

struct plus {
  template <class T>
  MOTET_HOST_DEVICE T operator()(T a, T b) const {
    return a + b;
  }
};
struct larger {
  template <class T>
  MOTET_HOST_DEVICE T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

template <class Thread, class T>
MOTET_HOST_DEVICE T warp_sum(Thread& self, T value) {
  return over_warp(self, value, plus{});
}
template <class Thread, class T>
MOTET_HOST_DEVICE T block_sum(Thread& self, T value, T* scratch) {
  return over_block(self, value, T(0), plus{}, scratch);
}
template <class Thread, class T>
MOTET_HOST_DEVICE T block_max(Thread& self, T value, T* scratch) {
  return over_block(self, value, value, larger{}, scratch);
}

// An instruction may name whose memory it is for (st.global, ldmatrix, cp.async ...). It faults at any other
// place, where a plain access asks the address.
enum class memory_kind { gpu, block };
#if !defined(__CUDACC__)
// Where kernels run without a GPU, this ends the program unless `at` lies there, at a multiple of `bytes`, as
// the instruction would. Our tests define it.
void emulated_access(memory_kind of, const void* at, int bytes);
// Emulation is told of loads, of any memory, so that what a kernel moves can be counted.
void emulated_load(const void* at, int bytes);
#endif
// Stands beside each such instruction, or in the plain code that does the same elsewhere; the check of the
// tree looks for it.
template <memory_kind Of>
MOTET_HOST_DEVICE void must_lie_in([[maybe_unused]] const void* at, [[maybe_unused]] int bytes) {
#if !defined(__CUDACC__)
  emulated_access(Of, at, bytes);
#endif
}

// Stands beside loads of whole runs.
MOTET_HOST_DEVICE inline void is_loaded([[maybe_unused]] const void* at, [[maybe_unused]] int bytes) {
#if !defined(__CUDACC__)
  emulated_load(at, bytes);
#endif
}

// Stores a struct of 16, 8 or 4 bytes, at a multiple of that in the GPU's memory, in one access. So does an
// assignment, as a rule: of some addresses the compiler does not see that they lie side by side, and stores
// each member by itself.
template <class Piece>
MOTET_HOST_DEVICE void store_whole(Piece* at, const Piece& value) {
  must_lie_in<memory_kind::gpu>(at, sizeof(Piece));
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(Piece) == 16) {
    const uint4 words = __builtin_bit_cast(uint4, value);
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(words.x), "r"(words.y),
                 "r"(words.z), "r"(words.w)
                 : "memory");
  } else if constexpr (sizeof(Piece) == 8) {
    const uint2 words = __builtin_bit_cast(uint2, value);
    asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(at), "r"(words.x), "r"(words.y) : "memory");
  } else if constexpr (sizeof(Piece) == 4) {
    asm volatile("st.global.b32 [%0], %1;" ::"l"(at), "r"(__builtin_bit_cast(std::uint32_t, value))
                 : "memory");
  } else {
    *at = value;
  }
#else
  *at = value;
#endif
}

// Sixteen bytes of neighbours, moved in one access. `at` is a multiple of 16; store_pack stores to the GPU's
// memory, never to a block's shared memory.
template <class T>
struct alignas(16) pack {
  static constexpr int size = 16 / static_cast<int>(sizeof(T));
  T of[size];
};
template <class T>
MOTET_HOST_DEVICE pack<T> load_pack(const T* at) {
  is_loaded(at, sizeof(pack<T>));
  return *reinterpret_cast<const pack<T>*>(at);
}
template <class T>
MOTET_HOST_DEVICE void store_pack(T* at, const pack<T>& values) {
  store_whole(reinterpret_cast<pack<T>*>(at), values);
}
// Rows that begin at `data`, `stride` elements apart, can be moved in packs where each begins at one and
// nothing is left over.
template <class T>
bool in_packs(const T* data, isize width, isize stride) {
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && width % pack<T>::size == 0 &&
         stride % pack<T>::size == 0;
}

}  // namespace motet::cuda
