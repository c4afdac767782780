// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/sound/waveform.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

namespace motet {

namespace detail {

// Bits of a FLAC file, highest first.
class flac_bits {
 public:
  explicit flac_bits(std::span<const std::uint8_t> of) : of_(of) {}

  isize byte() const { return at_ / 8; }
  isize left() const { return static_cast<isize>(of_.size()) * 8 - at_; }
  bool at_byte() const { return at_ % 8 == 0; }
  void skip(isize bits) {
    need(bits);
    at_ += bits;
  }
  void align() { at_ = round_up(at_, 8); }
  // Takes the next 0 to 57 bits as a number.
  std::uint64_t take(isize bits) {
    need(bits);
    std::uint64_t out = 0;
    for (isize done = 0; done < bits;) {
      const isize inside = at_ % 8, some = std::min(8 - inside, bits - done);
      const auto part = static_cast<std::uint64_t>(of_[as_size(at_ / 8)] >> (8 - inside - some)) &
                        ((std::uint64_t{1} << some) - 1);
      out = out << some | part;
      done += some;
      at_ += some;
    }
    return out;
  }
  std::int64_t take_signed(isize bits) {
    if (bits == 0) return 0;
    const auto found = static_cast<std::int64_t>(take(bits));
    return found >= std::int64_t{1} << (bits - 1) ? found - (std::int64_t{1} << bits) : found;
  }
  // Takes the zeros before the next one, and counts them.
  std::int64_t take_unary() {
    std::int64_t zeros = 0;
    for (;; ++zeros) {
      if (at_byte()) {
        while (left() >= 8 && of_[as_size(byte())] == 0) {
          zeros += 8;
          at_ += 8;
        }
      }
      if (take(1) == 1) return zeros;
    }
  }
  std::span<const std::uint8_t> bytes(isize from, isize to) const {
    return of_.subspan(as_size(from), as_size(to - from));
  }

 private:
  void need(isize bits) const {
    if (bits > left()) fail(damaged_sound, sentence({"FLAC: it ends after ", of_.size(), " bytes"}));
  }
  std::span<const std::uint8_t> of_;
  isize at_ = 0;
};

// The remainders that FLAC checks its frames with: of eight bits for the header, of sixteen for all of it.
template <class Remainder, Remainder Polynomial>
Remainder flac_check(std::span<const std::uint8_t> bytes) {
  constexpr int bits = 8 * static_cast<int>(sizeof(Remainder));
  static const auto table = [] {
    std::array<Remainder, 256> out{};
    for (int i = 0; i < 256; ++i) {
      unsigned rest = static_cast<unsigned>(i) << (bits - 8);
      for (int k = 0; k < 8; ++k) rest = (rest >> (bits - 1)) & 1 ? (rest << 1) ^ Polynomial : rest << 1;
      out[as_size(i)] = static_cast<Remainder>(rest);
    }
    return out;
  }();
  unsigned rest = 0;
  for (const std::uint8_t each : bytes)
    rest = (rest << 8 ^ table[((rest >> (bits - 8)) ^ each) & 0xff]) & ((1u << bits) - 1);
  return static_cast<Remainder>(rest);
}

struct flac_form {
  isize rate = 0, channels = 0, bits = 0;
  std::int64_t values = 0;  // of a channel; 0: the file does not say
};
struct flac_frame {
  isize size = 0, bits = 0;
  int channels = 0;  // 0 to 7: so many and one more; 8, 9, 10: left or right or middle, and the difference
};

class flac_reader {
 public:
  flac_reader(std::span<const std::uint8_t> from, const sound_limits& limits)
      : bits_(from), limits_(limits) {}

  void read(waveform& into) {
    bits_.skip(32);  // its name
    read_form();
    into.rate = form_.rate;
    into.values.clear();
    while (bits_.left() > 0 && (form_.values == 0 || static_cast<isize>(into.values.size()) < form_.values))
      read_frame(into.values);
    if (form_.values != 0 && static_cast<isize>(into.values.size()) != form_.values)
      fail(damaged_sound, sentence({"FLAC: it has ", into.values.size(), " of ", form_.values, " numbers"}));
  }

 private:
  [[noreturn]] void refuse(const char* what) const {
    fail(damaged_sound, sentence({"FLAC: ", what, ", before byte ", bits_.byte()}));
  }

