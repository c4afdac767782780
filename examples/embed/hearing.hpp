// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model_files.hpp"

#include <motet/data/make/listing.hpp>
#include <motet/data/sound/sound_reader.hpp>
#include <motet/format/hf/hf_whisper.hpp>
#include <motet/format/hf/peft_lora.hpp>
#include <motet/format/tensors/safetensors_write.hpp>
#include <motet/format/text/json_write.hpp>
#include <motet/motet.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>

// Rows that Whisper's encoder makes of sounds, and logits of what its decoder says of them.
namespace motet::embed {

// Says whether this is the net of the folder.
inline bool same_net(const hf_whisper_config& config, const sound_config& net) {
  return config.bins == net.bins && config.frames() == net.frames && config.ear.width == net.width &&
         config.ear.layers == net.layers && config.ear.heads == net.heads &&
         config.ear.hidden == net.hidden && config.ear.activation == name_of(net.act);
}
inline bool same_net(const hf_whisper_config& config, const decoder_config& net) {
  const hf_tower& t = config.talk;
  return config.vocabulary == net.vocabulary && config.context == net.context && t.width == net.width &&
         t.layers == net.layers && t.heads == net.heads && t.hidden == net.hidden &&
         t.activation == name_of(net.act) && config.tied == net.tied;
}

// Fills the parameters of a model from the folder that it was imported from, with adapters where a folder of
// them is named: of its encoder alone, or of both.
template <class Model>
void load_hearing(const std::string& folder, const std::string& adapters, bool whole,
                  const buffer<float>& parameters) {
  using ear = typename Model::template module_at<0>;
  using talk = typename Model::template module_at<1>;
  const hf_whisper_config config = read_hf_whisper_config(std::filesystem::path(folder));
  if (!same_net(config, ear::net::config) || !same_net(config, talk::net::config)) fail(embed_model, folder);
  std::fill_n(parameters.data(), parameters.size(), 0.0f);
  const tensor_set files(folder);
  const std::string theirs = hf_whisper_encoder(files);
  check_hf_positions(files, config, theirs);
  const std::vector<hf_tensor> map =
      whole ? hf_whisper_whole(config, theirs, "ear", "talk") : hf_whisper_tensors(config, "ear", theirs);
  const std::vector<loaded_tensor> to =
      whole ? tensors_of<Model>(parameters)
            : loaded_tensors(layer::parameters_of<typename ear::net>(ear::name), parameters.data());
  const std::vector<std::string> unread =
      whole ? hf_whisper_unread_whole(config, theirs) : hf_whisper_unread(theirs);
  load_hf_tensors(files, map, to, unread);
  if (!adapters.empty()) merge_peft_lora(adapters, map, to, unread);
}

// The frames of some sounds, one after the other, from (sounds, bins, frames), as transformers has them.
inline std::vector<float> frames_of(const std::vector<float>& features, isize sounds, isize bins,
                                    isize frames) {
  std::vector<float> out(features.size());
  for (isize s = 0; s < sounds; ++s)
    for (isize bin = 0; bin < bins; ++bin)
      for (isize frame = 0; frame < frames; ++frame)
        out[as_size((s * frames + frame) * bins + bin)] =
            features[as_size((s * bins + bin) * frames + frame)];
  return out;
}

// Sounds, and what is told about them beside their rows.
struct heard_input {
  std::vector<float> features;  // (sounds x frames, bins)
  isize sounds = 0;
  safetensors_writer::metadata about{{"format", "pt"}};
};

// Reads what is heard from a file of tensors.
inline heard_input read_features(const std::string& path, isize bins, isize frames) {
  const safetensors_file input(path);
  const stored_tensor* const heard = input.find("input_features");
  if (heard == nullptr) fail(embed_input, path + " holds no input_features");
  if (heard->shape.size() != 3 || heard->shape[1] != bins || heard->shape[2] != frames)
    fail(embed_input, sentence({"input_features is ", shape_text(heard->shape), ", wanted [sounds, ", bins,
                                ", ", frames, "]"}));
  std::vector<float> all(as_size(heard->elements()));
  copy_elements(*heard, all.data());
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!std::isfinite(all[i]))
      fail(embed_input, sentence({"input_features holds NaN or infinity in sound ",
                                  static_cast<isize>(i) / (bins * frames)}));
  heard_input out;
  out.sounds = heard->shape[0];
  out.features = frames_of(all, out.sounds, bins, frames);
  return out;
}

