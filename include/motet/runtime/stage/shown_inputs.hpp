// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/layers/patch_embedding.hpp>
#include <motet/nn/layers/sound_embedding.hpp>
#include <motet/runtime/messages.hpp>

#include <bit>
#include <cmath>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

// What a trainer asks of pictures and of sounds that a net reads; input_traits.hpp says what that is.
namespace motet {

template <class Net, class Input>
struct input_traits;

// The first number that is not finite lies here; -1 where all are.
template <class T>
isize first_not_finite(const T* data, isize count) {
  for (isize i = 0; i < count; ++i)
    if (!std::isfinite(static_cast<double>(data[i]))) return i;
  return -1;
}

namespace detail {

// Samples that have as many of something each begin here; it stays as long as the program.
inline const isize* even_offsets(isize samples, isize each) {
  static std::mutex alone;
  static std::map<std::pair<isize, isize>, std::vector<isize>> all;
  const std::lock_guard guard(alone);
  std::vector<isize>& found = all[{samples, each}];
  if (found.empty())
    for (isize k = 0; k <= samples; ++k) found.push_back(k * each);
  return found.data();
}

// Rooms have what is laid out of an input for a microbatch, see input_traits.hpp. They are no members of the
// traits, so that nets that read alike share what is compiled of them.
struct no_room {};

template <class Net>
inline constexpr bool any_shape = requires { requires Net::config.patches().any_shape(); };

}  // namespace detail

template <class Net>
struct input_traits<Net, pictures> {
  static_assert(
      requires {
        isize{Net::config.channels};
        isize{Net::config.image};
      }, "motet: a net that reads pictures needs config.channels and config.image, their side [MT-N12]");
  // Pictures of any shape have grids of their own.
  static constexpr bool any_shape = detail::any_shape<Net>;
  static constexpr isize of_patch = [] {
    if constexpr (any_shape) return Net::config.patches().numbers_of_patch();
    else return isize{0};
  }();
  // Numbers of a picture, at most.
  static constexpr isize pixels = [] {
    if constexpr (any_shape) return Net::config.most_patches * of_patch;
    else return Net::config.channels * Net::config.image * Net::config.image;
  }();
  static constexpr const char* called = "pictures";
  using storage = std::vector<isize>;  // rebased row offsets, where there are any
  static storage room(isize samples) { return storage(any_shape ? as_size(samples) + 1 : 0); }
  static isize samples(const pictures& all) { return all.samples; }
  static isize longest() { return 1; }
  static pictures largest(isize samples) {
    if constexpr (any_shape)
      return {nullptr, samples, {}, detail::even_offsets(samples, Net::config.patches().rows())};
    else return {nullptr, samples};
  }
  static bool fits(const pictures& all, isize samples) {
    return all.samples <= samples &&
           (!all.are_packed() || Net::config.channels <= packed_pictures::most_channels);
  }
  // Pictures and the net agree about their shapes.
  static std::string unknown(const pictures& all) {
    if constexpr (!any_shape)
      return all.row_offsets == nullptr ? "" : "pictures come with grids, and the net sees squares";
    else return wrong_grid(all);
  }
  static pictures slice(const pictures& all, isize first, isize count, storage& room) {
    if (!all.are_packed()) return {all.pixels + first * pixels, count};
    pictures some{nullptr, count, all.packed};
    some.packed.each += first;
    if constexpr (any_shape) {
      for (isize p = 0; p <= count; ++p)
        room[as_size(p)] = all.row_offsets[first + p] - all.row_offsets[first];
      some.row_offsets = room.data();
    }
    return some;
  }
  // Floats, or packed pictures behind the list of them.
  static isize staged_bytes(const pictures& all) {
    return packed_list(all.samples) + all.samples * round_up(pixels * static_cast<isize>(sizeof(float)), 16);
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
    const isize count = last.at - from.each[0].at + last.bytes(pixels, of_patch);
    if (count > staged_bytes(all) - packed_list(all.samples))
      fail(step_too_large, sentence({all.samples, " packed pictures of ", count, " bytes"}));
    bring(from.each, each, all.samples);
    bring(from.of(0), bytes, count);
    return there;
  }
  static bool same(const pictures& a, const pictures& b) {
    return a.pixels == b.pixels && a.samples == b.samples && a.packed.bytes == b.packed.bytes &&
           a.packed.each == b.packed.each && a.row_offsets == b.row_offsets;
  }
  static isize first_bad_sample(const pictures& all) {
    for (isize p = 0; any_shape && p < all.samples; ++p) {
      const packed_picture& own = all.packed.each[p];
      if (own.pitch > 0) continue;
      const auto* const numbers = reinterpret_cast<const float*>(all.packed.of(p));
      if (first_not_finite(numbers, own.patches() * of_patch) >= 0) return p;
    }
    if (all.are_packed()) return -1;  // bytes are finite
    const isize at = first_not_finite(all.pixels, all.samples * pixels);
    return at < 0 ? -1 : at / pixels;
  }
  // The bytes of packed pictures may change by step, how they are scaled may not.
  static void shape(const pictures& all, std::vector<isize>& into) {
    into.insert(into.end(), {all.samples, all.are_packed() ? 1 : 0});
    if (!all.are_packed()) return;
    for (const auto& numbers : {all.packed.factor, all.packed.shift})
      for (isize c = 0; c < packed_pictures::most_channels; ++c)
        into.push_back(std::bit_cast<std::int32_t>(numbers[c]));
    for (isize p = 0; any_shape && p < all.samples; ++p)
      into.insert(into.end(), {all.packed.each[p].rows, all.packed.each[p].columns});
  }

