// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/file.hpp>

#include <algorithm>
#include <array>
#include <limits>

namespace motet {

struct tar_member {
  std::string name;
  isize offset = 0;  // of its bytes in the shard
  isize size = 0;
  bool link = false;  // to another member or file: it has no bytes of its own
};

// A tar in memory; the same two functions as input_file has.
struct memory_file {
  std::string_view bytes;
  isize size() const { return static_cast<isize>(bytes.size()); }
  isize read(isize offset, std::span<std::uint8_t> into) const {
    if (offset < 0 || offset >= size()) return 0;
    return static_cast<isize>(bytes.copy(reinterpret_cast<char*>(into.data()), into.size(), as_size(offset)));
  }
};

// Walks over the regular files and links of a tar: ustar, pax (path, size) and GNU long names. It reads
// headers only. Nothing in the file can make it fail: what is damaged goes to `damage`, and the walk goes on
// at the next header that holds its own checksum.
// Asks for: a source with size() and read(offset, into), such as an input_file.
// Memory: one header, and the first few sentences on damage.
// Errors: none of its own.
// Example:
//   std::ptrdiff_t bytes_in(const memory_file& shard) {
//     tar_reader<memory_file> reader(shard);
//     std::ptrdiff_t sum = 0;
//     for (tar_member each; reader.next(each);) sum += each.size;
//     return sum;
//   }
template <class Source>
class tar_reader {
 public:
  explicit tar_reader(const Source& source) : source_(source) {}

  // The result is false at the end.
  bool next(tar_member& found) {
    long_name_.clear();
    long_size_ = -1;
    while (true) {
      if (at_ >= source_.size())
        return finish(source_.size() == 0 ? "is empty" : "ends without the closing blocks");
      if (!load(at_)) return finish("ends inside a header");
      if (empty_block()) {
        if (!load(at_ + 512) || empty_block()) return false;
        at_ += 512;  // a lone empty block closes nothing
        continue;
      }
      isize size = 0;
      if (!valid_header(size)) {
        if (!recover("has a damaged header")) return false;
        continue;
      }
      const char kind = block_[156];
      const bool file = kind == '0' || kind == '\0' || kind == '7';
      if (file && long_size_ >= 0) size = long_size_;
      // Links, devices and folders have no bytes, whatever their size field says.
      if (kind >= '1' && kind <= '6') size = 0;
      if (size > source_.size() - at_ - 512) {
        if (!recover(sentence({"has a member of ", size, " bytes that goes beyond the end"}))) return false;
        continue;
      }
      const isize body = at_ + 512;
      at_ = body + round_up(size, 512);
      const bool link = kind == '1' || kind == '2';
      if (file || link) {
        found.name = long_name_.empty() ? short_name() : long_name_;
        found.offset = body;
        found.size = size;
        found.link = link;
        // else a folder of the oldest format
        if (found.name.empty() || found.name.back() != '/') return true;
      }
      if (kind == 'x' || kind == 'L') {
        extend(kind, body, size);
      } else if (kind != 'K' && kind != 'g') {
        // Extensions belong to the one member behind them.
        long_name_.clear();
        long_size_ = -1;
      }
    }
  }

  // The first few pieces of damage are told, each in a sentence; the rest is counted.
  const std::vector<std::string>& damage() const { return damage_; }
  isize damage_count() const { return damage_count_; }

 private:
  static constexpr isize window_bytes = isize{1} << 16, longest_extension = isize{1} << 20;

  bool finish(const std::string& why) {
    report(why);
    at_ = source_.size();
    return false;
  }
  void report(const std::string& why) {
    if (++damage_count_ <= 8) damage_.push_back(sentence({why, " at byte ", at_}));
  }

