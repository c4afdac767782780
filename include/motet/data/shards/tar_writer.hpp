// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/files/atomic_file.hpp>

#include <array>
#include <cstring>
#include <string>
#include <string_view>

namespace motet {

// Writes ustar, with a pax header in front of members whose name or size does not fit. No dates, no owners:
// equal members make equal files. The file appears with `commit`, complete; without it, nothing is left.
// Asks for: a folder that can be written, and members one after the other.
// Memory: some megabytes that are not written yet, and the largest member.
// Errors: MT-F05, MT-F06
// Example:
//   void write_pair(const std::string& path, std::string_view png) {
//     tar_writer shard(path);
//     shard.add("000000.png", png);
//     shard.add("000000.txt", "a red circle");
//     shard.finish();
//     shard.commit();
//   }
class tar_writer {
 public:
  explicit tar_writer(const std::string& path) : file_(path) { pending_.reserve(chunk + 4096); }

  void add(std::string_view name, std::string_view bytes) {
    if (name.size() > 100 || bytes.size() > largest_octal) {
      std::string records = record("path", name);
      if (bytes.size() > largest_octal) records += record("size", std::to_string(bytes.size()));
      put_member("PaxHeaders/member", 'x', records);
    }
    put_member(name.substr(0, 100), '0', bytes);
  }
  // Writes the end; afterwards only `commit` is left to do.
  void finish() {
    put(std::string(1024, '\0'));
    flush();
  }
  void commit() { file_.commit(); }

 private:
  static constexpr std::size_t chunk = std::size_t{1} << 20;
  static constexpr std::size_t largest_octal = 0x1ffffffff;  // 11 octal digits

  // "length key=value\n", where length counts itself.
  static std::string record(std::string_view key, std::string_view value) {
    const std::size_t rest = key.size() + value.size() + 3;
    std::size_t length = rest + std::to_string(rest).size();
    if (rest + std::to_string(length).size() != length) ++length;
    return sentence({length, " ", key, "=", value, "\n"});
  }
  void put_member(std::string_view name, char kind, std::string_view bytes) {
    std::array<char, 512> header{};
    name.copy(header.data(), 100);
    const auto octal = [&](std::size_t at, std::size_t digits, std::size_t value) {
      for (std::size_t i = digits; i-- > 0; value /= 8) header[at + i] = static_cast<char>('0' + value % 8);
    };
    octal(100, 7, 0644);
    octal(108, 7, 0);
    octal(116, 7, 0);
    octal(124, 11, bytes.size() > largest_octal ? 0 : bytes.size());
    octal(136, 11, 0);
    header[156] = kind;
    std::memcpy(header.data() + 257,
                "ustar\0"
                "00",
                8);
    std::memset(header.data() + 148, ' ', 8);
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    octal(148, 6, sum);
    put({header.data(), header.size()});
    put(bytes);
    const std::size_t tail = bytes.size() % 512;
    if (tail != 0) put(std::string(512 - tail, '\0'));
  }

  void put(std::string_view bytes) {
    pending_.append(bytes);
    if (pending_.size() >= chunk) flush();
  }
  void flush() {
    file_.write(std::string_view(pending_));
    pending_.clear();
  }

  atomic_file file_;
  std::string pending_;
};

}  // namespace motet