  // The blocks before the frames, of which the first is all that is needed.
  void read_form() {
    for (bool first = true, last = false; !last; first = false) {
      last = bits_.take(1) == 1;
      const std::uint64_t kind = bits_.take(7), size = bits_.take(24);
      if (first != (kind == 0) || (first && size != 34)) refuse("its first block does not say what it is");
      if (!first) {
        bits_.skip(static_cast<isize>(size) * 8);
        continue;
      }
      bits_.skip(16 + 16 + 24 + 24);  // sizes of blocks and frames
      form_.rate = static_cast<isize>(bits_.take(20));
      form_.channels = static_cast<isize>(bits_.take(3)) + 1;
      form_.bits = static_cast<isize>(bits_.take(5)) + 1;
      form_.values = static_cast<std::int64_t>(bits_.take(36));
      bits_.skip(128);  // a digest of the numbers; each frame has a check of its own
      check_limits(form_.rate, form_.channels, limits_);
      if (form_.bits < 4) refuse("its numbers have less than 4 bits");
      check_count(form_.values);
    }
  }
  void check_count(std::int64_t count) const {
    if (count > limits_.values)
      fail(damaged_sound, sentence({"FLAC: it has ", count, " numbers, the limit is ", limits_.values}));
  }

  void read_frame(std::vector<float>& into) {
    const isize start = bits_.byte();
    const flac_frame frame = read_frame_header(start);
    check_count(static_cast<std::int64_t>(into.size()) + frame.size);
    const int channels = frame.channels < 8 ? frame.channels + 1 : 2;
    for (int c = 0; c < channels; ++c) {
      // A difference takes a bit more.
      const bool is_difference = frame.channels == 9 ? c == 0 : frame.channels >= 8 && c == 1;
      read_channel(channels_[as_size(c)], frame.size, frame.bits + (is_difference ? 1 : 0));
    }
    bits_.align();
    const auto check = flac_check<std::uint16_t, 0x8005>(bits_.bytes(start, bits_.byte()));
    if (bits_.take(16) != check) refuse("the check of a frame does not fit");
    auto &a = channels_[0], &b = channels_[1];
    for (std::size_t i = 0; frame.channels >= 8 && i < as_size(frame.size); ++i) {
      if (frame.channels == 8) {
        b[i] = a[i] - b[i];
      } else if (frame.channels == 9) {
        a[i] += b[i];
      } else {
        const std::int64_t sum = a[i] * 2 + (b[i] & 1), difference = b[i];
        a[i] = (sum + difference) >> 1;
        b[i] = (sum - difference) >> 1;
      }
    }
    const double scale = 1 / (static_cast<double>(std::int64_t{1} << (frame.bits - 1)) * channels);
    for (std::size_t i = 0; i < as_size(frame.size); ++i) {
      std::int64_t sum = 0;
      for (int c = 0; c < channels; ++c) sum += channels_[as_size(c)][i];
      into.push_back(static_cast<float>(static_cast<double>(sum) * scale));
    }
  }

  flac_frame read_frame_header(isize start) {
    if (bits_.take(15) != 0x7ffc) refuse("a frame does not begin");
    bits_.skip(1);  // whether its number is that of the frame or of its first value
    const std::uint64_t size = bits_.take(4), rate = bits_.take(4), channels = bits_.take(4),
                        width = bits_.take(3);
    bits_.skip(1);
    // A number in the manner of UTF-8, of up to seven bytes.
    std::uint64_t lead = bits_.take(8);
    for (; (lead & 0xc0) == 0xc0; lead = (lead << 1) & 0xff) bits_.skip(8);
    flac_frame out;
    out.channels = static_cast<int>(channels);
    if (channels > 10) refuse("channels of an unknown kind");
    constexpr isize widths[] = {0, 8, 12, 0, 16, 20, 24, 32};
    out.bits = width == 0 ? form_.bits : widths[width];
    if (out.bits == 0) refuse("numbers of an unknown width");
    if (size == 0) refuse("a block of an unknown size");
    if (size == 1) out.size = 192;
    else if (size < 6) out.size = 576 << (size - 2);
    else if (size == 6) out.size = static_cast<isize>(bits_.take(8)) + 1;
    else if (size == 7) out.size = static_cast<isize>(bits_.take(16)) + 1;
    else out.size = 256 << (size - 8);
    if (rate == 15) refuse("an unknown rate");
    if (rate >= 12) bits_.skip(rate == 12 ? 8 : 16);
    const auto check = flac_check<std::uint8_t, 0x07>(bits_.bytes(start, bits_.byte()));
    if (bits_.take(8) != check) refuse("the check of a frame's header does not fit");
    if ((channels < 8 ? static_cast<isize>(channels) + 1 : 2) != form_.channels)
      refuse("a frame has other channels than the file");
    return out;
  }

