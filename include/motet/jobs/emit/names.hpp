// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/files/checksum.hpp>
#include <motet/format/text/utf8.hpp>
#include <motet/jobs/messages.hpp>
#include <motet/meta/config.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

namespace motet {

// Names of jobs come from anybody, and go into files that a shell, Lua, Slurm and Kubernetes read. Here is
// how each of them writes a name so that it stays one.

constexpr bool is_letter_or_digit(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9');
}

constexpr bool is_control(char letter) { return static_cast<unsigned char>(letter) < 32 || letter == 127; }

// A name that no file can tell is refused (MT-J31): not UTF-8, with control characters, empty or too long.
inline void require_job_name(std::string_view name) {
  constexpr std::size_t longest = 200;
  const auto refuse = [&](const std::string& why) {
    std::string shown;
    for (const char letter : name.substr(0, 60)) shown += letter >= ' ' && letter <= '~' ? letter : '?';
    fail(jobs_bad_name, "the job \"" + shown + "\" " + why);
  };
  if (name.empty()) refuse("has no name");
  if (name.size() > longest)
    refuse(sentence({"has a name of ", name.size(), " bytes, wanted at most ", longest}));
  if (utf8_first_bad(name) != name.npos) refuse("has a name that is no UTF-8");
  if (std::any_of(name.begin(), name.end(), is_control)) refuse("has a control character in its name");
}

// One file for each name, and no folder: what is neither letter, digit, dot, dash nor underscore is written
// as '=' and two digits, and so is a dot or a dash in front.
inline std::string file_name_of(std::string_view name) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (const char letter : name) {
    const bool plain =
        is_letter_or_digit(letter) || letter == '_' || ((letter == '.' || letter == '-') && !out.empty());
    if (plain) {
      out += letter;
    } else {
      const auto byte = static_cast<unsigned char>(letter);
      out += '=';
      out += digits[byte >> 4];
      out += digits[byte & 15];
    }
  }
  return out;
}

// One word of a shell.
inline std::string shell_word(std::string_view text) {
  std::string out = "'";
  for (const char letter : text) {
    if (letter == '\'') out += "'\\''";
    else out += letter;
  }
  return out + "'";
}

// A text of Lua, of any bytes.
inline std::string lua_text(std::string_view text) {
  std::string out = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') {
      out += '\\';
      out += letter;
    } else if (is_control(letter)) {
      const std::string number = std::to_string(int{static_cast<unsigned char>(letter)});
      out += "\\" + std::string(3 - number.size(), '0') + number;
    } else {
      out += letter;
    }
  }
  return out + "\"";
}

// The value of an option in a line `#SBATCH --name=value`, which sbatch takes apart as a shell does without
// looking into variables.
inline std::string sbatch_value(std::string_view text) {
  std::string out = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') out += '\\';
    out += letter;
  }
  return out + "\"";
}

// A label of DNS, as objects of Kubernetes are called: small letters, digits and dashes, at most `longest`. A
// name that had to be changed ends in a number of its own, so that two names stay two.
inline std::string kube_name(std::string_view name, std::size_t longest = 32) {
  std::string out;
  for (const char letter : name) {
    if (letter >= 'A' && letter <= 'Z') out += static_cast<char>(letter - 'A' + 'a');
    else if (is_letter_or_digit(letter)) out += letter;
    else if (!out.empty() && out.back() != '-') out += '-';
  }
  // A service's name begins with a letter.
  if (out.empty() || !(out[0] >= 'a' && out[0] <= 'z')) out = "job-" + out;
  if (out == name && out.size() <= longest && out.back() != '-') return out;
  constexpr char digits[] = "0123456789abcdefghijklmnopqrstuv";
  std::uint64_t number = checksum(std::as_bytes(std::span(name)));
  std::string ending = "-";
  for (int i = 0; i < 12; ++i, number >>= 5) ending += digits[number & 31];
  out.resize(std::min(out.size(), longest - ending.size()));
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out + ending;
}

// A host, a partition, a feature or a value of a label: letters, digits, dots, dashes and underscores, with a
// letter or a digit at both ends. Nothing that Slurm or Flux would read as a list.
inline bool is_plain_name(std::string_view name, std::size_t longest = 63) {
  return !name.empty() && name.size() <= longest && is_letter_or_digit(name.front()) &&
         is_letter_or_digit(name.back()) && std::all_of(name.begin(), name.end(), [](char letter) {
           return is_letter_or_digit(letter) || letter == '.' || letter == '-' || letter == '_';
         });
}

}  // namespace motet
