// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/messages.hpp>
#include <motet/backend/cuda/kernels/flat_runs.hpp>
#include <motet/backend/cuda/products/gemm.hpp>

#include <cuda_fp8.h>

#include <map>

// Products of linear layers in fp8, by choice (device::set_fp8): values and weights as e4m3, gradients as
// e5m2, each tensor with one scale, which is made of its own largest magnitude just before it is rounded.
// Nothing is remembered from step to step: a run that is resumed goes on bit for bit, evaluation leaves
// training as it was, and no number is too large for its scale. It costs one more pass over each operand than
// scales of steps before would.
//
// The library multiplies e4m3 and e5m2 only where both operands run along the product in memory. So the pass
// that rounds writes the transposed numbers where those are needed. Weights are rounded once a step, by
// refresh_weights(); copies of them lie in two more bytes for each. Operands lie in scratch memory. Widths
// are multiples of 16; whatever does not fit, and whatever the library refuses, is multiplied in bf16, and
// taken_paths says why.

namespace motet::cuda {

namespace detail {

enum class fp8_kind : int { e4m3, e5m2 };

// A tensor has one of these, on the GPU.
struct alignas(16) fp8_scale {
  float inverse;     // what its numbers are multiplied by to be themselves again
  unsigned largest;  // bits of the largest magnitude, which are ordered as the numbers are
};

struct clear_fp8_scales {
  fp8_scale* scales;
  isize count;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    for (isize i = self.number(); i < count; i += self.all()) scales[i] = fp8_scale{1, 0};
  }
};

// A matrix that is rounded, in tiles of 64 x 64 numbers.
template <class T>
struct fp8_source {
  static constexpr int side = 64;
  const T* x;
  isize stride, rows, width;
  std::uint8_t* straight;  // (rows, width), or none
  std::uint8_t* turned;    // (width, turned_rows), or none; what lies behind the rows becomes zero
  isize turned_rows;       // a multiple of 16
  fp8_scale* scale;
  isize first_chunk;
  MOTET_HOST_DEVICE isize across() const { return (width + side - 1) / side; }
  isize chunks() const { return ((rows + side - 1) / side) * across(); }
};

// The largest magnitude of each matrix. A block has a tile. The floor is rows * width * (bytes of T) over the
// copy bandwidth.
template <class T>
struct find_fp8_largest {
  static constexpr int most_threads = 256;
  static constexpr int side = fp8_source<T>::side;
  chunked_runs<fp8_source<T>> from;

  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    float* const scratch = self.template shared<float>(warp_size);
    const fp8_source<T>& own = from.record(self.block());
    const T* const x = own.x;
    const isize stride = own.stride, rows = own.rows, width = own.width,
                number = self.block() - own.first_chunk, across = own.across();
    const isize row = number / across * side, column = number % across * side;
    float most = 0;
    for (int at = self.thread(); at < side * side / 8; at += self.threads()) {
      const int r = at / (side / 8), c = at % (side / 8) * 8;
      if (row + r >= rows || column + c >= width) continue;
      float v[8];
      load_values<8, true>(x + (row + r) * stride + column + c, v);
      MOTET_UNROLLED
      for (int i = 0; i < 8; ++i) {
        const float size = v[i] < 0 ? -v[i] : v[i];
        most = size > most ? size : most;
      }
    }
    most = block_max(self, most, scratch);
    if (self.thread() == 0) self.atomic_max(&own.scale->largest, __builtin_bit_cast(unsigned, most));
  }
};

// Rounds matrices to fp8, as they lie and transposed, where wanted, so that the largest magnitude becomes the
// format's. A block has a tile. The floor is rows * width * (bytes of T + 1 or 2) over the copy bandwidth:
// loads and stores are of 8 to 16 bytes, the transposed tile goes through shared memory.
template <class T, fp8_kind Kind>
struct round_to_fp8 {
  static constexpr int most_threads = 256;
  static constexpr int side = fp8_source<T>::side;
  chunked_runs<fp8_source<T>> from;

