// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/towers/seeing_decoder.hpp>

#include "layer_laws.hpp"

using namespace motet;

namespace {

constexpr vit_config sight{.image = 4,
                           .patch = 2,
                           .channels = 1,
                           .width = 6,
                           .layers = 1,
                           .heads = 1,
                           .hidden = 5,
                           .pool = pool_kind::first};
constexpr decoder_config words{
    .vocabulary = 9, .context = 14, .width = 8, .layers = 2, .heads = 2, .hidden = 6, .rotary = 50};
constexpr decoder_config placed_words = [] {
  decoder_config c = words;
  c.rotary = 0;  // learned positions, which rows of pictures have as well
  c.layers = 1;
  return c;
}();
using eye = picture_rows<sight>;
using say = seeing_decoder<eye, projector<6, 8, 7>, words, 2>;
using say_placed = seeing_decoder<eye, linear<6, 8>, placed_words, 2>;

static_assert(say::most_pictures == 2 && say::own_loss);

// Samples of words and of pictures in them: 'p' is a picture, each digit a token, a space ends a sample. Rows
// of class tokens have no place.
struct spoken {
  std::vector<std::int32_t> ids, targets, places;
  std::vector<motet::isize> offsets{0}, picture_offsets{0};
  std::vector<float> pixels;
  pictured_tokens batch;

  explicit spoken(const std::string& text) {
    motet::isize seen = 0;
    for (const char each : text) {
      if (each == ' ') {
        offsets.push_back(static_cast<motet::isize>(ids.size()));
        picture_offsets.push_back(seen);
      } else if (each == 'p') {
        ++seen;
        places.push_back(-1);
        for (int row = 0; row < 4; ++row) {
          places.push_back(static_cast<std::int32_t>(ids.size()));
          ids.push_back(-1);
          targets.push_back(-1);
        }
      } else {
        ids.push_back(each - '0');
        targets.push_back(each == '7' ? -1 : (each - '0' + 2) % 9);
      }
    }
    const random_stream draw(3, "pixels");
    for (motet::isize i = 0; i < seen * 16; ++i)
      pixels.push_back(static_cast<float>(draw.normal(static_cast<std::uint64_t>(i))));
    const auto samples = static_cast<motet::isize>(offsets.size()) - 1;
    batch = {{{ids.data(), {samples, 0, offsets.data()}}, targets.data(), 0.25},
             {pixels.data(), seen},
             picture_offsets.data(),
             places.data()};
  }
  spoken(const spoken&) = delete;
  spoken& operator=(const spoken&) = delete;
};

// As a stage of a pipeline runs it, with backward in two parts.
template <class Net>
struct stage_subject : laws::tower_subject<Net> {
  using layer_type = Net;
  template <class C, class N, class T = typename N::stream>
  void run(C& ctx, laws::way how, weights<N> w, const T* x, T* y_data, const T* dy_data, T* dx,
           gradients<N> g) const {
    if (how != laws::way::split) return laws::tower_subject<Net>::run(ctx, how, w, x, y_data, dy_data, dx, g);
    using stage = typename Net::stage;
    const motet::isize mark = ctx.memory.mark();
    typename Net::template saved<N> s;
    Net::template reserve<N>(ctx, this->batch, s);
    typename stage::template ends<N> ends;
    ends.features = {y_data, this->y_rows()};
    ends.d_features = {dy_data, this->y_rows()};
    stage::forward(ctx, Net::whole, w, this->batch, ends, s);
    stage::backward_input(ctx, Net::whole, w, this->batch, ends, s);
    synchronize(ctx);
    stage::backward_weight(ctx, Net::whole, w, this->batch, ends, s, g);
    release(ctx, mark);
  }
};

template <class Net>
void check_seeing() {
  for (const char* text : {"", "12p34 ", "p5 12 p p34p1  7 ", "123 4 "}) {
    INFO(std::string(text));
    const spoken batch(text);
    laws::check_laws(stage_subject<Net>{{batch.batch}}, {.half = 8e-2, .samples_of_tensor = 2});
  }
}

}  // namespace

TEST_CASE("pictures among words, none, one or many in a sample") { check_seeing<say>(); }
TEST_CASE("with learned positions and one product as the glue") { check_seeing<say_placed>(); }

TEST_CASE("what a picture shows is heard in every later row and in no earlier one") {
  spoken batch("12p34 ");
  const auto list = layer::parameters_of<say>();
  const laws::reals w = laws::random_weights(list, say::parameter_size);
  const auto logits = [&] {
    laws::reals out(as_size(batch.batch.seq.rows() * words.vocabulary));
    laws::cpu_run_foretold(1, [&](cpu::context& ctx) {
      say::logits::infer(ctx, weights<fp64>{w.data()}, batch.batch,
                         view<double, words.vocabulary>(out.data(), batch.batch.seq.rows()));
    });
    return out;
  };
  const laws::reals before = logits();
  for (float& each : batch.pixels) each += 1;
  const laws::reals after = logits();
  for (motet::isize row = 0; row < batch.batch.seq.rows(); ++row) {
    const auto at = row * words.vocabulary;
    CHECK_EQ(before[as_size(at)] == after[as_size(at)], row < 2);
  }
}

TEST_CASE("parts of gradients are complete from the last one on, and words keep their names") {
  const auto parts = say::stage::gradient_parts(say::whole);
  // the eye: rows, a block, a norm; the glue; the words; two blocks; the end
  CHECK_EQ(parts.size(), 3 + 1 + 1 + 2 + 1);
  motet::isize at = 0;
  for (const interval& each : parts) {
    CHECK_EQ(each.begin, at);
    at = each.end;
  }
  CHECK_EQ(at, say::parameter_size);
  std::vector<std::string> names;
  for (const parameter& each : layer::parameters_of<say>()) names.push_back(each.name);
  for (const char* name :
       {"embed.eye.blocks.0.mlp.up.weight", "embed.eye.norm.weight", "embed.glue.up.weight",
        "embed.glue.down.bias", "embed.token", "blocks.1.mlp.down.weight", "head.weight"})
    CHECK_MESSAGE(std::find(names.begin(), names.end(), name) != names.end(), name);
}
