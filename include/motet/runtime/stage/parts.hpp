// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/model/model.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/runtime/messages.hpp>

#include <bit>
#include <cmath>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace motet {

// Where the first number that is not finite lies; -1 where all are.
template <class T>
index first_not_finite(const T* data, index count) {
  for (index i = 0; i < count; ++i)
    if (!std::isfinite(static_cast<double>(data[i]))) return i;
  return -1;
}

// How the input of a net is sized and cut. A net with an input type of its own specialises this. Where a
// device has memory of its own, stage() brings there what operations read by bring(from, to, count), to an
// address that is a multiple of 64, and tells the input with it; the rest stays with the host. staged_bytes()
// says how much memory that takes at most. shape() tells all that decides what work it is; same(), whether
// two are one input, by where they lie; first_bad_sample(), if it is there, the first sample with a number
// that is not finite, or -1.
template <class Net, class Input = typename Net::input>
struct input_traits;

template <class Net>
struct input_traits<Net, pictures> {
  static constexpr index pixels = Net::config.channels * Net::config.image * Net::config.image;
  struct storage {};
  static storage room(index) { return {}; }
  static index samples(const pictures& all) { return all.samples; }
  static index longest() { return 1; }
  static pictures largest(index samples) { return {nullptr, samples}; }
  static bool fits(const pictures& all, index samples) {
    return all.samples <= samples &&
           (!all.are_packed() || Net::config.channels <= packed_pictures::most_channels);
  }
  static pictures slice(const pictures& all, index first, index count, storage&) {
    if (!all.are_packed()) return {all.pixels + first * pixels, count};
    pictures some{nullptr, count, all.packed};
    some.packed.each += first;
    return some;
  }
  // Floats, or packed pictures behind the list of them.
  static index staged_bytes(const pictures& all) {
    return packed_list(all.samples) +
           all.samples * packed_pictures::most_bytes(Net::config.channels, Net::config.image);
  }
  template <class Bring>
  static pictures stage(const pictures& all, std::byte* to, Bring&& bring) {
    if (!all.are_packed()) {
      auto* const numbers = reinterpret_cast<float*>(to);
      bring(all.pixels, numbers, all.samples * pixels);
      return {numbers, all.samples};
    }
    const packed_pictures& from = all.packed;
    pictures there = all;
    auto* const each = reinterpret_cast<packed_picture*>(to);
    auto* const bytes = reinterpret_cast<std::uint8_t*>(to + packed_list(all.samples));
    there.packed.bytes = bytes;
    there.packed.each = there.packed.origin = each;
    if (all.samples == 0) return there;
    const packed_picture& last = from.each[all.samples - 1];
    const index count = last.at - from.each[0].at +
                        (last.pitch > 0 ? static_cast<index>(last.pitch) * last.height
                                        : pixels * static_cast<index>(sizeof(float)));
    if (count > staged_bytes(all) - packed_list(all.samples))
      fail(step_too_large, sentence({all.samples, " packed pictures of ", count, " bytes"}));
    bring(from.each, each, all.samples);
    bring(from.of(0), bytes, count);
    return there;
  }
  static bool same(const pictures& a, const pictures& b) {
    return a.pixels == b.pixels && a.samples == b.samples && a.packed.bytes == b.packed.bytes &&
           a.packed.each == b.packed.each;
  }
  static index first_bad_sample(const pictures& all) {
    if (all.are_packed()) return -1;  // bytes are finite
    const index at = first_not_finite(all.pixels, all.samples * pixels);
    return at < 0 ? -1 : at / pixels;
  }
  // What is in packed pictures may change by step, how they are scaled may not.
  static void shape(const pictures& all, std::vector<index>& into) {
    into.insert(into.end(), {all.samples, all.are_packed() ? 1 : 0});
    if (!all.are_packed()) return;
    for (const auto& numbers : {all.packed.factor, all.packed.shift})
      for (index c = 0; c < packed_pictures::most_channels; ++c)
        into.push_back(std::bit_cast<std::int32_t>(numbers[c]));
  }

 private:
  static index packed_list(index samples) {
    return round_up(samples * static_cast<index>(sizeof(packed_picture)), 64);
  }
};