  // The transposed tile has (r, c) here: pieces of 16 rows change places, so that the columns that a warp
  // writes at once lie in different banks.
  MOTET_HOST_DEVICE static int turned_at(int r, int c) {
    return c * side + ((r / 16) ^ (c / 8 % 4)) * 16 + r % 16;
  }
  // A number that is not finite makes the whole tensor so: the step sees it and is refused.
  MOTET_HOST_DEVICE static float scale_for(float largest) {
    constexpr float limit = Kind == fp8_kind::e4m3 ? 448.0f : 57344.0f, most = 1e30f;
    if (!(largest <= 3.402823466e38f)) return __builtin_bit_cast(float, 0x7fffffffu);
    if (largest == 0) return 1;
    const float scale = limit / largest;
    return scale < most ? scale : most;
  }

  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    std::uint8_t* const tile = self.template shared<std::uint8_t>(isize{side} * side);
    const fp8_source<T>& own = from.record(self.block());
    const T* const x = own.x;
    std::uint8_t *const straight = own.straight, *const turned = own.turned;
    const isize stride = own.stride, rows = own.rows, width = own.width, turned_rows = own.turned_rows,
                number = self.block() - own.first_chunk;
    const isize across = own.across(), row = number / across * side, column = number % across * side;
    const float scale = scale_for(__builtin_bit_cast(float, own.scale->largest));
    if (number == 0 && self.thread() == 0) own.scale->inverse = 1 / scale;
    const auto format = Kind == fp8_kind::e4m3 ? __NV_E4M3 : __NV_E5M2;
    for (int at = self.thread(); at < side * side / 8; at += self.threads()) {
      const int r = at / (side / 8), c = at % (side / 8) * 8;
      if (column + c >= width) continue;
      if (row + r >= rows) {
        MOTET_UNROLLED
        for (int i = 0; i < 8; ++i)
          if (turned != nullptr) tile[turned_at(r, c + i)] = 0;
        continue;
      }
      float v[8];
      load_values<8, true>(x + (row + r) * stride + column + c, v);
      std::uint64_t eight = 0;
      MOTET_UNROLLED
      for (int i = 0; i < 8; ++i) {
        const auto bits = __nv_cvt_float_to_fp8(v[i] * scale, __NV_SATFINITE, format);
        eight |= static_cast<std::uint64_t>(bits) << (8 * i);
        if (turned != nullptr) tile[turned_at(r, c + i)] = bits;
      }
      if (straight != nullptr)
        *reinterpret_cast<std::uint64_t*>(straight + (row + r) * width + column + c) = eight;
    }
    if (turned == nullptr) return;
    self.barrier();
    for (int at = self.thread(); at < side * side / 16; at += self.threads()) {
      const int c = at / (side / 16), r = at % (side / 16) * 16;
      if (column + c >= width || row + r >= turned_rows) continue;
      store_pack(turned + (column + c) * turned_rows + row + r, load_pack(tile + turned_at(r, c)));
    }
  }
};

// Makes the scales of these tensors, which lie side by side, and rounds them.
template <class T>
void round_tensors(cudaStream_t stream, fp8_kind kind, const chunked_runs<fp8_source<T>>& from,
                   fp8_scale* scales, isize count) {
  launch(stream, {blocks_for(count, 64), 64, 0}, clear_fp8_scales{scales, count});
  launch(stream, {from.chunks, 256, block_scratch<float>}, find_fp8_largest<T>{from});
  const grid shape{from.chunks, 256, 64 * 64};
  if (kind == fp8_kind::e4m3) launch(stream, shape, round_to_fp8<T, fp8_kind::e4m3>{from});
  else launch(stream, shape, round_to_fp8<T, fp8_kind::e5m2>{from});
}
template <class T>
void round_tensor(cudaStream_t stream, fp8_kind kind, matrix<const T> x, std::uint8_t* straight,
                  std::uint8_t* turned, fp8_scale* scale) {
  round_tensors(stream, kind,
                chunked_runs<fp8_source<T>>(fp8_source<T>{x.data, x.stride, x.rows, x.width, straight, turned,
                                                          round_up(x.rows, 16), scale, 0}),
                scale, 1);
}

// A product that is not taken in fp8 has this reason.
inline constexpr const char* unfit =
    MOTET_CUBLASLT != 0 ? "widths are no multiples of 16" : "this program was built without cuBLASLt";
inline constexpr const char* misaligned_rows = "rows do not lie at 16 bytes";
inline constexpr const char* no_copy = "nobody keeps a copy of the weight";
inline constexpr const char* other_shape = "another matrix lies where the weight does";
inline constexpr const char* not_now = "its weight came for the first time while a graph was recorded";
inline bool no_fp8(context& ctx, const char* why) {
  return does_without(ctx, "product", detour{why}.with(fp8_not_used)), false;
}

}  // namespace detail

// Refuses a chip of this compute capability, or a program without the library, where fp8 was asked for.
inline void require_fp8(int major, int minor) {
  if (!MOTET_CUBLASLT) fail(gpu_library_missing, "cuBLASLt, which multiplies fp8; without it take bf16");
  if (major * 10 + minor < 89)
    fail(gpu_precision_refused,
         sentence({"fp8 on a chip of sm_", major, minor, "; sm_89 and newer multiply it"}));
}

