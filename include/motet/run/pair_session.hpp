// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/run/tower_words.hpp>
#include <motet/run/trained_session.hpp>
#include <motet/tools/held_out/contrast.hpp>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace motet {

// The model of two towers that are compared.
template <vit_config Picture, text_config Caption, class Loss>
using pair_model = model<join<Loss, module<"picture", vit<Picture>>, module<"caption", text_tower<Caption>>>>;

// A run tells this of two towers.
inline session_facts facts_of_pair(const char* name, const vit_config& picture, const text_config& caption) {
  session_facts out{.name = name, .loss = {}, .precision = {}, .shape = {}};
  out.shape = {
      .model = name, .image = picture.image, .vocabulary = caption.vocabulary, .context = caption.context};
  out.caption = caption.context;
  out.embedding = picture.embedding;
  out.outline = {outline_of(picture), outline_of(caption), {"embedding", std::to_string(picture.embedding)}};
  out.parts = {{"picture tower", words_of(picture)},
               {"caption tower", words_of(caption)},
               {"embedding", std::to_string(picture.embedding)}};
  return out;
}

// A picture tower and a caption tower, which take a batch as it is.
template <class Device, vit_config Picture, text_config Caption, class Loss, class Numbers>
class pair_session final : public trained_session<pair_session<Device, Picture, Caption, Loss, Numbers>,
                                                  Device, pair_model<Picture, Caption, Loss>, Numbers> {
 public:
  pair_session(const char* name, const session_request& wanted)
      : pair_session::trained_session(facts_of_pair(name, Picture, Caption), wanted) {}

  const pair_input& inputs(const step_input& batch) const { return std::get<pair_input>(batch); }
  void expect(const step_input& next) override { this->trained().expect(inputs(next)); }
  void embed(const pictures& batch, float* features) override {
    this->trained().template embed<"picture">(batch, features);
  }
  void embed(const tokens& batch, float* features) override {
    this->trained().template embed<"caption">(batch, features);
  }
  void gather() override {
    pair_session::trained_session::gather();
    const std::vector<float> all = this->trained().weights();
    const auto number = [&](const char* name) {
      const std::string wanted = name_in_model(name);
      for (const parameter& each : this->parameters())
        if (each.name == wanted) return static_cast<double>(all[as_size(each.offset)]);
      return std::numeric_limits<double>::quiet_NaN();
    };
    log_scale_ = number(Loss::scale_name);
    if constexpr (requires { Loss::bias_name; }) bias_ = number(Loss::bias_name);
  }
  double logit_scale() const override { return std::exp(log_scale_); }
  double loss_of(const step_input& batch) override {
    const auto& [shown, captions] = inputs(batch);
    constexpr isize width = Picture.embedding;
    std::vector<float> of_pictures(as_size(shown.samples * width)), of_captions(of_pictures.size());
    embed(shown, of_pictures.data());
    embed(captions, of_captions.data());
    const auto rows = [&](const std::vector<float>& of) {
      return matrix<const float>{of.data(), shown.samples, width, width};
    };
    if constexpr (std::is_same_v<Loss, pairwise_sigmoid>)
      return pairwise_sigmoid_of(rows(of_pictures), rows(of_captions), logit_scale(), bias_);
    else return info_nce_of(rows(of_pictures), rows(of_captions), logit_scale());
  }

 private:
  double log_scale_ = std::numeric_limits<double>::quiet_NaN(), bias_ = 0;  // of the last gather()
};

// The nets do not depend on the loss, so both losses share their code.
template <class Device, vit_config Picture, text_config Caption, class Numbers>
std::unique_ptr<session> make_pair_session_of(const char* name, const session_request& wanted) {
  if (wanted.loss == "sigmoid")
    return std::make_unique<pair_session<Device, Picture, Caption, pairwise_sigmoid, Numbers>>(name, wanted);
  return std::make_unique<pair_session<Device, Picture, Caption, info_nce, Numbers>>(name, wanted);
}

// The session of two towers as a command line asks for it: loss "infonce" or "sigmoid", products in fp32 or
// less.
// Asks for: towers whose embeddings are equally wide.
// Memory: that of trainer<pair_model<...>>.
// Errors: MT-P74, MT-R01, MT-R02, MT-R03, MT-R07, MT-R08, MT-R09, MT-R29, MT-X03
// Example:
//   constexpr vit_config picture{
//       .image = 32, .patch = 8, .width = 64, .layers = 2, .heads = 2, .embedding = 32};
//   constexpr text_config caption{
//       .vocabulary = 300, .context = 16, .width = 64, .layers = 2, .heads = 2, .embedding = 32};
//   std::unique_ptr<session> open(const session_request& wanted) {
//     return make_pair_session<cpu::device, picture, caption>("own", wanted);
//   }
template <class Device, vit_config Picture, text_config Caption>
std::unique_ptr<session> make_pair_session(const char* name, const session_request& wanted) {
  if (wanted.precision == "fp32") return make_pair_session_of<Device, Picture, Caption, fp32>(name, wanted);
  if constexpr (trains_in_bf16<Device>)
    return make_pair_session_of<Device, Picture, Caption, mixed_bf16>(name, wanted);
  else refuse_precision(wanted.precision);
}

}  // namespace motet
