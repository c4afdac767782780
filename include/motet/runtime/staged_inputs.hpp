// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/parts.hpp>

namespace motet {

namespace detail {
// Of the context's backend, where members of the same name hide it.
template <class C, class T>
void begin_bring(C& ctx, const T* from, T* to, index count) {
  bring(ctx, from, to, count);
}
}  // namespace detail

// Inputs of a model's modules where a device's operations read them: room for a batch, taken once.
template <class Model, class Device, bool Shares = Device::shares_memory>
class staged_inputs {
 public:
  using batch = typename Model::batch;
  template <std::size_t I>
  using input = typename Model::template module_at<I>::input;

  // Bytes for `samples` samples of each module.
  static index bytes(index samples) { return bytes_of(batch_parts<Model>::largest_batch(samples), all{}); }
  void prepare(Device& device, index samples) { take(device, batch_parts<Model>::largest_batch(samples), all{}); }

  // The same with data that the device reads; what the context's stream is given after this sees it.
  template <class C>
  batch bring(C& ctx, const batch& from) {
    const batch there = begin_all(ctx, from, all{});
    brought(ctx);
    return there;
  }
  template <std::size_t I, class C>
  input<I> bring_one(C& ctx, const input<I>& from) {
    const input<I> there = begin_one<I>(ctx, from);
    brought(ctx);
    return there;
  }

 private:
  using all = std::make_index_sequence<Model::size>;
  template <std::size_t I>
  using traits = input_traits<typename Model::template module_at<I>::net>;
  using room = typename Device::template buffer<std::byte>;

  template <std::size_t... I>
  static index bytes_of(const batch& largest, std::index_sequence<I...>) {
    return (traits<I>::staged_bytes(std::get<I>(largest)) + ...);
  }
  template <std::size_t... I>
  void take(Device& device, const batch& largest, std::index_sequence<I...>) {
    ((rooms_[I] = device.template take<std::byte>("inputs", traits<I>::staged_bytes(std::get<I>(largest)))), ...);
  }
  template <class C, std::size_t... I>
  batch begin_all(C& ctx, const batch& from, std::index_sequence<I...>) {
    return batch(begin_one<I>(ctx, std::get<I>(from))...);
  }
  template <std::size_t I, class C>
  input<I> begin_one(C& ctx, const input<I>& from) {
    return traits<I>::stage(from, rooms_[I].data(), [&](const auto* data, auto* to, index count) { detail::begin_bring(ctx, data, to, count); });
  }

  room rooms_[Model::size];
};

// A device whose memory is the host's reads a batch where it lies.
template <class Model, class Device>
class staged_inputs<Model, Device, true> {
 public:
  static index bytes(index) { return 0; }
  void prepare(Device&, index) {}
};

}  // namespace motet