// A context that asks for fp8 needs a chip that multiplies it.
inline void require_fp8(const context& ctx) {
  if (!ctx.fp8) return;
  int major = 0, minor = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, ctx.on->gpu()),
        "cudaDeviceGetAttribute");
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, ctx.on->gpu()),
        "cudaDeviceGetAttribute");
  require_fp8(major, minor);
}

// Copies in fp8 of flat buffers of weights that weight_copies keeps too: a part of the engine. They follow
// the weights at each refresh_weights(). Functions that launch kernels are templates, so that a compiler
// without kernels reads this header.
class fp8_weights {
 public:
  explicit fp8_weights(engine& on) : on_(on) {}

  static constexpr isize most = 4096;  // matrices of one buffer
  // keep() takes so much of the GPU's memory.
  static constexpr isize bytes(isize count) {
    return 2 * count + most * static_cast<isize>(sizeof(detail::fp8_scale));
  }
  // The weights [base, base + count) of the GPU's memory, until weight_copies drops them.
  template <class Context = context>
  void keep(const float* base, isize count) {
    if (count == 0) return;
    if (!following_) {
      on_.part<weight_copies>().follow(
          {[this](Context& ctx) { refresh(ctx); }, [this](const float* gone, isize) { kept_.erase(gone); }});
      following_ = true;
    }
    on_.finish();
    range& made = kept_[base];
    made = {};
    made.count = count;
    made.straight = buffer<std::uint8_t>(count);
    made.turned = buffer<std::uint8_t>(count);
    made.scales = buffer<detail::fp8_scale>(most);
  }

  struct copy {
    const std::uint8_t *straight = nullptr, *turned = nullptr;
    const float* inverse = nullptr;
    const char* why = nullptr;  // there are none
  };
  // The copies of a weight, made when it is first asked for and by refresh().
  template <class Engine = engine>
  copy of(matrix<const float> w) {
    auto after = kept_.upper_bound(w.data);
    if (after == kept_.begin()) return {.why = detail::no_copy};
    const float* const base = (--after)->first;
    range& own = after->second;
    const isize at = w.data - base, size = w.rows * w.width;
    if (at + size > own.count) return {.why = detail::no_copy};
    if (w.stride != w.width || at % 16 != 0) return {.why = detail::misaligned_rows};
    auto found = own.met.find(at);
    if (found == own.met.end()) {
      const auto next = own.met.lower_bound(at);
      const bool meets =
          (next != own.met.end() && next->first < at + size) ||
          (next != own.met.begin() && std::prev(next)->first + std::prev(next)->second.size() > at);
      const auto slot = static_cast<isize>(own.met.size());
      if (meets || slot == most) return {.why = detail::other_shape};
      if (capturing(on_)) return {.why = detail::not_now};
      found = own.met.emplace(at, matrix_of{w.rows, w.width, slot}).first;
      own.listed = false;
      const auto source = own.source(base, *found);
      detail::round_tensors(static_cast<Engine&>(on_).stream(), detail::fp8_kind::e4m3,
                            chunked_runs<detail::fp8_source<float>>(source), source.scale, 1);
    }
    if (found->second.rows != w.rows || found->second.width != w.width) return {.why = detail::other_shape};
    return {own.straight.data() + at, own.turned.data() + at, &own.scales.data()[found->second.slot].inverse};
  }
  // At the beginning of a step: three launches, however many weights there are.
  template <class Context>
  void refresh(Context& ctx) {
    for (auto& [base, own] : kept_) {
      if (own.met.empty()) continue;
      if (!own.listed) {
        std::vector<detail::fp8_source<float>> sources;
        sources.reserve(own.met.size());
        for (const auto& each : own.met) sources.push_back(own.source(base, each));
        own.list.put(ctx, std::move(sources));
        own.listed = true;
      }
      detail::round_tensors(ctx.stream(), detail::fp8_kind::e4m3, own.list.runs(), own.scales.data(),
                            static_cast<isize>(own.met.size()));
    }
  }

 private:
  struct matrix_of {
    isize rows, width, slot;
    isize size() const { return rows * width; }
  };
  struct range {
    isize count = 0;
    buffer<std::uint8_t> straight, turned;
    buffer<detail::fp8_scale> scales;
    std::map<isize, matrix_of> met;  // by where they begin
    chunk_table<detail::fp8_source<float>> list;
    bool listed = false;
    detail::fp8_source<float> source(const float* base, const std::pair<const isize, matrix_of>& of) const {
      const auto& [at, w] = of;
      return {base + at,
              w.width,
              w.rows,
              w.width,
              straight.data() + at,
              turned.data() + at,
              w.rows,
              scales.data() + w.slot,
              0};
    }
  };

