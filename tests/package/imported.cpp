// SPDX-License-Identifier: Apache-2.0
// The types that motet_import_hf made from hf_clip/config.json, and what the library links: MPI, where it is.
#include <consumer_clip.hpp>

#include <motet/front/ranks/launched_world.hpp>

static_assert(consumer_clip::picture_config.image == 30 && consumer_clip::picture_config.patch == 6);
static_assert(consumer_clip::picture_config.width == 75 && consumer_clip::picture_config.heads == 25);
static_assert(consumer_clip::caption_config.vocabulary == 99 && consumer_clip::caption_config.context == 11);
static_assert(consumer_clip::picture_config.embedding == 24 && consumer_clip::caption_config.embedding == 24);

int main(int argc, char** argv) {
  const auto world = motet::launch(argc, argv);
  consumer_clip::model model;
  static_cast<void>(model);
  return 0;
}
