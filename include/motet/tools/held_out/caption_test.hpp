// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

#include <cctype>
#include <string>
#include <string_view>

namespace motet {

namespace detail {

// at(word) for each run of letters and digits, in lower case; bytes beyond ASCII are letters.
template <class At>
bool all_words(std::string_view text, At&& at) {
  std::string word;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const auto letter = static_cast<unsigned char>(i < text.size() ? text[i] : ' ');
    if (std::isalnum(letter) != 0 || letter >= 128) {
      word += static_cast<char>(std::tolower(letter));
      continue;
    }
    if (!word.empty() && !at(word)) return false;
    word.clear();
  }
  return true;
}

}  // namespace detail

// Says whether a sentence has every word of a name, where a word may have an ending of its own: "three red
// stars" has those of "red star".
inline bool names_all(std::string_view sentence, std::string_view name) {
  return detail::all_words(name, [&](const std::string& wanted) {
    return !detail::all_words(sentence, [&](const std::string& word) {
      if (!word.starts_with(wanted)) return true;
      const std::string_view ending = std::string_view(word).substr(wanted.size());
      return !(ending.empty() || ending == "s" || ending == "es");
    });
  });
}

struct caption_result {
  isize pictures = 0;
  isize right = 0;  // name what there is
  isize exact = 0;  // are the very caption

  void add(std::string_view said, std::string_view subject, std::string_view caption) {
    ++pictures;
    right += names_all(said, subject) ? 1 : 0;
    exact += same_words(said, caption) ? 1 : 0;
  }
  double accuracy() const { return share(right); }
  double exact_share() const { return share(exact); }

 private:
  static bool same_words(std::string_view a, std::string_view b) {
    std::string all[2];
    int which = 0;
    for (const std::string_view text : {a, b}) {
      detail::all_words(text, [&](const std::string& word) {
        all[which] += word + ' ';
        return true;
      });
      ++which;
    }
    return all[0] == all[1];
  }
  double share(isize of) const {
    return pictures > 0 ? static_cast<double>(of) / static_cast<double>(pictures) : 0;
  }
};

}  // namespace motet
