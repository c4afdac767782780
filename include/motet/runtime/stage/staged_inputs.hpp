// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/stage/parts.hpp>

#include <optional>

namespace motet {

namespace detail {
// Of the context's backend, where members of the same name hide it.
template <class C, class T>
void begin_bring(C& ctx, const T* from, T* to, index count) {
  bring(ctx, from, to, count);
}
template <class C, class T>
void move_over(C& ctx, const T* from, T* to, index count) {
  copy(ctx, from, to, count);
}
}  // namespace detail

// Inputs of a model's modules where a device's operations read them: room for a batch, taken once; and, where
// wanted, a second one, to which the next batch comes while the device works. From there it is moved over by
// the device itself, as what is recorded of a step reads the first room: that takes a hundredth of the way
// from the host.
template <class Model, class Device, bool Shares = Device::shares_memory>
class staged_inputs {
 public:
  using batch = typename Model::batch;
  template <std::size_t I>
  using input = typename Model::template module_at<I>::input;

  // Bytes for `samples` samples of each module, twice for who brings ahead.
  static index bytes(index samples, bool ahead = false) {
    return (ahead ? 2 : 1) * bytes_of(batch_parts<Model>::largest_batch(samples), all{});
  }
  void prepare(Device& device, index samples, bool ahead = false) {
    ahead_.reset();
    take(device, rooms_, batch_parts<Model>::largest_batch(samples), all{});
    if (ahead) take(device, second_, batch_parts<Model>::largest_batch(samples), all{});
  }

  // The same with data that the device reads; what the context's stream is given after this sees it.
  template <class C>
  batch bring(C& ctx, const batch& from) {
    const bool there_already = ahead_ && same(*ahead_, from, all{});
    ahead_.reset();
    if (there_already) {
      brought(ctx);
      const batch there = move_all(ctx, from, all{});
      used(ctx);
      return there;
    }
    const batch there = begin_all(ctx, rooms_, from, all{});
    brought(ctx);
    return there;
  }
  // What a step does for its inputs, for a dry run.
  template <class C>
  void count(C& ctx, const batch& largest, bool ahead) const {
    begin_all(ctx, rooms_, largest, all{});
    if (ahead) move_all(ctx, largest, all{});
  }
  // Begins to bring what bring() is asked for next. It stays as it is until the context's stream has passed
  // that.
  template <class C>
  void bring_ahead(C& ctx, const batch& next) {
    begin_all(ctx, second_, next, all{});
    ahead_ = next;
  }
  template <std::size_t I, class C>
  input<I> bring_one(C& ctx, const input<I>& from) {
    const input<I> there = begin_one<I>(ctx, rooms_, from);
    brought(ctx);
    return there;
  }

 private:
  using all = std::make_index_sequence<Model::size>;
  template <std::size_t I>
  using traits = input_traits<typename Model::template module_at<I>::net>;
  using room = typename Device::template buffer<std::byte>;
  using rooms = room[Model::size];

  template <std::size_t... I>
  static index bytes_of(const batch& largest, std::index_sequence<I...>) {
    return (traits<I>::staged_bytes(std::get<I>(largest)) + ...);
  }
  template <std::size_t... I>
  static void take(Device& device, rooms& to, const batch& largest, std::index_sequence<I...>) {
    ((to[I] = device.template take<std::byte>("inputs", traits<I>::staged_bytes(std::get<I>(largest)))), ...);
  }
  template <std::size_t... I>
  static bool same(const batch& a, const batch& b, std::index_sequence<I...>) {
    return (traits<I>::same(std::get<I>(a), std::get<I>(b)) && ...);
  }
  template <class C, std::size_t... I>
  static batch begin_all(C& ctx, const rooms& to, const batch& from, std::index_sequence<I...>) {
    return batch(begin_one<I>(ctx, to, std::get<I>(from))...);
  }
  template <std::size_t I, class C>
  static input<I> begin_one(C& ctx, const rooms& to, const input<I>& from) {
    return traits<I>::stage(from, to[I].data(), [&](const auto* data, auto* at, index count) {
      detail::begin_bring(ctx, data, at, count);
    });
  }
  template <class C, std::size_t... I>
  batch move_all(C& ctx, const batch& from, std::index_sequence<I...>) const {
    return batch(move_one<I>(ctx, std::get<I>(from))...);
  }
  // What lies in the second room as it would in the first.
  template <std::size_t I, class C>
  input<I> move_one(C& ctx, const input<I>& from) const {
    return traits<I>::stage(from, rooms_[I].data(), [&]<class T>(const T*, T* at, index count) {
      const auto place = reinterpret_cast<std::byte*>(at) - rooms_[I].data();
      detail::move_over(ctx, reinterpret_cast<const T*>(second_[I].data() + place), at, count);
    });
  }

  rooms rooms_, second_;
  std::optional<batch> ahead_;  // what the second room has
};

// A device whose memory is the host's reads a batch where it lies.
template <class Model, class Device>
class staged_inputs<Model, Device, true> {
 public:
  static index bytes(index, bool = false) { return 0; }
  void prepare(Device&, index, bool = false) {}
};

}  // namespace motet