  bool load(isize offset) {
    if (offset < 0 || offset > source_.size() - 512) return false;
    if (offset < window_at_ || offset + 512 > window_at_ + static_cast<isize>(window_.size())) {
      window_.resize(as_size(std::min(window_bytes, source_.size() - offset)));
      window_.resize(as_size(source_.read(offset, window_)));
      window_at_ = offset;
      if (window_.size() < 512) return false;
    }
    std::memcpy(block_.data(), window_.data() + (offset - window_at_), 512);
    return true;
  }
  bool empty_block() const {
    return std::all_of(block_.begin(), block_.end(), [](char c) { return c == '\0'; });
  }
  std::string_view field(std::size_t from, std::size_t length) const {
    const std::string_view all(block_.data() + from, length);
    return all.substr(0, all.find('\0'));
  }
  std::string short_name() const {
    const bool posix = std::memcmp(block_.data() + 257, "ustar\0", 6) == 0;
    const std::string_view prefix = posix ? field(345, 155) : std::string_view{};
    return prefix.empty() ? std::string(field(0, 100))
                          : std::string(prefix) + "/" + std::string(field(0, 100));
  }

  // Octal digits, or 63 bits in base 256; -1 for anything else, negative numbers included.
  isize number(std::size_t from, std::size_t length) const {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(block_[from + i]); };
    if (byte(0) & 0x80) {
      std::uint64_t value = byte(0) & 0x7f;
      for (std::size_t i = 1; i < length; ++i) {
        if (value >> 55) return -1;
        value = (value << 8) | byte(i);
      }
      return static_cast<isize>(value);
    }
    std::size_t i = 0;
    while (i < length && byte(i) == ' ') ++i;
    isize value = 0;
    for (; i < length && byte(i) >= '0' && byte(i) <= '7'; ++i) value = value * 8 + (byte(i) - '0');
    return i == length || byte(i) == ' ' || byte(i) == '\0' ? value : -1;
  }
  bool valid_header(isize& size) const {
    isize sum = 0, signed_sum = 0;  // some old programs added signed characters
    for (std::size_t i = 0; i < 512; ++i) {
      const char c = i >= 148 && i < 156 ? ' ' : block_[i];
      sum += static_cast<unsigned char>(c);
      signed_sum += static_cast<signed char>(c);
    }
    const isize stored = number(148, 8);
    size = number(124, 12);
    return size >= 0 && (stored == sum || stored == signed_sum);
  }
  // The walk goes to the next header behind the damage.
  bool recover(const std::string& why) {
    report(why);
    long_name_.clear();
    long_size_ = -1;
    isize size = 0;
    for (at_ += 512; load(at_); at_ += 512) {
      if (std::memcmp(block_.data() + 257, "ustar", 5) == 0 && valid_header(size)) return true;
    }
    at_ = source_.size();
    return false;
  }

  void extend(char kind, isize body, isize size) {
    if (size > longest_extension) return report(sentence({"has an extended header of ", size, " bytes"}));
    std::string text(as_size(size), '\0');
    if (source_.read(body, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()}) != size)
      return report("ends inside an extended header");
    if (kind == 'L') {
      long_name_ = text.substr(0, text.find('\0'));
      return;
    }
    // Records "length key=value\n".
    std::string_view rest = text;
    while (!rest.empty() && rest[0] != '\0') {
      std::size_t length = 0, digits = 0;
      while (digits < rest.size() && digits < 8 && rest[digits] >= '0' && rest[digits] <= '9')
        length = length * 10 + as_size(rest[digits++] - '0');
      if (digits == 0 || digits >= rest.size() || rest[digits] != ' ' || length <= digits + 1 ||
          length > rest.size() || rest[length - 1] != '\n')
        return report("has a damaged extended header");
      const std::string_view record = rest.substr(digits + 1, length - digits - 2);
      rest.remove_prefix(length);
      const std::size_t equals = record.find('=');
      if (equals == std::string_view::npos) return report("has a damaged extended header");
      const std::string_view key = record.substr(0, equals), value = record.substr(equals + 1);
      if (key == "path") long_name_ = value;
      if (key == "size") {
        long_size_ = 0;
        for (const char c : value) {
          if (c < '0' || c > '9' || long_size_ > std::numeric_limits<isize>::max() / 10 - 10) {
            long_size_ = -1;
            return report("has a damaged size in an extended header");
          }
          long_size_ = long_size_ * 10 + (c - '0');
        }
      }
    }
  }

  const Source& source_;
  isize at_ = 0;
  std::array<char, 512> block_{};
  std::vector<std::uint8_t> window_;
  isize window_at_ = 0;
  std::string long_name_;
  isize long_size_ = -1;
  std::vector<std::string> damage_;
  isize damage_count_ = 0;
};

}  // namespace motet