  void read_channel(std::vector<std::int64_t>& to, isize size, isize bits) {
    to.assign(as_size(size), 0);
    if (bits_.take(1) != 0) refuse("a channel does not begin");
    const auto kind = static_cast<isize>(bits_.take(6));
    const isize wasted = bits_.take(1) == 1 ? static_cast<isize>(bits_.take_unary()) + 1 : 0;
    if (wasted >= bits) refuse("a channel has no bits");
    bits -= wasted;
    if (kind == 0) {
      std::fill(to.begin(), to.end(), bits_.take_signed(bits));
    } else if (kind == 1) {
      for (std::int64_t& each : to) each = bits_.take_signed(bits);
    } else if (kind >= 8 && kind <= 12) {
      constexpr std::array<std::array<std::int64_t, 4>, 5> fixed{
          {{}, {1}, {2, -1}, {3, -3, 1}, {4, -6, 4, -1}}};
      const isize order = kind - 8;
      read_start(to, order, bits);
      read_residual(to, order);
      predict(to, std::span(fixed[as_size(order)]).first(as_size(order)), 0);
    } else if (kind >= 32) {
      const isize order = kind - 31;
      read_start(to, order, bits);
      const auto precision = static_cast<isize>(bits_.take(4)) + 1;
      const std::int64_t shift = bits_.take_signed(5);
      if (precision == 16 || shift < 0) refuse("a prediction of an unknown kind");
      std::array<std::int64_t, 32> by{};
      for (isize k = 0; k < order; ++k) by[as_size(k)] = bits_.take_signed(precision);
      read_residual(to, order);
      predict(to, std::span(by).first(as_size(order)), static_cast<int>(shift));
    } else {
      refuse("a channel of an unknown kind");
    }
    // No honest file has larger numbers, and the sums of dishonest ones must not go astray.
    const std::int64_t most = std::int64_t{1} << bits;
    for (std::int64_t& each : to) {
      if (each < -most || each >= most) refuse("numbers wider than a channel");
      each *= std::int64_t{1} << wasted;
    }
  }
  void read_start(std::vector<std::int64_t>& to, isize order, isize bits) {
    if (order > static_cast<isize>(to.size())) refuse("a block is shorter than its prediction");
    for (isize i = 0; i < order; ++i) to[as_size(i)] = bits_.take_signed(bits);
  }
  // What is left of the numbers behind the first few, in parts with a width of their own each (Rice's code).
  void read_residual(std::vector<std::int64_t>& to, isize order) {
    const std::uint64_t method = bits_.take(2);
    if (method > 1) refuse("a residual of an unknown kind");
    const isize of_width = method == 0 ? 4 : 5, escape = method == 0 ? 15 : 31;
    const auto parts = isize{1} << bits_.take(4);
    const auto size = static_cast<isize>(to.size());
    if (size % parts != 0 || size / parts < order) refuse("a residual in parts that do not fit");
    for (isize part = 0; part < parts; ++part) {
      const auto width = static_cast<isize>(bits_.take(of_width));
      const isize plain = width == escape ? static_cast<isize>(bits_.take(5)) : 0;
      for (isize i = std::max(part * (size / parts), order); i < (part + 1) * (size / parts); ++i) {
        if (width == escape) {
          to[as_size(i)] = bits_.take_signed(plain);
          continue;
        }
        const std::int64_t high = bits_.take_unary();
        if (high >> (40 - width) != 0) refuse("a residual that is too large");
        const auto folded = (high << width) | static_cast<std::int64_t>(bits_.take(width));
        to[as_size(i)] = (folded >> 1) ^ -(folded & 1);
      }
    }
  }
  void predict(std::vector<std::int64_t>& to, std::span<const std::int64_t> by, int shift) {
    constexpr std::int64_t most = std::int64_t{1} << 40;
    for (std::size_t i = by.size(); i < to.size(); ++i) {
      std::int64_t sum = 0;
      for (std::size_t k = 0; k < by.size(); ++k) sum += by[k] * to[i - 1 - k];
      to[i] += sum >> shift;
      if (to[i] < -most || to[i] > most) refuse("a prediction that runs away");
    }
  }

  flac_bits bits_;
  sound_limits limits_;
  flac_form form_;
  std::array<std::vector<std::int64_t>, 8> channels_;
};

}  // namespace detail

// Any FLAC file (RFC 9639) becomes one channel, the mean of its own. Each frame's checks are made.
inline void decode_flac(std::span<const std::uint8_t> from, waveform& into, const sound_limits& limits = {}) {
  detail::flac_reader(from, limits).read(into);
}

}  // namespace motet
