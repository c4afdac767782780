// SPDX-License-Identifier: Apache-2.0
#include <motet/data/sound/log_mel.hpp>

#include <motet/format/tensors/convert.hpp>
#include <motet/format/tensors/safetensors.hpp>
#include <motet/tensor/random.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace motet;

namespace {

// What tests/goldens/make_sounds.py wrote.
std::vector<float> golden(const std::string& name) {
  static const safetensors_file file(MOTET_TEST_DATA "/golden_sounds.safetensors");
  const stored_tensor& found = file.at(name);
  std::vector<float> out(static_cast<std::size_t>(found.elements()));
  copy_elements(found, out.data());
  return out;
}

}  // namespace

TEST_CASE("a sound is heard as by Whisper's feature extractor, with silence behind it") {
  const std::vector<float> sound = golden("sound");
  for (const motet::isize bins : {80, 128}) {
    const std::vector<float> want = golden("features_" + std::to_string(bins));
    log_mel mel(bins, 40);
    std::vector<float> got(want.size());
    mel.hear(sound, got.data());
    double off = 0;
    for (std::size_t i = 0; i < want.size(); ++i)
      off = std::max(off, std::abs(static_cast<double>(got[i]) - static_cast<double>(want[i])));
    CHECK(off <= 1e-6);
  }
}

TEST_CASE("what lies behind the last frame is not heard, and nothing is heard of nothing") {
  log_mel mel(10, 3);
  std::vector<float> sound = golden("sound"), whole(30), cut(30), none(30, -9.0f);
  mel.hear(sound, whole.data());
  sound.resize(480);
  mel.hear(sound, cut.data());
  CHECK(whole == cut);
  mel.hear({}, none.data());
  CHECK(none == std::vector<float>(30, -1.5f));
}

TEST_CASE("a transform of factors 2, 3 and 5 is the sum that it stands for") {
  constexpr motet::isize size = 30, lanes = 2;
  const detail::fourier<size, lanes> transform;
  detail::fourier<size, lanes>::numbers x{}, room{};
  const random_stream draw(3, "numbers");
  for (std::uint64_t i = 0; i < size; ++i) {
    x.real[i] = {draw.normal(4 * i), draw.normal(4 * i + 1)};
    x.imaginary[i] = {draw.normal(4 * i + 2), draw.normal(4 * i + 3)};
  }
  const auto given = x;
  const auto& made = transform(x, room);
  for (std::size_t k = 0; k < size; ++k)
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      double real = 0, imaginary = 0;
      for (std::size_t n = 0; n < size; ++n) {
        const double angle = -2 * std::numbers::pi * static_cast<double>(k * n) / size;
        real += given.real[n][lane] * std::cos(angle) - given.imaginary[n][lane] * std::sin(angle);
        imaginary += given.real[n][lane] * std::sin(angle) + given.imaginary[n][lane] * std::cos(angle);
      }
      CHECK(made.real[k][lane] == doctest::Approx(real));
      CHECK(made.imaginary[k][lane] == doctest::Approx(imaginary));
    }
}
