// SPDX-License-Identifier: Apache-2.0
#include <motet/data/sound/wav.hpp>

#include <fuzz/data_targets.hpp>
#include <fuzz/mutate.hpp>
#include <unit/data/sound/written_wav.hpp>

#include <doctest/doctest.h>

#include <limits>

using namespace motet;

namespace {

waveform read(const std::string& bytes) {
  waveform out;
  decode_wav(bytes_of_sound(bytes), out);
  return out;
}
std::string refusal(const std::string& bytes) {
  try {
    read(bytes);
  } catch (const error& problem) {
    return problem.what();
  }
  return "";
}

}  // namespace

TEST_CASE("whole and real numbers of every width, plain and extensible") {
  const std::vector<double> values{0, 0.5, -0.5, 0.25, -1, 0.125};
  for (const bool extensible : {false, true})
    for (const auto& [real, bits] :
         {std::pair{false, 8}, {false, 16}, {false, 24}, {false, 32}, {true, 32}, {true, 64}}) {
      const waveform got = read(written_wav(values, {.bits = bits, .real = real, .extensible = extensible}));
      CHECK(got.rate == 16000);
      REQUIRE(got.values.size() == values.size());
      for (std::size_t i = 0; i < values.size(); ++i) CHECK(got.values[i] == static_cast<float>(values[i]));
    }
}

TEST_CASE("channels become their mean, other chunks are passed over, an open length ends with the file") {
  const waveform got =
      read(written_wav({0.5, 0, -0.5, -1}, {.bits = 16, .channels = 2, .rate = 44100, .before = 3}));
  CHECK(got.rate == 44100);
  CHECK(got.values == std::vector<float>{0.25f, -0.75f});
  std::string open = written_wav({0.5, 0.25}, {.bits = 16});
  open.replace(40, 4, "\xff\xff\xff\xff", 4);
  CHECK(read(open).values == std::vector<float>{0.5f, 0.25f});
}

TEST_CASE("what is wrong is named") {
  const std::string good = written_wav({0.5, 0.25}, {.bits = 16});
  const auto changed = [&](std::size_t at, std::initializer_list<char> to) {
    std::string out = good;
    std::copy(to.begin(), to.end(), out.begin() + static_cast<std::ptrdiff_t>(at));
    return refusal(out);
  };
  const auto says = [](const std::string& found, const char* part) {
    INFO(found);
    CHECK(found.find(part) != std::string::npos);
  };
  says(changed(8, {'J'}), "WAV: it begins like none");
  says(changed(16, {12}), "WAV: its form has 12 bytes, wanted 16 or more");
  says(changed(20, {6}),
       "WAV: numbers of kind 6 and 16 bits; read are PCM (1) of 8, 16, 24 and 32, and floats");
  says(changed(32, {3}), "WAV: 3 bytes for all channels at once, wanted 2");
  says(changed(24, {1, 0}), "it has 1 numbers a second, wanted 1000 to 384000");
  says(changed(22, {0}), "WAV: 2 bytes for all channels at once, wanted 0");
  says(changed(40, {3}), "WAV: 3 bytes are not whole numbers of 1 channels of 2 bytes");
  says(changed(12, {'F'}), "WAV: its numbers come before what they are");
  says(refusal(good.substr(0, 46)), "WAV: it ends after 2 of 4 bytes of a chunk");
  says(refusal(good.substr(0, 36)), "WAV: it ends before its numbers");
  says(refusal(good.substr(0, 12)), "WAV: it ends before its form");
  says(refusal(written_wav({std::numeric_limits<double>::quiet_NaN()}, {.bits = 64, .real = true})),
       "WAV: number 0 is not finite");
  std::string other = written_wav({0.5}, {.bits = 16, .extensible = true});
  other[50] = 'x';
  says(refusal(other), "WAV: its extensible form names no kind of numbers");
  waveform out;
  try {
    decode_wav(bytes_of_sound(good), out, {.values = 1});
    FAIL("it is too long");
  } catch (const error& problem) {
    says(problem.what(), "WAV: it has 2 numbers, the limit is 1");
  }
}

TEST_CASE("damaged files are refused, and nothing worse") {
  const std::vector<std::string> seeds{
      written_wav({0.5, 0, -0.5, -1}, {.bits = 16, .channels = 2}),
      written_wav({0.5, 0.25}, {.bits = 64, .real = true, .extensible = true, .before = 1})};
  motet::isize refused = 0;
  for (std::uint64_t run = 0; run < 3000; ++run) refused += fuzz_sound(mutated(seeds, run)) ? 0 : 1;
  CHECK(refused > 300);
  for (std::size_t end = 0; end < seeds[0].size(); ++end) CHECK_FALSE(fuzz_sound(seeds[0].substr(0, end)));
}

TEST_CASE("what is written is read again, to half a step of 16 bits") {
  const waveform sent{22050, {0, 0.25f, -1, 1, 1.5f, -2, 0.1f}}, got = read(encode_wav(sent));
  CHECK(got.rate == 22050);
  REQUIRE(got.values.size() == sent.values.size());
  for (std::size_t i = 0; i < sent.values.size(); ++i)
    CHECK(std::abs(got.values[i] - std::clamp(sent.values[i], -1.0f, 32767 / 32768.0f)) <= 0.5f / 32768);
  CHECK(encode_wav({16000, {0.5, -0.5}}) == written_wav({0.5, -0.5}));
}
