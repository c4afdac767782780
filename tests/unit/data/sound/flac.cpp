// SPDX-License-Identifier: Apache-2.0
#include <motet/data/sound/flac.hpp>

#include <motet/format/tensors/convert.hpp>
#include <motet/format/tensors/safetensors.hpp>

#include <fuzz/data_targets.hpp>
#include <fuzz/mutate.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

const safetensors_file& goldens() {
  static const safetensors_file file(MOTET_TEST_DATA "/golden_sounds.safetensors");
  return file;
}
std::string flac(const std::string& name) {
  const auto bytes = goldens().at("flac_" + name).bytes;
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
std::span<const std::uint8_t> bytes_of_flac(const std::string& from) {
  return {reinterpret_cast<const std::uint8_t*>(from.data()), from.size()};
}
std::string refusal(const std::string& bytes, const sound_limits& limits = {}) {
  waveform out;
  try {
    decode_flac(bytes_of_flac(bytes), out, limits);
  } catch (const error& problem) {
    return problem.what();
  }
  return "";
}

}  // namespace

TEST_CASE("files of libFLAC have the numbers that it reads from them") {
  for (const auto& [name, rate] : {std::pair<std::string, motet::isize>{"plain", 16000},
                                   {"stereo", 44100},
                                   {"wide", 48000},
                                   {"loud", 8000},
                                   {"still", 22050},
                                   {"coarse", 16000}}) {
    INFO(name);
    const std::string file = flac(name);
    waveform got;
    decode_flac(bytes_of_flac(file), got);
    CHECK(got.rate == rate);
    const stored_tensor& want = goldens().at("values_" + name);
    std::vector<float> values(static_cast<std::size_t>(want.elements()));
    copy_elements(want, values.data());
    REQUIRE(got.values.size() == values.size());
    for (std::size_t i = 0; i < values.size(); ++i) REQUIRE(std::abs(got.values[i] - values[i]) <= 1e-7f);
  }
}

TEST_CASE("what is wrong is named") {
  const std::string good = flac("plain");
  const auto says = [](const std::string& found, const char* part) {
    INFO(found);
    CHECK(found.find(part) != std::string::npos);
  };
  says(refusal(good.substr(0, good.size() - 1)), "FLAC: it ends after");
  says(refusal(good.substr(0, 20)), "FLAC: it ends after 20 bytes");
  std::string other = good;
  other[4] = 3;
  says(refusal(other), "FLAC: its first block does not say what it is, before byte 8");
  other = good;
  other[other.size() - 30] = static_cast<char>(other[other.size() - 30] ^ 8);
  says(refusal(other), "FLAC: ");
  says(refusal(good, {.values = 1499}), "FLAC: it has 1500 numbers, the limit is 1499");
  says(refusal(flac("loud"), {.channels = 2}), "it has 3 channels, wanted 1 to 2");
}

TEST_CASE("damaged files are refused, and nothing worse") {
  std::vector<std::string> seeds;
  for (const char* name : {"plain", "stereo", "wide", "loud", "still", "coarse"}) seeds.push_back(flac(name));
  motet::isize refused = 0;
  for (std::uint64_t run = 0; run < 2000; ++run) refused += fuzz_sound(mutated(seeds, run)) ? 0 : 1;
  CHECK(refused > 1000);
}
