// SPDX-License-Identifier: Apache-2.0
#include <motet/format/hf/hf_clip_describe.hpp>
#include <motet/format/hf/hf_clip_write.hpp>

#include <doctest/doctest.h>

#include "unit/format/hf_clip_small.hpp"
#include "unit/format/scratch.hpp"

namespace {

std::vector<motet::saved_tensor> numbered(std::vector<std::vector<float>>& values) {
  std::vector<motet::saved_tensor> out;
  float next = 0;
  for (const auto& tensor : small_clip_room(values)) {
    for (motet::isize i = 0; i < tensor.shape[0]; ++i) tensor.data[i] = next++;
    out.push_back({tensor.name, tensor.shape, tensor.data});
  }
  return out;
}

}  // namespace

TEST_CASE("a configuration reads back as it was written") {
  const auto config = small_clip();
  const auto again = motet::read_hf_clip_config(motet::write_hf_clip_config(config), "again");
  CHECK(motet::same_net(config, again));
  CHECK(again.image == config.image);
  CHECK(again.end_token == 8);
  CHECK(again.logit_scale == 1.5);
}

TEST_CASE("weights read back as they were written") {
  const scratch folder;
  std::vector<std::vector<float>> values, again;
  const auto saved = numbered(values);
  motet::save_hf_clip(folder / "made/here", small_clip(), saved);
  CHECK(folder.names("made/here") == std::set<std::string>{"config.json", "model.safetensors"});
  const auto to = small_clip_room(again);
  motet::load_hf_tensors(motet::tensor_set(folder / "made/here"),
                         motet::hf_clip_tensors(motet::read_hf_clip_config(folder / "made/here")), to);
  CHECK(values == again);
  // Later versions of the package insist on this.
  CHECK(motet::safetensors_file(folder / "made/here/model.safetensors").metadata()[0] ==
        std::pair<std::string, std::string>("format", "pt"));
}

TEST_CASE("a model that lacks a tensor is refused, a loss's own numbers are left out") {
  const scratch folder;
  std::vector<std::vector<float>> values;
  auto saved = numbered(values);
  saved.push_back({"join.bias", {1}, values[0].data()});
  CHECK_NOTHROW(motet::save_hf_clip(folder.path(), small_clip(), saved));
  saved.push_back({"own.weight", {1}, values[0].data()});
  saved[0].shape[0] += 1;
  saved.erase(saved.begin() + 1);
  CHECK_THROWS_WITH_AS(motet::save_hf_clip(folder.path(), small_clip(), saved),
                       doctest::Contains("missing     picture.embed.class"), motet::error);
  CHECK_THROWS_WITH_AS(motet::save_hf_clip(folder.path(), small_clip(), saved),
                       doctest::Contains("unexpected  own.weight [1]"), motet::error);
  CHECK_THROWS_WITH_AS(motet::save_hf_clip(folder.path(), small_clip(), saved),
                       doctest::Contains("differs     picture.embed.patch.weight"), motet::error);
}
