// SPDX-License-Identifier: Apache-2.0
#include <motet/format/hf/hf_whisper_write.hpp>

#include <motet/format/hf/hf_whisper_header.hpp>
#include <motet/model/describe.hpp>
#include <motet/model/graph.hpp>
#include <motet/nn/towers/cross_decoder.hpp>
#include <motet/nn/towers/sound_rows.hpp>

#include <unit/format/scratch.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

constexpr sound_config heard{.bins = 3, .frames = 6, .width = 8, .layers = 1, .heads = 2, .hidden = 5};
constexpr decoder_config said{.vocabulary = 11,
                              .context = 4,
                              .width = 8,
                              .layers = 2,
                              .heads = 4,
                              .hidden = 7,
                              .act = activation::gelu,
                              .gated = false,
                              .norm = norm_kind::layer,
                              .epsilon = 1e-5f,
                              .rotary = 0,
                              .bias = true,
                              .mlp_bias = true,
                              .tied = true};
template <decoder_config Config = said, sound_config Ear = heard, motet::isize Every = 1>
using hearing = model<modules<module<"listen", sound_rows<Ear>>,
                              module<"say", cross_decoder<Config, 8, 3, Every, (Every > 1)>>>,
                      edge<"listen", "say">, loss<next_token, "say">>;

template <decoder_config Config, sound_config Ear = heard, motet::isize Every = 1>
std::string refusal() {
  try {
    describe_as_hf_whisper(describe<hearing<Config, Ear, Every>>());
    return "";
  } catch (const error& problem) {
    return problem.what();
  }
}
bool contains(const std::string& all, std::string_view part) { return all.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a description becomes a configuration, which is read again as it is") {
  const hf_described_whisper found = describe_as_hf_whisper(describe<hearing<>>());
  CHECK_EQ(found.ear, "listen");
  CHECK_EQ(found.talk, "say");
  const hf_whisper_config again = read_hf_whisper_config(write_hf_whisper_config(found.config), "c");
  CHECK_EQ(hf_whisper_header(again, "one"), hf_whisper_header(found.config, "one"));
  CHECK(
      (again.bins == 3 && again.frames() == 6 && again.vocabulary == 11 && again.context == 4 && again.tied));
  CHECK_FALSE(described_hearing_decoder(json{}).has_value());
}

TEST_CASE("all that Whisper's form lacks is named at once") {
  static constexpr decoder_config other = [] {
    decoder_config c = said;
    c.rotary = 100, c.gated = true, c.bias = false, c.act = activation::relu;
    return c;
  }();
  const std::string told = refusal<other>();
  for (const char* const part : {"say.gated is set", "say has rotary positions",
                                 "say has products without a bias", "say.act is not that"})
    CHECK(contains(told, part));
  static constexpr sound_config odd = [] {
    sound_config c = heard;
    c.frames = 5;
    return c;
  }();
  CHECK(contains(refusal<said, odd>(), "listen.frames is odd"));
  const std::string other_blocks = refusal<said, heard, 2>();
  CHECK(contains(other_blocks, "say looks in some blocks, and not in each"));
  CHECK(contains(other_blocks, "say looks through gates"));
}

TEST_CASE("what is written is read, but for biases of keys, and positions are those of the package") {
  const scratch folder;
  std::vector<float> values(static_cast<std::size_t>(hearing<>::parameter_size));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 97) - 40;
  std::vector<saved_tensor> from;
  std::vector<float> read(values.size());
  std::vector<loaded_tensor> to;
  for (const parameter& p : hearing<>::parameters()) {
    const auto shape =
        p.vector ? std::vector<motet::isize>{p.width} : std::vector<motet::isize>{p.rows, p.width};
    from.push_back({p.name, shape, values.data() + p.offset});
    to.push_back({p.name, shape, read.data() + p.offset});
  }
  const hf_described_whisper of = describe_as_hf_whisper(describe<hearing<>>());
  save_hf_whisper(folder.path(), of, from);
  const tensor_set files(folder.path());
  CHECK_EQ(hf_whisper_encoder(files), "model.encoder.");
  check_hf_positions(files, of.config, "model.encoder.");
  load_hf_tensors(files, hf_whisper_whole(of.config, "model.encoder.", "listen", "say"), to,
                  hf_whisper_unread_whole(of.config, "model.encoder."));
  for (std::size_t k = 0; k < from.size(); ++k) {
    const bool keyed = from[k].name.ends_with("qkv.bias") || from[k].name.ends_with("beside.bias");
    const motet::isize first = from[k].name.ends_with("qkv.bias") ? 8 : 0;
    motet::isize count = 1;
    for (const motet::isize extent : from[k].shape) count *= extent;
    for (motet::isize i = 0; i < count; ++i)
      CHECK_EQ(to[k].data[i], keyed && i >= first && i < first + 8 ? 0.0f : from[k].data[i]);
  }
}
