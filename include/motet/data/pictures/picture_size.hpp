// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/pictures/bitmap.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace motet {

struct picture_size {
  isize width = 0, height = 0;
  bool operator==(const picture_size&) const = default;
};

namespace detail {

// Bytes of a picture as they are asked for, of which the first are read at once.
template <class Read>
class picture_head {
 public:
  explicit picture_head(Read& read) : read_(read), held_(read(0, std::span(first_))) {}
  // A byte, or -1 behind the end.
  int at(isize place) {
    if (place < held_) return first_[as_size(place)];
    std::uint8_t one = 0;
    return read_(place, std::span(&one, 1)) == 1 ? one : -1;
  }
  isize number(isize place, int bytes) {
    isize value = 0;
    for (int i = 0; i < bytes; ++i) {
      const int byte = at(place + i);
      if (byte < 0) return -1;
      value = 256 * value + byte;
    }
    return value;
  }
  bool starts(std::string_view magic) {
    for (std::size_t i = 0; i < magic.size(); ++i)
      if (at(static_cast<isize>(i)) != static_cast<unsigned char>(magic[i])) return false;
    return true;
  }

 private:
  Read& read_;
  std::array<std::uint8_t, 512> first_{};
  isize held_;
};

template <class Head>
std::optional<picture_size> jpeg_size(Head& head) {
  isize at = 2;
  // Each segment moves on, but one of a damaged file may do so by little.
  for (int segments = 0; segments < 4096; ++segments) {
    if (head.at(at) != 0xff) return {};
    while (head.at(at + 1) == 0xff) ++at;
    const int marker = head.at(at + 1);
    if (marker < 0xc0 || marker == 0xd9 || marker == 0xda) return {};
    // A frame begins; DHT, JPG and DAC have numbers among those of frames.
    if (marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc)
      return picture_size{head.number(at + 7, 2), head.number(at + 5, 2)};
    if (marker >= 0xd0 && marker <= 0xd8) {
      at += 2;
      continue;
    }
    const isize length = head.number(at + 2, 2);
    if (length < 2) return {};
    at += 2 + length;
  }
  return {};
}

template <class Head>
std::optional<picture_size> ppm_size(Head& head) {
  isize at = 2, numbers[2]{};
  for (isize& number : numbers) {
    for (bool comment = false;; ++at) {
      const int c = head.at(at);
      if (at > 65536 || c < 0) return {};
      if (c == '#') comment = true;
      else if (c == '\n') comment = false;
      else if (!comment && c != ' ' && c != '\t' && c != '\r') break;
    }
    const isize from = at;
    for (; at < from + 9 && head.at(at) >= '0' && head.at(at) <= '9'; ++at)
      number = 10 * number + (head.at(at) - '0');
    if (at == from) return {};
  }
  return picture_size{numbers[0], numbers[1]};
}

}  // namespace detail

// The size of a PNG, JPEG or PPM, by its header alone: nothing is decoded, no library is asked, and a few
// bytes are read. read(offset, span) gives how many bytes came. Nothing, where the bytes tell none.
template <class Read>
std::optional<picture_size> find_picture_size(Read&& read) {
  detail::picture_head head(read);
  std::optional<picture_size> found;
  if (head.starts("\x89PNG")) found = {head.number(16, 4), head.number(20, 4)};
  else if (head.starts("\xff\xd8")) found = detail::jpeg_size(head);
  else if (head.starts("P6")) found = detail::ppm_size(head);
  if (found && (found->width <= 0 || found->height <= 0)) found.reset();
  return found;
}

inline std::optional<picture_size> find_picture_size(std::span<const std::uint8_t> bytes) {
  return find_picture_size([&](isize offset, std::span<std::uint8_t> into) {
    const isize count =
        std::clamp<isize>(static_cast<isize>(bytes.size()) - offset, 0, static_cast<isize>(into.size()));
    if (count > 0) std::copy_n(bytes.data() + offset, count, into.data());
    return count;
  });
}

}  // namespace motet