template <class Net>
struct input_traits<Net, tokens> {
  using storage = std::vector<index>;  // rebased offsets
  static storage room(index samples) { return storage(as_size(samples) + 1); }
  static index samples(const tokens& all) { return all.seq.samples; }
  static index longest() { return Net::config.context; }
  static tokens largest(index samples) { return {nullptr, {samples, Net::config.context, nullptr}}; }
  static bool fits(const tokens& all, index samples) {
    if (all.seq.samples > samples) return false;
    for (index s = 0; s < all.seq.samples; ++s)
      if (all.seq.rows_of(s) > Net::config.context) return false;
    return true;
  }
  static tokens slice(const tokens& all, index first, index count, storage& offsets) {
    const index start = all.seq.begin(first);
    if (all.seq.offsets == nullptr) return {all.ids + start, {count, all.seq.length, nullptr}};
    for (index s = 0; s <= count; ++s) offsets[as_size(s)] = all.seq.begin(first + s) - start;
    return {all.ids + start, {count, 0, offsets.data()}};
  }
  static index staged_bytes(const tokens& all) {
    return all.seq.rows() * static_cast<index>(sizeof(std::int32_t));
  }
  template <class Bring>
  static tokens stage(const tokens& all, std::byte* to, Bring&& bring) {
    auto* const ids = reinterpret_cast<std::int32_t*>(to);
    bring(all.ids, ids, all.seq.rows());
    return {ids, all.seq};
  }
  static bool same(const tokens& a, const tokens& b) {
    return a.ids == b.ids && a.seq.samples == b.seq.samples && a.seq.length == b.seq.length &&
           a.seq.offsets == b.seq.offsets;
  }
  static void shape(const tokens& all, std::vector<index>& into) {
    into.insert(into.end(), {all.seq.samples, all.seq.offsets == nullptr ? all.seq.length : -1});
    if (all.seq.offsets != nullptr)
      into.insert(into.end(), all.seq.offsets, all.seq.offsets + all.seq.samples + 1);
  }
};

template <class Net>
index first_bad_sample(const typename Net::input& all) {
  if constexpr (requires { input_traits<Net>::first_bad_sample(all); })
    return input_traits<Net>::first_bad_sample(all);
  else return -1;
}

// A batch cut into parts of consecutive samples, as even as possible, in memory that is taken once.
template <class Model>
class batch_parts {
 public:
  using batch = typename Model::batch;

  batch_parts(index samples, index parts) : samples_(samples), parts_(as_size(parts)) {
    if (samples < 1 || parts < 1 || parts > samples)
      fail(bad_training_option, sentence({"a batch of ", samples, " samples in ", parts, " parts"}));
    const index most = (samples + parts - 1) / parts;
    for (index p = 0; p < parts; ++p) rooms_.push_back(rooms(most, all{}));
  }

  // Throws unless cut() takes it.
  void require(const batch& whole) const {
    if (!fits(whole, all{})) fail(step_too_large, sentence({"planned for ", samples_, " samples"}));
    const index count = input_traits<net<0>>::samples(std::get<0>(whole));
    const auto parts = static_cast<index>(parts_.size());
    if (parts > 1 && count < parts)
      fail(bad_training_option, sentence({"a batch of ", count, " samples in ", parts, " parts"}));
  }
  std::span<const batch> cut(const batch& whole) {
    require(whole);
    const index count = input_traits<net<0>>::samples(std::get<0>(whole));
    const auto parts = static_cast<index>(parts_.size());
    // A single part is the batch itself.
    if (parts == 1) {
      parts_[0] = whole;
      return parts_;
    }
    for (index p = 0; p < parts; ++p) cut_one(whole, p, count * p / parts, count * (p + 1) / parts, all{});
    return parts_;
  }
  // The most that cut() accepts, for a dry run: its data is never read.
  std::span<const batch> largest() {
    const auto parts = static_cast<index>(parts_.size());
    for (index p = 0; p < parts; ++p)
      parts_[as_size(p)] = largest_of(samples_ * (p + 1) / parts - samples_ * p / parts, all{});
    return parts_;
  }
  static batch largest_batch(index samples) { return largest_of(samples, all{}); }
  index samples() const { return samples_; }

 private:
  using all = std::make_index_sequence<Model::size>;
  template <std::size_t I>
  using net = typename Model::template module_at<I>::net;
  template <std::size_t... I>
  static std::tuple<typename input_traits<net<I>>::storage...> storage_type(std::index_sequence<I...>);
  using storage = decltype(storage_type(all{}));

  template <std::size_t... I>
  static storage rooms(index most, std::index_sequence<I...>) {
    return storage(input_traits<net<I>>::room(most)...);
  }
  template <std::size_t... I>
  static batch largest_of(index samples, std::index_sequence<I...>) {
    return batch(input_traits<net<I>>::largest(samples)...);
  }
  template <std::size_t... I>
  bool fits(const batch& whole, std::index_sequence<I...>) const {
    const index count = input_traits<net<0>>::samples(std::get<0>(whole));
    return ((input_traits<net<I>>::fits(std::get<I>(whole), samples_) &&
             input_traits<net<I>>::samples(std::get<I>(whole)) == count) &&
            ...);
  }
  template <std::size_t... I>
  void cut_one(const batch& whole, index part, index first, index last, std::index_sequence<I...>) {
    const auto at = as_size(part);
    parts_[at] = batch(
        input_traits<net<I>>::slice(std::get<I>(whole), first, last - first, std::get<I>(rooms_[at]))...);
  }

  index samples_;
  std::vector<batch> parts_;
  std::vector<storage> rooms_;
};

}  // namespace motet
