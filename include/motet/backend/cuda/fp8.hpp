// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/flat_runs.hpp>
#include <motet/backend/cuda/gemm.hpp>

#include <cuda_fp8.h>

#include <map>

// Products of linear layers in fp8, by choice (product_settings::fp8): values and weights as e4m3, gradients as e5m2, each tensor with one scale. A
// scale comes from the largest magnitudes of the steps before (delayed scaling), so that numbers are rounded in one pass while the new magnitude is
// taken. All of it lies on the GPU; refresh_weights(ctx) at the beginning of each step moves the history on and rounds the weights. Weights that
// nobody keeps copies of (weight_copies) are multiplied in bf16.
//
// The library multiplies e4m3 and e5m2 only where both operands run along the product in memory. So the pass that rounds writes the transposed
// numbers where those are needed. Memory: two bytes for each weight, and room for one product's operands, both taken when first needed (never while
// the stream is recorded; a product that would need it then is taken in bf16).

namespace motet::cuda {

namespace detail {

enum class fp8_kind : int { e4m3, e5m2 };
inline constexpr int fp8_history = 16;

// Of one tensor, on the GPU.
struct fp8_state {
  float scale, inverse, limit;
  unsigned largest;  // bits of the largest magnitude since the last step, which are ordered as the numbers are
  int next;
  float history[fp8_history];
};

struct begin_fp8_state {
  fp8_state* state;
  float limit;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    if (self.number() != 0) return;
    fp8_state made{1, 1, limit, 0, 0, {}};
    *state = made;
  }
};
// The history moves on by what was seen since; scales follow.
struct move_fp8_states {
  fp8_state* states;
  index count;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    for (index i = self.number(); i < count; i += self.all()) {
      fp8_state& of = states[i];
      if (of.largest != 0) {  // not used since: keep what is known
        of.history[of.next] = __builtin_bit_cast(float, of.largest);
        of.next = (of.next + 1) % fp8_history;
        of.largest = 0;
      }
      float most = 0;
      for (int h = 0; h < fp8_history; ++h) most = of.history[h] > most ? of.history[h] : most;
      const float scale = most > 0 && most < 1e30f ? of.limit / most : 1.0f;
      of.scale = scale < 1e30f ? scale : 1.0f;
      of.inverse = 1.0f / of.scale;
    }
  }
};

// A matrix that is rounded, in tiles of 64 x 64 numbers.
template <class T>
struct fp8_source {
  static constexpr int side = 64;
  const T* x;
  index stride, rows, width;
  std::uint8_t* straight;  // (rows, width), or none
  std::uint8_t* turned;    // (width, rows), or none
  fp8_state* state;
  index first_chunk;
  index chunks() const { return ((rows + side - 1) / side) * ((width + side - 1) / side); }
};

// Rounds matrices to fp8, as they lie and transposed, where wanted, and takes the largest magnitude of each. A block has a tile. The floor is
// rows * width * (bytes of T + 1 or 2) over the copy bandwidth: loads and stores are of 8 to 16 bytes, the transposed tile goes through shared
// memory.
template <class T, fp8_kind Kind>
struct round_to_fp8 {
  static constexpr int most_threads = 256;
  static constexpr int side = fp8_source<T>::side;
  chunked_runs<fp8_source<T>> from;

