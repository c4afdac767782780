// SPDX-License-Identifier: Apache-2.0
#include <motet/tools/report/event_file.hpp>

#include <motet/format/files/file.hpp>

#include <unit/format/scratch.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

using namespace motet;

namespace {
// Reads what a file of records holds, as TensorBoard does: step, name, number.
struct told {
  std::int64_t step;
  std::string name;
  float value;
};
std::uint64_t varint(std::string_view text, std::size_t& at) {
  std::uint64_t out = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(text.at(at++));
    out |= std::uint64_t{byte & 127u} << shift;
    if (byte < 128) return out;
  }
}
template <class Number>
Number number(std::string_view text, std::size_t& at) {
  Number out;
  REQUIRE(at + sizeof out <= text.size());
  std::memcpy(&out, text.data() + at, sizeof out);
  at += sizeof out;
  return out;
}
std::string_view inner(std::string_view text, std::size_t& at) {
  const std::size_t size = varint(text, at);
  const std::string_view out = text.substr(at, size);
  at += size;
  return out;
}
std::vector<told> read_events(std::string_view file) {
  std::vector<told> out;
  for (std::size_t at = 0; at < file.size();) {
    const std::string_view length = file.substr(at, 8);
    const auto size = number<std::uint64_t>(file, at);
    CHECK(number<std::uint32_t>(file, at) == event_file::masked_crc(length));
    const std::string_view data = file.substr(at, size);
    at += size;
    CHECK(number<std::uint32_t>(file, at) == event_file::masked_crc(data));
    told made{-1, "", 0};
    for (std::size_t in = 0; in < data.size();) {
      const std::uint64_t key = varint(data, in);
      if (key == (1 << 3 | 1)) CHECK(number<double>(data, in) > 1.7e9);
      else if (key == 2 << 3) made.step = static_cast<std::int64_t>(varint(data, in));
      else if (key == (3 << 3 | 2)) CHECK(inner(data, in) == "brain.Event:2");
      else if (key == (7 << 3 | 2)) CHECK(inner(data, in) == "\x08\x01");  // a session starts
      else {
        REQUIRE(key == (5 << 3 | 2));
        std::size_t to = 0, of = 0;
        const std::string_view summary = inner(data, in);
        REQUIRE(varint(summary, to) == (1 << 3 | 2));
        const std::string_view value = inner(summary, to);
        REQUIRE(varint(value, of) == (1 << 3 | 2));
        made.name = inner(value, of);
        REQUIRE(varint(value, of) == (2 << 3 | 5));
        made.value = number<float>(value, of);
      }
    }
    if (!made.name.empty()) out.push_back(made);
  }
  return out;
}
}  // namespace

TEST_CASE("what TensorBoard reads") {
  // The example of RFC 3720 (32 bytes of zeros) is 0x8a9136aa before it is masked.
  const std::uint32_t crc = 0x8a9136aau;
  CHECK(event_file::masked_crc(std::string(32, '\0')) == (crc >> 15 | crc << 17) + 0xa282ead8u);
  const scratch folder;
  event_file out(folder / "runs" / "a");
  for (int step : {1, 200, 70000}) {
    json both{{"step", step}, {"loss", step / 8.0}};
    both.set("note", "no number");
    both.set("rate", 3);
    out.write(both);
  }
  out.write(json{{"loss", 1.0}});  // has no step
  const auto names = folder.names("runs/a");
  REQUIRE(names.size() == 1);
  CHECK(names.begin()->starts_with("events.out.tfevents."));
  const mapped_file file(folder / "runs" / "a" / *names.begin());
  const std::vector<told> all = read_events(file.text());
  REQUIRE(all.size() == 6);
  CHECK(all[2].step == 200);
  CHECK(all[2].name == "loss");
  CHECK(all[2].value == 25.0f);
  CHECK(all[5].name == "rate");
  CHECK(all[5].step == 70000);
  event_file().write(json{{"step", 1}});  // nowhere
}
