// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/run/pair_session.hpp>

// Towers whose session takes milliseconds.

inline constexpr motet::vit_config tiny_picture{
    .image = 8, .patch = 4, .width = 16, .layers = 2, .heads = 2, .embedding = 8};
inline constexpr motet::text_config tiny_caption{
    .vocabulary = 300, .context = 16, .width = 8, .layers = 2, .heads = 2, .embedding = 8};
using tiny_pair = motet::pair_model<tiny_picture, tiny_caption, motet::info_nce>;

// A command line would ask for this.
inline motet::session_request tiny_request(motet::isize batch = 6) {
  motet::session_request out;
  out.loss = "infonce";
  out.threads = 1;
  out.options.batch = batch;
  return out;
}