  // Where the transposed tile has (r, c): pieces of 16 rows change places, so that the columns that a warp writes at once lie in different banks.
  MOTET_HOST_DEVICE static int place(int r, int c) { return c * side + ((r / 16) ^ (c / 8 % 4)) * 16 + r % 16; }

  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    std::uint8_t* const tile = self.template shared<std::uint8_t>(index{side} * side);
    float* const scratch = self.template shared<float>(warp_size);
    const fp8_source<T>& own = from.record(self.block());
    const T* const x = own.x;
    std::uint8_t *const straight = own.straight, *const turned = own.turned;
    fp8_state* const state = own.state;
    const index stride = own.stride, rows = own.rows, width = own.width, number = self.block() - own.first_chunk;
    const index across = (width + side - 1) / side, row = number / across * side, column = number % across * side;
    const float scale = state->scale;
    const auto format = Kind == fp8_kind::e4m3 ? __NV_E4M3 : __NV_E5M2;
    float most = 0;
    for (int at = self.thread(); at < side * side / 8; at += self.threads()) {
      const int r = at / (side / 8), c = at % (side / 8) * 8;
      if (row + r >= rows || column + c >= width) continue;
      float v[8];
      load_values<8, true>(x + (row + r) * stride + column + c, v);
      std::uint64_t eight = 0;
      MOTET_UNROLLED
      for (int i = 0; i < 8; ++i) {
        const float size = v[i] < 0 ? -v[i] : v[i];
        most = size > most ? size : most;
        const auto bits = __nv_cvt_float_to_fp8(v[i] * scale, __NV_SATFINITE, format);
        eight |= static_cast<std::uint64_t>(bits) << (8 * i);
        if (turned != nullptr) tile[place(r, c + i)] = bits;
      }
      if (straight != nullptr) *reinterpret_cast<std::uint64_t*>(straight + (row + r) * width + column + c) = eight;
    }
    most = block_max(self, most, scratch);
    if (self.thread() == 0) self.atomic_max(&state->largest, __builtin_bit_cast(unsigned, most));
    if (turned == nullptr) return;
    self.barrier();
    for (int at = self.thread(); at < side * side / 16; at += self.threads()) {
      const int c = at / (side / 16), r = at % (side / 16) * 16;
      if (column + c >= width || row + r >= rows) continue;
      store_pack(turned + (column + c) * rows + row + r, load_pack(tile + place(r, c)));
    }
  }
};

template <class T>
void round_tensors(cudaStream_t stream, fp8_kind kind, const chunked_runs<fp8_source<T>>& from) {
  const grid shape{from.chunks, 256, 64 * 64 + block_scratch<float>};
  if (kind == fp8_kind::e4m3) launch(stream, shape, round_to_fp8<T, fp8_kind::e4m3>{from});
  else launch(stream, shape, round_to_fp8<T, fp8_kind::e5m2>{from});
}
template <class T>
void round_tensor(cudaStream_t stream, fp8_kind kind, matrix<const T> x, std::uint8_t* straight, std::uint8_t* turned, fp8_state* state) {
  round_tensors(stream, kind, chunked_runs<fp8_source<T>>({x.data, x.stride, x.rows, x.width, straight, turned, state, 0}));
}

template <class T>
bool fits_fp8(const T* data, index rows, index width, index stride) {
  return rows > 0 && width > 0 && rows % 16 == 0 && width % 16 == 0 && in_eights(data, width, stride);
}

}  // namespace detail

