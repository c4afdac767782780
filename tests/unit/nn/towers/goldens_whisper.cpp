// SPDX-License-Identifier: Apache-2.0
// Whisper whole against the transformers package: logits, the loss, and all gradients, back through the edge.
#include <motet/format/hf/hf_whisper.hpp>
#include <motet/nn/towers/cross_decoder.hpp>
#include <motet/nn/towers/sound_rows.hpp>

#include "goldens.hpp"

#include <numeric>

using namespace motet;

namespace {

// make_whisper.py names the same numbers.
constexpr const char* config_text = R"({"model_type": "whisper", "num_mel_bins": 3, "max_source_positions": 5,
  "d_model": 12, "encoder_layers": 1, "encoder_attention_heads": 2, "encoder_ffn_dim": 10, "decoder_layers": 2,
  "decoder_attention_heads": 3, "decoder_ffn_dim": 14, "max_target_positions": 7, "vocab_size": 17})";
constexpr sound_config heard{.bins = 3, .frames = 10, .width = 12, .layers = 1, .heads = 2, .hidden = 10};
constexpr decoder_config said{.vocabulary = 17,
                              .context = 7,
                              .width = 12,
                              .layers = 2,
                              .heads = 3,
                              .hidden = 14,
                              .act = activation::gelu,
                              .gated = false,
                              .norm = norm_kind::layer,
                              .epsilon = 1e-5f,
                              .rotary = 0,
                              .bias = true,
                              .mlp_bias = true,
                              .tied = true};
using ear = sound_rows<heard>;
using talk = cross_decoder<said, 12, 5>;
constexpr motet::isize samples = 3;

// The tensors `prefix` + name of a net; what the format lacks is zero.
template <class Net>
laws::reals flat(const laws::golden_file& file, const std::vector<hf_tensor>& map, const char* module,
                 const std::string& prefix) {
  laws::reals out(static_cast<std::size_t>(Net::parameter_size), 0.0);
  for (const parameter& p : layer::parameters_of<Net>(module)) {
    const auto row = std::ranges::find(map, p.name, &hf_tensor::ours);
    REQUIRE(row != map.end());
    REQUIRE_EQ(row->elements(), p.size());
    auto at = out.begin() + p.offset;
    for (const hf_part& part : row->theirs) {
      if (!part.name.empty()) std::ranges::copy(file.at(prefix + part.name), at);
      at += part.elements();
    }
  }
  return out;
}

}  // namespace

TEST_CASE("Whisper's logits, loss and gradients are those of the transformers package") {
  const laws::golden_file file("whisper");
  const hf_whisper_config config = read_hf_whisper_config(config_text, "c");
  const std::vector<hf_tensor> map = hf_whisper_whole(config);
  const laws::reals w_ear = flat<ear>(file, map, "ear", "w."), w_talk = flat<talk>(file, map, "talk", "w."),
                    g_ear = flat<ear>(file, map, "ear", "g."), g_talk = flat<talk>(file, map, "talk", "g.");
  std::vector<float> features;
  std::vector<std::int32_t> ids, targets;
  std::vector<motet::isize> offsets{0}, rows{0};
  laws::reals wanted;
  for (motet::isize s = 0; s < samples; ++s) {
    const auto add = [&]<class T>(std::vector<T>& to, const char* name) {
      const std::vector<T> more = file.values<T>(sentence({name, s}));
      to.insert(to.end(), more.begin(), more.end());
    };
    add(features, "features_"), add(ids, "ids_"), add(targets, "targets_"), add(wanted, "logits_");
    offsets.push_back(static_cast<motet::isize>(ids.size())), rows.push_back(5 * (s + 1));
  }
  laws::reals made(5 * samples * 12), back(made.size()), logits(wanted.size()), losses(samples),
      slopes(samples, 1.0), d_ear(w_ear.size()), d_talk(w_talk.size());
  laws::cpu_run_foretold(2, [&](cpu::context& ctx) {
    const heard_sounds sounds{{features.data(), samples}, samples, nullptr};
    const tokens_beside words{{{ids.data(), {samples, 0, offsets.data()}}, targets.data(), 0.125},
                              {rows.data(), {made.data(), back.data()}}};
    ear::saved<fp64> of_ear;
    ear::reserve<fp64>(ctx, sounds, of_ear);
    ear::forward(ctx, weights<fp64>{w_ear.data()}, sounds, view<double, 12>(made.data(), 5 * samples),
                 of_ear);
    synchronize(ctx);
    talk::logits::infer(ctx, weights<fp64>{w_talk.data()}, words,
                        view<double, 17>(logits.data(), offsets.back()));
    talk::saved<fp64> of_talk;
    talk::reserve<fp64>(ctx, words, of_talk);
    talk::forward(ctx, weights<fp64>{w_talk.data()}, words, view<double, 1>(losses.data(), samples), of_talk);
    talk::backward(ctx, weights<fp64>{w_talk.data()}, words, view<double, 1>(slopes.data(), samples), of_talk,
                   gradients<fp64>{d_talk.data()});
    synchronize(ctx);
    ear::backward(ctx, weights<fp64>{w_ear.data()}, sounds, view<double, 12>(back.data(), 5 * samples),
                  of_ear, gradients<fp64>{d_ear.data()});
  });
  CHECK_LE(laws::apart(logits, wanted), 1e-6);
  CHECK(std::accumulate(losses.begin(), losses.end(), 0.0) ==
        doctest::Approx(file.at("loss")[0]).epsilon(1e-6));
  const auto check = [](const std::vector<parameter>& list, const laws::reals& got, const laws::reals& want) {
    for (const parameter& p : list) {
      INFO(p.name);
      CHECK_GT(laws::size_of(laws::piece(want, p)), 0);
      CHECK_LE(laws::apart(laws::piece(got, p), laws::piece(want, p)), 1e-5);
    }
  };
  check(layer::parameters_of<talk>("talk"), d_talk, g_talk);
  check(layer::parameters_of<ear>("ear"), d_ear, g_ear);
}