 private:
  static std::string wrong_grid(const pictures& all) {
    if (all.samples > 0 && (all.row_offsets == nullptr || !all.are_packed()))
      return "pictures come without grids, and the net sees pictures of any shape";
    constexpr auto shape = Net::config.patches();
    for (isize p = 0; p < all.samples; ++p) {
      const packed_picture& own = all.packed.each[p];
      const isize rows = all.row_offsets[p + 1] - all.row_offsets[p];
      if (own.rows < 1 || own.columns < 1 || own.patches() > shape.patches())
        return sentence({"picture ", p, " has ", own.rows, " x ", own.columns, " patches, the net takes ",
                         shape.patches(), " at most, and one at least"});
      if (rows != own.patches() + shape.lead())
        return sentence({"picture ", p, " has ", rows, " rows for ", own.rows, " x ", own.columns,
                         " patches, and ", shape.lead(), " before them"});
    }
    return {};
  }
  static isize packed_list(isize samples) {
    return round_up(samples * static_cast<isize>(sizeof(packed_picture)), 64);
  }
};

template <class Net>
struct input_traits<Net, sounds> {
  static_assert(
      requires {
        isize{Net::config.bins};
        isize{Net::config.frames};
      }, "motet: a net that reads sounds needs config.bins and config.frames [MT-N12]");
  static constexpr isize numbers = Net::config.bins * Net::config.frames;  // of a sound
  static constexpr const char* called = "sounds";
  using storage = detail::no_room;
  static storage room(isize) { return {}; }
  static isize samples(const sounds& all) { return all.samples; }
  static isize longest() { return 1; }
  static sounds largest(isize samples) { return {nullptr, samples}; }
  static bool fits(const sounds& all, isize samples) { return all.samples <= samples; }
  static sounds slice(const sounds& all, isize first, isize count, storage&) {
    return {all.features + first * numbers, count};
  }
  static isize staged_bytes(const sounds& all) {
    return all.samples * numbers * static_cast<isize>(sizeof(float));
  }
  template <class Bring>
  static sounds stage(const sounds& all, std::byte* to, Bring&& bring) {
    auto* const there = reinterpret_cast<float*>(to);
    bring(all.features, there, all.samples * numbers);
    return {there, all.samples};
  }
  static bool same(const sounds& a, const sounds& b) {
    return a.features == b.features && a.samples == b.samples;
  }
  static isize first_bad_sample(const sounds& all) {
    const isize at = first_not_finite(all.features, all.samples * numbers);
    return at < 0 ? -1 : at / numbers;
  }
  static void shape(const sounds& all, std::vector<isize>& into) { into.push_back(all.samples); }
};

}  // namespace motet
