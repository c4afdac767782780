// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/device.hpp>
#include <motet/backend/cpu/operations.hpp>
#include <motet/nn/towers/drawer.hpp>
#include <motet/runtime/messages.hpp>
#include <motet/runtime/stage/drawn_inputs.hpp>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace motet {

// How pictures are painted.
struct painting {
  std::uint64_t seed = 0;
  isize steps = 50;  // from noise to picture
  float guidance =
      1;  // how far a step goes from what the net says without the class (0) to with it (1), or beyond
};

inline void check_painting(const painting& how) {
  if (how.steps < 1) fail(bad_painting, sentence({"steps ", how.steps}));
  if (!std::isfinite(how.guidance)) fail(bad_painting, sentence({"guidance ", how.guidance}));
}

// Paints pictures with what a drawer learned, on the processors of this process: each begins as noise, and
// goes the way that the net says, back to a picture, in equal steps (Euler's). Picture p depends on the seed,
// on p and on its class alone.
// Asks for: the flat weights of the net, as trainer::weights() gives them, which stay where they are and may
// change between calls; classes below `classes`, or negative ones for any picture.
// Memory: temporaries of as many pictures as are painted at once, twice as many where classes guide.
// Errors: MT-R15, MT-R39
// Example:
//   constexpr drawer_config little{.image = 16, .patch = 4, .channels = 3, .width = 64, .layers = 2, .heads = 2,
//                                  .classes = 10};
//   std::vector<float> two(cpu::device& device, const float* weights) {
//     return painter<drawer<little>>(device, weights).paint(std::vector{3, 7}, {.seed = 1, .guidance = 2});
//   }
template <class Net, class Numbers = fp32>
class painter {
 public:
  using master = typename Numbers::master;
  static constexpr drawer_config of = Net::config;
  static constexpr isize pixels = of.channels * of.image * of.image;  // of a picture

  painter(cpu::device& device, const master* weights) : device_(device), weights_(weights) {}

  // A picture of each class: (pictures, channels, side, side), on the scale of those that were learned.
  std::vector<float> paint(std::span<const std::int32_t> classes, const painting& how = {}) {
    check_painting(how);
    const auto count = static_cast<isize>(classes.size());
    begin(classes, how);
    const auto steps = static_cast<float>(how.steps);
    for (isize k = 0; k < how.steps && count > 0; ++k) {
      ask(1 - static_cast<float>(k) / steps);
      for (isize p = 0; p < count; ++p) go_back(p, how.guidance, 1 / steps);
      if (guided_) std::copy_n(now_.begin(), count * pixels, now_.begin() + count * pixels);
    }
    return {now_.begin(), now_.begin() + count * pixels};
  }

 private:
  using net = typename Net::velocity;
  static constexpr isize patches = of.noised().patches(), numbers = net::embedding;

  // Where classes guide, each picture is there again without one.
  void begin(std::span<const std::int32_t> classes, const painting& how) {
    count_ = static_cast<isize>(classes.size());
    guided_ = how.guidance != 1;
    const isize all = guided_ ? 2 * count_ : count_;
    classes_.assign(classes.begin(), classes.end());
    classes_.resize(as_size(all), -1);
    times_.resize(as_size(all));
    now_.resize(as_size(all * pixels));
    said_.resize(as_size(all * patches * numbers));
    const random_stream noise(how.seed, "painting");
    for (isize i = 0; i < all * pixels; ++i)
      now_[as_size(i)] = static_cast<float>(noise.normal(static_cast<std::uint64_t>(i % (count_ * pixels))));
    if (const std::string what = input_traits<Net>::unknown({{nullptr, count_}, classes_.data()});
        !what.empty())
      fail(unknown_token, what);
  }
  // Fills said_: the way to noise of all numbers, from where they are at this time.
  void ask(float time) {
    std::fill(times_.begin(), times_.end(), time);
    const drawn_pictures batch{
        {now_.data(), static_cast<isize>(times_.size())}, classes_.data(), {.times = times_.data()}};
    const auto run = [&](cpu::context& ctx) {
      net::infer(ctx, motet::weights<Numbers>{weights_}, batch,
                 view<master, numbers>(said_.data(), batch.samples * patches));
    };
    device_.prepare(device_.dry_run(run));
    device_.run(run, {0, 0, 0, false});
  }
  void go_back(isize picture, float guidance, float by) {
    constexpr isize across = of.image / of.patch;
    const master *const with = said_.data() + picture * patches * numbers, *const without =
                                                                               with +
                                                                               (guided_ ? count_ * patches *
                                                                                              numbers
                                                                                        : 0);
    float* const to = now_.data() + picture * pixels;
    for (isize i = 0; i < patches * numbers; ++i) {
      // Number i of a picture's patches, (down, right, channel, y, x).
      const isize patch = i / numbers, channel = i % numbers / (of.patch * of.patch),
                  y = patch / across * of.patch + i / of.patch % of.patch,
                  x = patch % across * of.patch + i % of.patch;
      const auto any = static_cast<float>(without[i]), own = static_cast<float>(with[i]);
      to[(channel * of.image + y) * of.image + x] -= by * (any + guidance * (own - any));
    }
  }

  cpu::device& device_;
  const master* weights_;
  isize count_ = 0;
  bool guided_ = false;
  std::vector<std::int32_t> classes_;
  std::vector<float> times_, now_;  // now_: (pictures, channels, side, side)
  std::vector<master> said_;        // (pictures x patches, numbers of a patch)
};

}  // namespace motet
