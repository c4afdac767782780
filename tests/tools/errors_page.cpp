// SPDX-License-Identifier: Apache-2.0
// errors_page [FILE]: prints docs/errors.md, or writes it to FILE, from every message table. Two rows with
// one code are an error.
#include <errors_tables.hpp>

#include <cstdio>
#include <cstring>
#include <map>
#include <string>

namespace {

// On the page a text stands alone; in a message it stands in a line with others.
std::string sentence(std::string text) {
  // Names of things keep their spelling.
  std::size_t word = 0;
  while (word < text.size() && text[word] >= 'a' && text[word] <= 'z') ++word;
  const bool plain = word > 0 && (word == text.size() || text[word] == ' ' || text[word] == ',');
  if (plain && text.rfind("motet", 0) != 0) text[0] = static_cast<char>(text[0] - 'a' + 'A');
  if (!text.empty() && text.back() != '.') text += '.';
  return text;
}

// Codes of one letter in the order of their numbers.
struct by_number {
  bool operator()(const std::string& one, const std::string& other) const {
    const std::size_t letter = std::strlen("MT-");
    if (one[letter] != other[letter]) return one[letter] < other[letter];
    return one.size() != other.size() ? one.size() < other.size() : one < other;
  }
};

}  // namespace

int main(int count, char** words) {
  if (count > 1 && std::freopen(words[1], "w", stdout) == nullptr) {
    std::perror(words[1]);
    return 1;
  }
  std::map<std::string, motet::message, by_number> rows;
  int wrong = 0;
  const auto add_row = [&](const motet::message& row) {
    const auto [at, fresh] = rows.emplace(row.code, row);
    if (!fresh && std::strcmp(at->second.sentence, row.sentence) != 0) {
      std::fprintf(stderr, "two rows have the code %s: \"%s\" and \"%s\"\n", row.code, at->second.sentence,
                   row.sentence);
      wrong = 1;
    }
    if (std::strlen(row.sentence) == 0 || std::strlen(row.cause) == 0 || std::strlen(row.remedy) == 0) {
      std::fprintf(stderr, "the row %s lacks a sentence, a cause or a remedy\n", row.code);
      wrong = 1;
    }
  };
  add_tables([&](const auto& table) {
    for (const motet::message& row : table) add_row(row);
  });

  const auto floor_of = [](char letter) -> const char* {
    switch (letter) {
      case 'T': return "Tensors";
      case 'F': return "Formats";
      case 'N': return "Nets";
      case 'M': return "Models";
      case 'S': return "Strategies";
      case 'P': return "Plans and schedules";
      case 'J': return "Jobs";
      case 'B': return "Back ends";
      case 'D': return "Data";
      case 'R': return "Training and checkpoints";
      case 'X': return "Programs";
      default: return "Others";
    }
  };
  std::printf(
      "# Errors\n\nEvery message of motet ends with a code. This page is made from the message tables by "
      "`errors_page`; do not edit it.\n");
  const char* section = "";
  for (const auto& [code, row] : rows) {
    const char* floor = floor_of(code.size() > 3 ? code[3] : '?');
    if (std::strcmp(floor, section) != 0) {
      std::printf("\n## %s\n\n", floor);
      section = floor;
    } else {
      std::printf("\n");
    }
    std::printf("### %s\n\n%s\n\n- Cause: %s\n- Remedy: %s\n", row.code, sentence(row.sentence).c_str(),
                sentence(row.cause).c_str(), sentence(row.remedy).c_str());
  }
  return wrong;
}
