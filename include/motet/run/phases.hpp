// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/file.hpp>
#include <motet/format/text/json_read.hpp>
#include <motet/format/text/json_write.hpp>
#include <motet/tools/messages.hpp>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace motet {

// A phase is a run with words of its own behind those that all phases have.
struct run_phase {
  std::string name;  // of its folders, too
  std::vector<std::string> words;

  bool says(std::string_view option) const { return std::ranges::find(words, option) != words.end(); }
};

// --phases FILE.json is a list of objects, each with a name and options without their dashes: [{"name":
// "glue", "model": "say-quick-glue", "steps": 200}, {"name": "all", "steps": 800, "plan": "apart"}].
inline std::vector<run_phase> read_phases(const std::string& path) {
  const json file = read_json(read_text(path), path);
  const auto refuse = [&](const std::string& what) {
    fail(bad_option_value, "--phases " + path + ": " + what);
  };
  if (!file.is_array() || file.items().empty())
    refuse(std::string("wanted a list of objects, each with a name and the options of a phase, got ") +
           (file.is_array() ? "an empty one" : file.kind()));
  std::vector<run_phase> out;
  for (const json& each : file.items()) {
    const std::string at = "phase " + std::to_string(out.size() + 1);
    if (!each.is_object()) refuse(at + " is " + each.kind() + ", wanted an object");
    const json* const name = each.find("name");
    const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; };
    if (name == nullptr || !name->is_string() || name->string().empty() ||
        !std::ranges::all_of(name->string(), fits))
      refuse(at + " needs a name of letters, digits, - and _, which its folder has, too");
    run_phase phase{name->string(), {}};
    if (std::ranges::find(out, phase.name, &run_phase::name) != out.end())
      refuse("two phases are called " + phase.name);
    for (const json::member one : each.members()) {
      if (one.name == "name") continue;
      for (const std::string_view whole :
           {"checkpoint", "report", "metrics", "tensorboard", "record", "record-gaps", "record-times",
            "resume", "phases", "phase", "config", "explain", "check"})
        if (one.name == whole)
          refuse(phase.name + " has " + std::string(whole) + ", which is of all phases; say --" +
                 std::string(whole) + " on the command line");
      const json& value = one.value;
      if (!value.is_boolean() && !value.is_string() && !value.is_number())
        refuse(phase.name + "'s " + std::string(one.name) + " is " + value.kind() +
               ", wanted a text, a number, true or false");
      if (value.is_boolean() && !value.boolean()) continue;
      phase.words.push_back("--" + std::string(one.name));
      if (!value.is_boolean()) phase.words.push_back(value.is_string() ? value.string() : write_json(value));
    }
    out.push_back(std::move(phase));
  }
  return out;
}

// A folder of a phase below that of all; a file of a phase beside it.
inline std::string folder_of_phase(const std::string& all, const std::string& phase) {
  return all.empty() ? all : (std::filesystem::path(all) / phase).string();
}
inline std::string file_of_phase(const std::string& all, const std::string& phase) {
  if (all.empty()) return all;
  const std::filesystem::path path(all);
  return (path.parent_path() / (path.stem().string() + "-" + phase + path.extension().string())).string();
}

}  // namespace motet
