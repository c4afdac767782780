// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "saved_towers.hpp"

#include <motet/data/file.hpp>
#include <motet/data/messages.hpp>
#include <motet/data/words/tokenizer.hpp>
#include <motet/format/text/utf8.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace motet::embed {

// Rows for the lines of a file, each a text, in their order: row k is that of line k.
struct text_features {
  std::vector<std::string> texts;
  std::vector<float> rows;
  isize cut = 0;  // of the texts, those that were longer than the model takes
};

inline std::vector<std::string> read_lines(const std::string& file) {
  const std::string all = read_text(file, isize{1} << 30);
  std::vector<std::string> out;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find('\n', at), all.size());
    std::string_view line = std::string_view(all).substr(at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (utf8_first_bad(line) != std::string_view::npos)
      fail(text_not_utf8, sentence({file, ", line ", out.size() + 1}));
    out.emplace_back(line);
    at = end + 1;
  }
  if (out.empty()) fail(no_samples, file + ": it has no lines");
  return out;
}

inline text_features embed_lines(saved_towers& by, const tokenizer& words, const std::string& file,
                                 isize at_once) {
  text_features out{read_lines(file), {}, 0};
  const auto count = static_cast<isize>(out.texts.size());
  out.rows.resize(as_size(count * by.width()));
  tokenizer::scratch work;
  std::vector<tokenizer::token> ids, longer;
  for (isize first = 0; first < count; first += at_once) {
    const isize last = std::min(count, first + at_once);
    std::vector<isize> offsets{0};
    ids.clear();
    for (isize k = first; k < last; ++k) {
      const std::string& text = out.texts[as_size(k)];
      longer.clear();
      out.cut += words.encode(text, by.context() + 1, longer, work) > by.context();
      words.encode(text, by.context(), ids, work);
      offsets.push_back(static_cast<isize>(ids.size()));
    }
    by.embed(tokens{ids.data(), {last - first, 0, offsets.data()}}, out.rows.data() + first * by.width());
  }
  return out;
}

}  // namespace motet::embed