  engine& on_;
  bool following_ = false;
  std::map<const float*, range> kept_;
};

namespace detail {

// Scratch memory for an operand in fp8.
struct fp8_room {
  std::uint8_t* numbers = nullptr;
  fp8_scale* scale = nullptr;
};
// Says whether a product of these widths is meant to be taken in fp8: so its operands have room in every run,
// the dry one too.
inline bool wants_fp8(const context& ctx, isize one, isize other) {
  return MOTET_CUBLASLT != 0 && ctx.fp8 && one > 0 && one % 16 == 0 && other > 0 && other % 16 == 0;
}
template <class T>
fp8_room take_fp8_room(context& ctx, isize rows, isize width) {
  const double count = static_cast<double>(rows * width), size = sizeof(T);
  ctx.note("find_fp8_largest", count, size * count);
  ctx.note("round_to_fp8", count, (size + 1) * count);
  return {ctx.scratch.take<std::uint8_t>(round_up(rows, 16) * width), ctx.scratch.take<fp8_scale>(1)};
}

// y = epilogue(x weight^T), or x weight, in fp8. False: it cannot be now, and nothing of y was written.
template <class X, class Y, class Epilogue>
bool fp8_product(context& ctx, isize rows, matrix<X> x, matrix<const float> weight, bool transposed,
                 matrix<Y> y, const Epilogue& epilogue, const fp8_room& narrow, std::byte* room) {
  if (rows == 0 || !in_eights(x.data, x.width, x.stride)) return no_fp8(ctx, misaligned_rows);
  const auto w = ctx.on->part<fp8_weights>().of(weight);
  if (w.why != nullptr) return no_fp8(ctx, w.why);
  // Forward, x is a value; backward it is the gradient of one.
  round_tensor(ctx.stream(), transposed ? fp8_kind::e4m3 : fp8_kind::e5m2,
               matrix<const std::remove_const_t<X>>{x.data, rows, x.width, x.stride}, narrow.numbers, nullptr,
               narrow.scale);
  const library_operand a{narrow.numbers, transposed ? dtype::f8_e4m3 : dtype::f8_e5m2, x.width, false,
                          &narrow.scale->inverse};
  const library_operand b{transposed ? w.straight : w.turned, dtype::f8_e4m3, x.width, true, w.inverse};
  library_product by(ctx, rows, y.width, x.width, a, b);
  return by.into(y.data, y.stride, epilogue, room);
}

// dweight += dy^T x in fp8; rows are filled up with zeros.
template <class X, class Dy>
bool fp8_weight_product(context& ctx, matrix<X> x, matrix<Dy> dy, matrix<float> dweight, const fp8_room& of_x,
                        const fp8_room& of_dy) {
  if (!in_eights(x.data, x.width, x.stride) || !in_eights(dy.data, dy.width, dy.stride))
    return no_fp8(ctx, misaligned_rows);
  const isize rows = x.rows, padded = round_up(rows, 16);
  round_tensor(ctx.stream(), fp8_kind::e4m3, matrix<const std::remove_const_t<X>>(x), nullptr, of_x.numbers,
               of_x.scale);
  round_tensor(ctx.stream(), fp8_kind::e5m2,
               matrix<const std::remove_const_t<Dy>>{dy.data, rows, dy.width, dy.stride}, nullptr,
               of_dy.numbers, of_dy.scale);
  library_product by(ctx, dy.width, x.width, padded,
                     {of_dy.numbers, dtype::f8_e5m2, padded, false, &of_dy.scale->inverse},
                     {of_x.numbers, dtype::f8_e4m3, padded, true, &of_x.scale->inverse});
  return by.added_to(dweight.data, dweight.stride);
}

}  // namespace detail

// Weights of a rank whose products are in Value: copies are kept where that is another precision, and where
// the context asks for fp8.
template <class Value, class Master, class Context>
void keep_weights(Context& ctx, const Master* base, isize count) {
  if constexpr (std::is_same_v<Value, bf16> && std::is_same_v<Master, float>) {
    ctx.on->template part<weight_copies>().keep(base, count);
    if (ctx.fp8) ctx.on->template part<fp8_weights>().keep(base, count);
  }
}
// Bytes that this takes.
template <class Value, class Master>
isize weight_copy_bytes(const context& ctx, isize count) {
  if (!std::is_same_v<Value, bf16> || !std::is_same_v<Master, float>) return 0;
  return count * static_cast<isize>(sizeof(bf16)) + (ctx.fp8 ? fp8_weights::bytes(count) : 0);
}

}  // namespace motet::cuda
