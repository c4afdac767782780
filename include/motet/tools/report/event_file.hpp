// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/text/json.hpp>
#include <motet/tools/report/side_log.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <unistd.h>

namespace motet {

// TensorBoard reads a file of records, each with a step and one number.
class event_file {
 public:
  event_file() = default;  // writes nothing
  // The file is in this folder, beside those of other runs and of the same one before it was resumed, whose
  // numbers from step `first` on it replaces.
  explicit event_file(const std::filesystem::path& folder, std::int64_t first = 1)
      : log_(folder / sentence({"events.out.tfevents.", static_cast<std::int64_t>(now()), ".motet.",
                                static_cast<std::int64_t>(::getpid())})) {
    std::string version, start, session;
    real(version, 1, now());
    text(version, 3, "brain.Event:2");
    whole(session, 1, 1);  // START
    real(start, 1, now());
    whole(start, 2, static_cast<std::uint64_t>(first));
    text(start, 7, session);
    log_.write(record(version) + record(start));
  }

  // Every number of a line that has a step, by its name.
  void write(const json& line) {
    const json* const step = line.find("step");
    if (log_.path().empty() || step == nullptr || !step->is_integer()) return;
    std::string out;
    for (const json::member each : line.members()) {
      if (each.name == "step" || !each.value.is_number()) continue;
      std::string value, summary, event;
      text(value, 1, each.name);
      single(value, 2, static_cast<float>(each.value.number()));
      text(summary, 1, value);
      real(event, 1, now());
      whole(event, 2, static_cast<std::uint64_t>(step->integer()));
      text(event, 5, summary);
      out += record(event);
    }
    log_.write(out);
  }

  // CRC-32C (Castagnoli), as TFRecord stores it: turned and with a constant added.
  static std::uint32_t masked_crc(std::string_view bytes) {
    static constexpr auto table = [] {
      std::array<std::uint32_t, 256> out{};
      for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t rest = byte;
        for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ (0x82f63b78u & (0u - (rest & 1u)));
        out[byte] = rest;
      }
      return out;
    }();
    std::uint32_t sum = ~0u;
    for (const char c : bytes) sum = sum >> 8 ^ table[(sum ^ static_cast<unsigned char>(c)) & 255u];
    sum = ~sum;
    return (sum >> 15 | sum << 17) + 0xa282ead8u;
  }

 private:
  static double now() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  }
  template <class Number>
  static std::string bytes_of(Number value) {
    std::string out(sizeof value, '\0');
    std::memcpy(out.data(), &value, sizeof value);
    return out;
  }
  // Fields of a protocol buffer: a key of number and wire type, then the value.
  static void varint(std::string& to, std::uint64_t value) {
    for (; value >= 128; value >>= 7) to += static_cast<char>(value | 128);
    to += static_cast<char>(value);
  }
  static void whole(std::string& to, std::uint64_t field, std::uint64_t value) {
    varint(to, field << 3), varint(to, value);
  }
  static void real(std::string& to, std::uint64_t field, double value) {
    varint(to, field << 3 | 1), to += bytes_of(value);
  }
  static void single(std::string& to, std::uint64_t field, float value) {
    varint(to, field << 3 | 5), to += bytes_of(value);
  }
  static void text(std::string& to, std::uint64_t field, std::string_view value) {
    varint(to, field << 3 | 2), varint(to, value.size()), to += value;
  }
  static std::string record(const std::string& data) {
    const std::string length = bytes_of(static_cast<std::uint64_t>(data.size()));
    return length + bytes_of(masked_crc(length)) + data + bytes_of(masked_crc(data));
  }

  side_log log_;
};

}  // namespace motet
