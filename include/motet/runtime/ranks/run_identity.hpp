// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/ranks/build_identity.hpp>
#include <motet/schedule/core/fingerprint.hpp>

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

namespace motet {

// An identity is what must be the same on all ranks of a run, before they wait for each other for the first
// time.
class run_identity {
 public:
  // An item is such as "model", "{...}". Long texts are compared and told by their checksum.
  void add(const std::string& what, const std::string& is);
  void add(const program& of, const std::string& name = "the program");
  // The file that asks says how it is built.
  void add_build() {
    add("build", build_identity());
    add("program file", hexadecimal(program_file_checksum()));
  }

  // This text is sent.
  std::string text() const;
  static run_identity of_text(std::string_view text);

  // A sentence about the first thing in which ranks differ: which ranks have what. It is empty when all are
  // alike.
  static std::string differences(const std::vector<run_identity>& of_ranks);
  // "ranks 0 to 5, 7".
  static std::string list_ranks(const std::vector<std::size_t>& ranks) {
    std::string text = ranks.size() == 1 ? "rank " : "ranks ";
    for (std::size_t i = 0; i < ranks.size();) {
      std::size_t last = i;
      while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
      if (last == i + 1) last = i;  // two are no row
      text +=
          sentence({(i == 0 ? "" : ", "), ranks[i], (last > i ? " to " + std::to_string(ranks[last]) : "")});
      i = last + 1;
    }
    return text;
  }

 private:
  static constexpr std::size_t most_text = 160, most_camps = 4;
  struct item {
    std::string what, is;
  };
  static std::string hexadecimal(std::uint64_t number) {
    char digits[16];
    const auto [end, failed] = std::to_chars(digits, digits + sizeof digits, number, 16);
    return std::string(digits, end);
  }
  std::string find(const std::string& what) const {
    for (const item& each : items_)
      if (each.what == what) return each.is.empty() ? "nothing" : each.is;
    return "not told";
  }
  std::vector<item> items_;
};

#if !defined(MOTET_COMPILED_RANKS)
MOTET_BODY void run_identity::add(const std::string& what, const std::string& is) {
  const auto hash = [&] { return hexadecimal(checksum(std::as_bytes(std::span(is)))); };
  items_.push_back({what, is.size() <= most_text && is.find('\0') == std::string::npos ? is : hash()});
}
MOTET_BODY void run_identity::add(const program& of, const std::string& name) {
  const program_fingerprint found = fingerprint(of);
  add("number of ranks", std::to_string(of.ranks()));
  add("voices of " + name, hexadecimal(found.voices));
  add("places of " + name, hexadecimal(found.places));
  add("slots of " + name, hexadecimal(found.slots));
  add("instructions of " + name, hexadecimal(found.instructions));
}
MOTET_BODY std::string run_identity::text() const {
  std::string all;
  for (const item& each : items_) all += each.what + '\0' + each.is + '\0';
  return all;
}
MOTET_BODY run_identity run_identity::of_text(std::string_view text) {
  run_identity found;
  while (!text.empty()) {
    const auto word = [&] {
      const std::size_t end = std::min(text.find('\0'), text.size());
      std::string one(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
      return one;
    };
    std::string what = word();
    found.items_.push_back({std::move(what), word()});
  }
  return found;
}
MOTET_BODY std::string run_identity::differences(const std::vector<run_identity>& of_ranks) {
  std::vector<std::string> names;
  for (const run_identity& each : of_ranks)
    for (const item& own : each.items_)
      if (std::find(names.begin(), names.end(), own.what) == names.end()) names.push_back(own.what);
  for (const std::string& what : names) {
    std::vector<std::pair<std::string, std::vector<std::size_t>>> camps;
    for (std::size_t r = 0; r < of_ranks.size(); ++r) {
      const std::string is = of_ranks[r].find(what);
      const auto camp =
          std::find_if(camps.begin(), camps.end(), [&](const auto& each) { return each.first == is; });
      if (camp == camps.end()) camps.push_back({is, {r}});
      else camp->second.push_back(r);
    }
    if (camps.size() == 1) continue;
    std::string text = "the " + what + " is ";
    for (std::size_t c = 0; c < camps.size() && c < most_camps; ++c)
      text += (c == 0 ? "" : "; ") + camps[c].first + " on " + list_ranks(camps[c].second);
    return text + (camps.size() > most_camps ? "; and others elsewhere" : "");
  }
  return {};
}
#endif

}  // namespace motet
