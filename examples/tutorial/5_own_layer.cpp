// SPDX-License-Identifier: Apache-2.0
// A layer of one's own in a tower of one's own: a transformer that reads a picture line by line.
#include <motet/front/trainer.hpp>

#include <cstdio>

using namespace motet;

// Each line of each colour is a row, which one product makes as wide as the tower.
template <motet::isize Side, motet::isize Width>
struct lines {
  using input = pictures;
  using project = linear<Side, Width>;
  static constexpr motet::isize out = Width, each = 3 * Side, parameter_size = project::parameter_size;

  static void parameters(parameter_list& list) { list.child<project>("line"); }
  static sequences rows(const input& batch) { return {batch.samples, each, nullptr}; }
  static matrix<const float> read(const input& batch) {
    return {batch.pixels, batch.samples * each, Side, Side};  // (rows, side)
  }
  template <class N>
  struct saved {};  // backward reads the pictures again, which the caller keeps
  template <class N, class C>
  static void reserve(C&, const sequences&, saved<N>&) {}
  template <class C, class N, class Y>
  static void forward(C& ctx, weights<N> w, const input& batch, view<Y, Width> y, saved<N>&) {
    linear_forward(ctx, rows(batch), read(batch), project::weight(w.data), project::bias(w.data), y);
  }
  template <class C, class N, class DY>  // nobody wants the gradient of pictures
  static void backward_input(C&, weights<N>, const input&, view<DY, Width>, saved<N>&) {}
  template <class C, class N, class DY>
  static void backward_weight(C& ctx, weights<N>, const input& batch, view<DY, Width> dy, saved<N>&,
                              gradients<N> g) {
    linear_backward_weight(ctx, read(batch), dy, project::weight(g.data), project::bias(g.data));
  }
};

constexpr attention_config two_heads{.width = 32, .heads = 2};
constexpr tower_config block{.width = 32, .layers = 1, .attention = two_heads, .hidden = 64, .embedding = 16};
struct picture_size {
  motet::isize channels, image;
};
struct reader : tower<lines<16, 32>, block> {
  static constexpr picture_size config{3, 16};  // of what it reads
};
using pair = model<join<info_nce, module<"left", reader>, module<"right", reader>>>;

int main(int argc, char** argv) {
  const random_stream draws(1, "tutorial");
  std::vector<float> shown(16 * 3 * 16 * 16), mirrored(shown);
  for (std::size_t i = 0; i < shown.size(); ++i) mirrored[i ^ 15] = shown[i] = float(draws.normal(i));
  const auto world = launch(argc, argv);
  trainer<pair> train(world, {.batch = 16});
  for (int step = 1; step <= 200; ++step) {
    const step_result done = train.step({pictures{shown.data(), 16}, pictures{mirrored.data(), 16}}, 1e-3);
    if (step == 1 || step == 200) std::printf("step %d  loss %.1f\n", step, done.loss);
  }
}
