// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/layers/sound_embedding.hpp>

#include "layer_laws.hpp"
#include "refused_configs.hpp"

#include <cmath>

using namespace motet;

constexpr refused<frame_config> wrong[] = {
    {{.bins = 0, .width = 8}, reason::not_positive, 0, 1},
    {{}, reason::not_positive, 0, 1},
    {{.frames = -2, .width = 8}, reason::not_positive, -2, 1},
    {{.width = 7}, reason::time_width, 7, 8},
    {{.width = 2}, reason::time_width, 2, 4},
};
static_assert(are_refused(wrong));
static_assert(check(frame_config{.width = 4}).ok());
static_assert(frame_config{.frames = 3000}.rows() == 1500);
static_assert(frame_config{.frames = 5}.rows() == 3 && frame_config{.frames = 1}.rows() == 1);

TEST_CASE("frames that cannot become rows") { check_refused(wrong); }

namespace {

// A convolution of width 3 with a zero at either end, then GELU: x is (frames, in), weights (out, in, 3).
std::vector<double> convolved(const std::vector<double>& x, motet::isize in, const double* weight,
                              const double* bias, motet::isize out, motet::isize stride) {
  const motet::isize frames = static_cast<motet::isize>(x.size()) / in;
  std::vector<double> y;
  for (motet::isize t = 0; t < frames; t += stride)
    for (motet::isize o = 0; o < out; ++o) {
      double sum = bias[o];
      for (motet::isize c = 0; c < in; ++c)
        for (motet::isize k = 0; k < 3; ++k)
          if (const motet::isize at = t + k - 1; at >= 0 && at < frames)
            sum += weight[(o * in + c) * 3 + k] * x[static_cast<std::size_t>(at * in + c)];
      y.push_back(0.5 * sum * (1 + std::erf(sum / std::sqrt(2.0))));
    }
  return y;
}

template <frame_config Config>
void check_sounds() {
  for (const motet::isize samples : {0, 1, 3}) {
    const laws::sound_batch batch(samples, Config);
    laws::check_laws(laws::embedding_subject<sound_embedding<Config>>{batch.input});
  }
}

}  // namespace

TEST_CASE("two convolutions along time and the positions of Whisper") {
  constexpr frame_config of{.bins = 3, .frames = 5, .width = 6};
  using embed = sound_embedding<of>;
  const laws::sound_batch batch(2, of);
  const laws::reals w = laws::random_weights(layer::parameters_of<embed>(), embed::parameter_size),
                    none(w.size(), 0.0), dy(2 * 3 * 6, 0.0);
  const laws::outcome got =
      laws::evaluate<fp64>(laws::embedding_subject<embed>{batch.input}, laws::way::infer, 2, w, {}, dy, none);
  for (std::size_t s = 0; s < 2; ++s) {
    const std::vector<double> x(batch.features.begin() + static_cast<std::ptrdiff_t>(s * 15),
                                batch.features.begin() + static_cast<std::ptrdiff_t>(s * 15 + 15));
    const double* const second = w.data() + embed::second_at;
    const std::vector<double> frames = convolved(x, 3, w.data(), embed::first::bias(w.data()), 6, 1);
    std::vector<double> want = convolved(frames, 6, second, embed::second::bias(second), 6, 2);
    REQUIRE_EQ(want.size(), 18);
    for (std::size_t t = 0; t < 3; ++t)
      for (std::size_t i = 0; i < 3; ++i) {
        const float speeds[] = {1.0f, 0.01f, 0.0001f};  // angles are numbers of single precision
        const auto angle = static_cast<double>(static_cast<float>(t) * speeds[i]);
        want[t * 6 + i] += std::sin(angle);
        want[t * 6 + 3 + i] += std::cos(angle);
      }
    for (std::size_t i = 0; i < 18; ++i) CHECK(got.y[s * 18 + i] == doctest::Approx(want[i]).epsilon(1e-8));
  }
}

TEST_CASE("an even and an odd number of frames, one alone") {
  check_sounds<frame_config{.bins = 3, .frames = 5, .width = 6}>();
  check_sounds<frame_config{.bins = 2, .frames = 4, .width = 4}>();
  check_sounds<frame_config{.bins = 5, .frames = 1, .width = 4}>();
}
