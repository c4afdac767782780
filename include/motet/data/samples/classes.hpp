// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/file.hpp>
#include <motet/format/text/json_read.hpp>

#include <unordered_map>

namespace motet {

// The question of zero-shot classification: one caption for each class, and the class of each held-out
// picture.
// Asks for: JSON with the members named below.
// Memory: the names, the captions, and a number for each listed sample.
// Errors: MT-D01, MT-D14
// Example:
//   const class_list two = parse_classes(R"({"classes": [{"name": "cat", "caption": "a cat"},
//     {"name": "dog", "caption": "a dog"}], "samples": {"000017": 1}})");
struct class_list {
  std::vector<std::string> names;
  std::vector<std::string> captions;
  std::unordered_map<std::string, isize> of_sample;

  isize size() const { return static_cast<isize>(names.size()); }
  // -1 when the picture is not listed.
  isize class_of(std::string_view key) const {
    const auto found = of_sample.find(std::string(key));
    return found == of_sample.end() ? -1 : found->second;
  }
};

// {"classes": [{"name": ..., "caption": ...}, ...], "samples": {"key": class, ...}}; other members are
// ignored.
inline class_list parse_classes(std::string_view text, const std::string& origin = "classes.json") {
  class_list made;
  try {
    const json file = read_json(text, origin);
    for (const json& row : file.at("classes").items()) {
      made.names.push_back(row.at("name").string());
      made.captions.push_back(row.at("caption").string());
    }
    for (const json::member row : file.at("samples").members()) {
      const std::int64_t which = row.value.integer();
      if (which < 0 || which >= made.size())
        fail(bad_classes,
             sentence({origin, " (sample ", row.name, " is of class ", which, " of ", made.size(), ")"}));
      made.of_sample.emplace(row.name, static_cast<isize>(which));
    }
  } catch (const error& problem) {
    if (std::string_view(problem.code()) == bad_classes.code) throw;
    fail(bad_classes, origin + " (" + problem.what() + ")");
  }
  if (made.names.empty()) fail(bad_classes, origin + " (no classes)");
  return made;
}
inline class_list read_classes(const std::string& path) { return parse_classes(read_text(path), path); }

}  // namespace motet
