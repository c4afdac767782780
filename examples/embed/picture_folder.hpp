// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "saved_towers.hpp"

#include <motet/data/make/listing.hpp>
#include <motet/data/pictures/square_reader.hpp>

#include <cstdio>
#include <string>
#include <vector>

namespace motet::embed {

// Rows for the pictures in a folder and below, in the order of their paths.
struct picture_features {
  std::vector<std::string> files;
  std::vector<float> rows;
  isize skipped = 0;
};

// Files that cannot be read are named and left out.
inline picture_features embed_pictures(saved_towers& by, const std::string& folder, isize at_once) {
  const std::vector<std::filesystem::path> all = pictures_below(folder);
  const isize side = by.side(), width = by.width(), pixels = 3 * side * side;
  std::vector<float> shown(as_size(at_once * pixels));
  picture_features out;
  isize waiting = 0;
  const auto flush = [&] {
    out.rows.resize(out.files.size() * as_size(width));
    by.embed(pictures{shown.data(), waiting}, out.rows.data() + out.rows.size() - waiting * width);
    waiting = 0;
  };
  square_reader reader;
  for (const std::filesystem::path& each : all) {
    try {
      reader.read(each.string(), side, {}, shown.data() + waiting * pixels);
    } catch (const error& problem) {
      std::fprintf(stderr, "skipped: %s\n", problem.what());
      continue;
    }
    out.files.push_back(each.lexically_relative(folder).generic_string());
    if (++waiting == at_once) flush();
  }
  if (waiting > 0) flush();
  if (out.files.empty()) fail(no_samples, folder + ": none of its pictures can be read");
  out.skipped = static_cast<isize>(all.size() - out.files.size());
  return out;
}

}  // namespace motet::embed