// Reads a folder of WAV and FLAC files. Those that cannot be read are named and left out; that one came at
// another rate is told once.
inline heard_input read_sounds(const std::string& folder, isize bins, isize frames) {
  const std::vector<std::filesystem::path> files = files_below(folder, is_sound_field, ".wav or .flac");
  sound_reader reader(bins, frames);
  heard_input out;
  json listed(json::array{});
  bool told = false;
  for (const std::filesystem::path& each : files) {
    out.features.resize(as_size((out.sounds + 1) * frames * bins));
    try {
      const bool other = reader.read(each.string(), out.features.data() + out.sounds * frames * bins);
      if (other && !told)
        std::fprintf(stderr,
                     "%s has %td numbers a second; it and others of another rate are resampled to %td\n",
                     each.string().c_str(), reader.rate(), log_mel::rate);
      told = told || other;
    } catch (const error& problem) {
      std::fprintf(stderr, "skipped: %s\n", problem.what());
      continue;
    }
    listed.push_back(each.lexically_relative(folder).generic_string());
    ++out.sounds;
  }
  if (out.sounds == 0) fail(no_samples, folder + ": none of its sounds can be read");
  out.features.resize(as_size(out.sounds * frames * bins));
  out.about.emplace_back("files", write_json(listed));
  if (const isize skipped = static_cast<isize>(files.size()) - out.sounds; skipped > 0)
    std::printf("%td of %td sounds skipped\n", skipped, static_cast<isize>(files.size()));
  return out;
}

// Rows that the encoder makes of sounds: (sounds x rows of each, width).
template <class Ear>
std::vector<float> rows_of_sounds(cpu::device& device, const float* weights, const heard_input& heard,
                                  isize at_once) {
  constexpr isize bins = Ear::config.bins, frames = Ear::config.frames, width = Ear::embedding,
                  rows = Ear::rows_of_sound;
  std::vector<float> made(as_size(heard.sounds * rows * width));
  for (isize first = 0; first < heard.sounds; first += at_once) {
    const isize count = std::min(at_once, heard.sounds - first);
    const heard_sounds some{{heard.features.data() + first * frames * bins, count}, count, nullptr};
    const auto run = [&](cpu::context& ctx) {
      Ear::infer(ctx, motet::weights<fp32>{weights}, some,
                 view<float, width>(made.data() + first * rows * width, count * rows));
    };
    device.prepare(device.dry_run(run));
    device.run(run, {0, 0, 0, false});
  }
  return made;
}

// Logits of what is said of each sound: (samples x tokens, vocabulary).
template <class Talk>
std::vector<float> logits_of_sounds(cpu::device& device, const float* weights, const std::vector<float>& rows,
                                    const std::vector<std::int32_t>& ids, isize samples, isize at_once) {
  constexpr isize each = Talk::most_rows, vocabulary = Talk::config.vocabulary, width = Talk::takes_rows;
  const isize length = static_cast<isize>(ids.size()) / samples;
  std::vector<float> logits(ids.size() * as_size(vocabulary));
  std::vector<isize> before;  // each sample, so many rows
  for (isize s = 0; s <= at_once; ++s) before.push_back(s * each);
  for (isize first = 0; first < samples; first += at_once) {
    const isize count = std::min(at_once, samples - first);
    const tokens_beside some{{{ids.data() + first * length, {count, length, nullptr}}},
                             {before.data(), {rows.data() + first * each * width, nullptr}}};
    const auto run = [&](cpu::context& ctx) {
      Talk::logits::infer(
          ctx, motet::weights<fp32>{weights}, some,
          view<float, vocabulary>(logits.data() + first * length * vocabulary, count * length));
    };
    device.prepare(device.dry_run(run));
    device.run(run, {0, 0, 0, false});
  }
  return logits;
}

// Where input_ids are there, as many samples of them as sounds, logits; else the encoder's rows.
template <class Model>
void hear(const options& given) {
  using ear = typename Model::template module_at<0>::net;
  using talk = typename Model::template module_at<1>::net;
  constexpr isize bins = ear::config.bins, frames = ear::config.frames, vocabulary = talk::config.vocabulary;
  std::vector<std::int32_t> ids;
  isize texts = 0;
  if (given.sounds.empty()) {
    const safetensors_file input(given.input);
    if (const stored_tensor* const said = input.find("input_ids"); said != nullptr) {
      for (const std::int64_t id : token_ids(*said, talk::config.context, vocabulary, "sample"))
        ids.push_back(static_cast<std::int32_t>(id));
      texts = said->shape[0];
    }
  }
  const buffer<float> parameters(Model::parameter_size);
  load_hearing<Model>(given.weights, given.adapters, texts > 0, parameters);
  const heard_input heard = given.sounds.empty() ? read_features(given.input, bins, frames)
                                                 : read_sounds(given.sounds, bins, frames);
  if (texts > 0 && texts != heard.sounds)
    fail(embed_input,
         sentence({"input_ids has ", texts, " samples, input_features ", heard.sounds, " sounds"}));
  cpu::device device(given.threads);
  const std::vector<float> rows =
      rows_of_sounds<ear>(device, parameters.data(), heard, std::min(given.batch, heard.sounds));
  const auto write = [&](const char* name, std::vector<isize> shape, const std::vector<float>& of) {
    safetensors_writer writer(given.output, {{name, dtype::f32, std::move(shape)}}, heard.about);
    writer.write(name, of.data());
    writer.commit();
  };
  if (texts == 0) return write("last_hidden_state", {heard.sounds, ear::rows_of_sound, ear::embedding}, rows);
  const std::vector<float> logits = logits_of_sounds<talk>(device, parameters.data() + Model::offsets[1],
                                                           rows, ids, texts, std::min(given.batch, texts));
  write("logits", {static_cast<isize>(ids.size()), vocabulary}, logits);
}

}  // namespace motet::embed