// Scales of tensors, copies of weights and room for operands: a part of the engine.
class fp8_tensors {
 public:
  explicit fp8_tensors(engine& on) : on_(on) {
    int major = 0, minor = 0;
    check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, on.gpu()), "cudaDeviceGetAttribute");
    check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, on.gpu()), "cudaDeviceGetAttribute");
    ready_ = MOTET_CUBLASLT != 0 && major * 10 + minor >= 89;
  }
  // Whether this GPU multiplies fp8.
  bool ready() const { return ready_; }

  // The numbers of a tensor that is made anew for each product: x or the gradient of y of the layer that `key` tells. Null: not now.
  template <class T>
  const float* round(const void* key, int which, detail::fp8_kind kind, matrix<const T> x, std::uint8_t* straight, std::uint8_t* turned) {
    const int at = slot(key, which, kind);
    if (at < 0) return nullptr;
    return into(at, kind, x, straight, turned);
  }

  struct weight {
    const std::uint8_t *straight = nullptr, *turned = nullptr;
    const float* inverse = nullptr;
  };
  // The copies of a weight, made when first asked for and by refresh().
  template <class W>
  weight weight_of(matrix<W> from) {
    const matrix<const float> w = from;
    auto& held = weights_[w.data];
    if (held.straight.size() != w.rows * w.width) {
      const int at = capturing(on_) ? -1 : slot(w.data, 0, detail::fp8_kind::e4m3);
      if (at < 0) return {};
      on_.finish();
      listed_ = false;
      held = {w, at, buffer<std::uint8_t>(w.rows * w.width), buffer<std::uint8_t>(w.rows * w.width)};
      into(at, detail::fp8_kind::e4m3, w, held.straight.data(), held.turned.data());
    }
    return {held.straight.data(), held.turned.data(), &state(held.slot)->inverse};
  }
  // At the beginning of a step: two launches, however many weights there are.
  template <class Context>
  void refresh(Context& ctx) {
    if (used_ == 0) return;
    fresh_.assign(fresh_.size(), false);
    launch(ctx.stream(), {blocks_for(used_, 64), 64, 0}, detail::move_fp8_states{states_.data(), used_});
    if (!listed_) list(ctx);
    detail::round_tensors(ctx.stream(), detail::fp8_kind::e4m3, list_.runs());
  }
  // From now on the copies follow the weights.
  template <class Context>
  void follow(Context& ctx) {
    if (following_) return;
    following_ = true;
    ctx.on->template part<weight_copies>().follow(
        {[this](context& at) { refresh(at); }, [this](const float* base, index count) { drop(base, count); }});
  }

  // Room for operands until the next product; null when it cannot grow now.
  std::uint8_t* room(index bytes) {
    if (rooms_.empty() || bytes > rooms_.back().size()) {
      if (capturing(on_)) return nullptr;
      rooms_.emplace_back(bytes);
    }
    return rooms_.back().data();
  }

 private:
  static constexpr index most = 8192;
  struct held_weight {
    matrix<const float> source;
    int slot = -1;
    buffer<std::uint8_t> straight, turned;
  };
  detail::fp8_state* state(int at) const { return states_.data() + at; }

  template <class T>
  const float* into(int at, detail::fp8_kind kind, matrix<const T> x, std::uint8_t* straight, std::uint8_t* turned) {
    if (fresh_[static_cast<std::size_t>(at)]) {
      // Nothing is known of it: look at it before it is rounded, in the first step that it is met in.
      if (capturing(on_)) return nullptr;
      detail::round_tensor(on_.stream(), kind, x, nullptr, nullptr, state(at));
      launch(on_.stream(), {1, warp_size, 0}, detail::move_fp8_states{state(at), 1});
    }
    detail::round_tensor(on_.stream(), kind, x, straight, turned, state(at));
    return &state(at)->inverse;
  }
  // Of a tensor that is new, a state is begun, but not while the stream is recorded.
  template <class Kernel = detail::begin_fp8_state>
  int slot(const void* key, int which, detail::fp8_kind kind) {
    const auto name = std::pair<const void*, int>(key, which);
    if (const auto found = slots_.find(name); found != slots_.end()) return found->second;
    if (capturing(on_) || used_ == most) return -1;
    if (states_.size() == 0) states_ = buffer<detail::fp8_state>(most);
    const int at = static_cast<int>(used_++);
    launch(on_.stream(), {1, warp_size, 0}, Kernel{state(at), kind == detail::fp8_kind::e4m3 ? 448.0f : 57344.0f});
    fresh_.push_back(true);
    return slots_[name] = at;
  }

  template <class Context>
  void list(Context& ctx) {
    std::vector<detail::fp8_source<float>> sources;
    for (auto& [address, held] : weights_)
      if (held.straight.size() > 0)
        sources.push_back({held.source.data, held.source.stride, held.source.rows, held.source.width, held.straight.data(), held.turned.data(),
                           state(held.slot), 0});
    list_.put(ctx, std::move(sources));
    listed_ = true;
  }
  // No weights lie there any more.
  void drop(const float* base, index count) {
    on_.finish();
    listed_ = false;
    weights_.erase(weights_.lower_bound(base), weights_.lower_bound(base + count));
    const void *const begin = base, *const end = base + count;
    slots_.erase(slots_.lower_bound({begin, 0}), slots_.lower_bound({end, 0}));
  }

  engine& on_;
  bool ready_ = false, following_ = false;
  buffer<detail::fp8_state> states_;
  index used_ = 0;
  std::map<std::pair<const void*, int>, int> slots_;
  std::vector<bool> fresh_;
  std::map<const float*, held_weight> weights_;
  detail::chunk_table<detail::fp8_source<float>> list_;  // of all weights
  bool listed_ = false;
  std::vector<buffer<std::uint8_t>> rooms_;  // the last one is the largest; recorded graphs know the others
};

