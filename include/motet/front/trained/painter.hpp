// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/device.hpp>
#include <motet/backend/cpu/operations.hpp>
#include <motet/nn/towers/fed_drawer.hpp>
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
// on p and on its class alone, or, where rows of another module feed the drawer, on the rows of its sample.
// Asks for: the flat weights of the net, as trainer::weights() gives them, which stay where they are and may
// change between calls; classes below `classes`, or negative ones for any picture; or rows as wide as the
// drawer takes them.
// Memory: temporaries of as many pictures as are painted at once, twice as many where classes or rows guide.
// Errors: MT-R03, MT-R15, MT-R39
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

  using stream = typename Numbers::stream;
  static constexpr bool hears = requires { Net::takes_rows; };

  painter(cpu::device& device, const master* weights) : device_(device), weights_(weights) {}

  // A picture of each class: (pictures, channels, side, side), on the scale of those that were learned.
  std::vector<float> paint(std::span<const std::int32_t> classes, const painting& how = {})
    requires(!hears)
  {
    begin(classes, how);
    return go(how);
  }
  // A picture of each sample, which has rows [offsets[p], offsets[p + 1]) of another module; of one without
  // any, some picture.
  std::vector<float> paint(std::span<const stream> rows, std::span<const isize> offsets,
                           const painting& how = {})
    requires(hears)
  {
    const isize count = std::max<isize>(1, static_cast<isize>(offsets.size())) - 1;
    for (isize p = 0; p < count; ++p)
      if (const isize own = offsets[as_size(p + 1)] - offsets[as_size(p)]; own > Net::most_rows)
        fail(step_too_large,
             sentence({"sample ", p, " brings ", own, " rows, the net hears ", Net::most_rows}));
    rows_ = rows.data();
    offsets_.assign(offsets.begin(), offsets.end());
    begin(std::vector<std::int32_t>(as_size(count), -1), how);
    // Those without rows hear nothing.
    offsets_.resize(times_.size() + 1, offsets_.empty() ? 0 : offsets_.back());
    return go(how);
  }

 private:
  using net = typename Net::velocity;
  static constexpr isize patches = of.noised().patches(), numbers = net::embedding;

  // All steps, from noise to pictures.
  std::vector<float> go(const painting& how) {
    const auto steps = static_cast<float>(how.steps);
    for (isize k = 0; k < how.steps && count_ > 0; ++k) {
      ask(1 - static_cast<float>(k) / steps);
      for (isize p = 0; p < count_; ++p) go_back(p, how.guidance, 1 / steps);
      if (guided_) std::copy_n(now_.begin(), count_ * pixels, now_.begin() + count_ * pixels);
    }
    return {now_.begin(), now_.begin() + count_ * pixels};
  }
  // Where classes or rows guide, each picture is there again without any.
  void begin(std::span<const std::int32_t> classes, const painting& how) {
    check_painting(how);
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
    const typename net::input told = as_told(batch);
    const auto run = [&](cpu::context& ctx) {
      net::infer(ctx, motet::weights<Numbers>{weights_}, told,
                 view<master, numbers>(said_.data(), batch.samples * patches));
    };
    device_.prepare(device_.dry_run(run));
    device_.run(run, {0, 0, 0, false});
  }
  typename net::input as_told(const drawn_pictures& batch) const {
    if constexpr (hears) return {batch, offsets_.data(), {.rows = rows_}};
    else return batch;
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
  const stream* rows_ = nullptr;
  std::vector<isize> offsets_;  // of rows_, which are whose
  std::vector<std::int32_t> classes_;
  std::vector<float> times_, now_;  // now_: (pictures, channels, side, side)
  std::vector<master> said_;        // (pictures x patches, numbers of a patch)
};

}  // namespace motet