namespace detail {

// Why a product is not taken in fp8.
inline constexpr const char* odd_sizes = "rows and widths are no multiples of 16, or do not lie at 16 bytes";
inline constexpr const char* old_chip = "this chip or program does not multiply fp8";
inline constexpr const char* no_copy = "nobody keeps a copy of the weight";
inline constexpr const char* not_now = "its tensor came for the first time while a graph was recorded";
inline bool no_fp8(context& ctx, const char* why) { return does_without(ctx, "product", detour{why}.with(fp8_not_used)), false; }

// y = epilogue(x weight^T), or x weight, in fp8. False: the shape, the chip or the moment does not allow it, and nothing was done.
template <class X, class Y, class Epilogue>
bool fp8_product(context& ctx, index rows, matrix<X> x, matrix<const float> weight, bool transposed, matrix<Y> y, const Epilogue& epilogue,
                 std::byte* room) {
  if (!fits_fp8(x.data, rows, x.width, x.stride) || !fits_fp8(weight.data, weight.rows, weight.width, weight.stride)) return no_fp8(ctx, odd_sizes);
  auto& tensors = ctx.on->part<fp8_tensors>();
  if (!tensors.ready()) return no_fp8(ctx, old_chip);
  if (ctx.on->part<weight_copies>().copy_of(weight.data) == nullptr) return no_fp8(ctx, no_copy);
  tensors.follow(ctx);
  std::uint8_t* const narrow = tensors.room(rows * x.width);
  const auto w = tensors.weight_of(weight);
  if (narrow == nullptr || w.straight == nullptr) return no_fp8(ctx, not_now);
  // Forward, x is a value; backward it is the gradient of one.
  const fp8_kind kind = transposed ? fp8_kind::e4m3 : fp8_kind::e5m2;
  const float* const inverse =
      tensors.round(weight.data, transposed ? 1 : 2, kind, matrix<const std::remove_const_t<X>>{x.data, rows, x.width, x.stride}, narrow, nullptr);
  if (inverse == nullptr) return no_fp8(ctx, not_now);
  const library_operand a{narrow, transposed ? dtype::f8_e4m3 : dtype::f8_e5m2, x.width, false, inverse};
  const library_operand b{transposed ? w.straight : w.turned, dtype::f8_e4m3, x.width, true, w.inverse};
  library_product by(ctx, rows, y.width, x.width, a, b);
  return by.into(y.data, y.stride, epilogue, room);
}

// dweight += dy^T x in fp8.
template <class X, class Dy>
bool fp8_weight_product(context& ctx, matrix<X> x, matrix<Dy> dy, matrix<float> dweight) {
  if (!fits_fp8(x.data, x.rows, x.width, x.stride) || !fits_fp8(dy.data, x.rows, dy.width, dy.stride)) return no_fp8(ctx, odd_sizes);
  auto& tensors = ctx.on->part<fp8_tensors>();
  if (!tensors.ready()) return no_fp8(ctx, old_chip);
  std::uint8_t* const of_x = tensors.room(x.rows * (x.width + dy.width));
  if (of_x == nullptr) return no_fp8(ctx, not_now);
  std::uint8_t* const of_dy = of_x + x.rows * x.width;
  const float* const x_inverse = tensors.round(dweight.data, 3, fp8_kind::e4m3, matrix<const std::remove_const_t<X>>(x), nullptr, of_x);
  const float* const dy_inverse =
      tensors.round(dweight.data, 4, fp8_kind::e5m2, matrix<const std::remove_const_t<Dy>>{dy.data, x.rows, dy.width, dy.stride}, nullptr, of_dy);
  if (x_inverse == nullptr || dy_inverse == nullptr) return no_fp8(ctx, not_now);
  library_product by(ctx, dy.width, x.width, x.rows, {of_dy, dtype::f8_e5m2, x.rows, false, dy_inverse},
                     {of_x, dtype::f8_e4m3, x.rows, true, x_inverse});
  return by.with_sums(dweight.data, dweight.stride, static_cast<float*>(nullptr), nullptr) > 0;
}

}  // namespace detail

}  // namespace motet::cuda
