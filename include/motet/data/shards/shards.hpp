// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/messages.hpp>
#include <motet/meta/config.hpp>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>
#if !defined(MOTET_COMPILED_DATA)
#include <filesystem>
#endif

namespace motet {

namespace detail {

inline constexpr std::size_t most_shards = 1000000;

[[noreturn]] inline void refuse_pattern(std::string_view pattern, const std::string& why) {
  fail(bad_shard_pattern, "\"" + std::string(pattern) + "\": " + why);
}

// The place of the brace that closes the one at `open`, or npos.
inline std::size_t closing_brace(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return i;
  }
  return std::string_view::npos;
}

// Parts between the commas that stand in no inner brace.
inline std::vector<std::string_view> split_alternatives(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t from = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      parts.push_back(text.substr(from, i - from));
      from = i + 1;
    } else if (text[i] == '{') {
      ++depth;
    } else if (text[i] == '}') {
      --depth;
    }
  }
  return parts;
}

// {000..007} counts up or down and keeps leading zeros.
inline std::vector<std::string> expand_range(std::string_view pattern, std::string_view inside,
                                             std::size_t dots) {
  const std::string_view first = inside.substr(0, dots), last = inside.substr(dots + 2);
  const auto whole = [&](std::string_view text) {
    isize value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc{} || end != text.data() + text.size() || value < 0)
      refuse_pattern(pattern,
                     "\"" + std::string(text) + "\" is not a whole number (in a range {first..last})");
    return value;
  };
  const isize low = whole(first), high = whole(last);
  if (as_size(high > low ? high - low : low - high) >= most_shards)
    refuse_pattern(pattern, "more than a million shards");
  const bool padded = (first.size() > 1 && first[0] == '0') || (last.size() > 1 && last[0] == '0');
  const std::size_t width = padded ? std::max(first.size(), last.size()) : 0;
  std::vector<std::string> out;
  for (isize value = low;; value += high >= low ? 1 : -1) {
    std::string text = std::to_string(value);
    if (text.size() < width) text.insert(0, width - text.size(), '0');
    out.push_back(std::move(text));
    if (value == high) return out;
  }
}

inline std::vector<std::string> expand_from(std::string_view whole, std::string_view text, int depth) {
  if (depth > 32) refuse_pattern(whole, "braces nested too deeply");
  const std::size_t open = text.find('{');
  if (open == std::string_view::npos) {
    if (text.find('}') != std::string_view::npos) refuse_pattern(whole, "a } closes nothing");
    return {std::string(text)};
  }
  const std::size_t close = closing_brace(text, open);
  if (close == std::string_view::npos) refuse_pattern(whole, "a { is not closed");
  if (text.substr(0, open).find('}') != std::string_view::npos) refuse_pattern(whole, "a } closes nothing");
  const std::string_view inside = text.substr(open + 1, close - open - 1);
  const auto parts = split_alternatives(inside);
  std::vector<std::string> middles;
  if (const std::size_t dots = inside.find("..");
      parts.size() == 1 && dots != std::string_view::npos && inside.find('{') == std::string_view::npos) {
    middles = expand_range(whole, inside, dots);
  } else if (parts.size() == 1) {
    refuse_pattern(whole, "{" + std::string(inside) + "} is neither a range nor a list");
  } else {
    for (const std::string_view part : parts) {
      for (std::string& each : expand_from(whole, part, depth + 1)) middles.push_back(std::move(each));
    }
  }
  const std::vector<std::string> tails = expand_from(whole, text.substr(close + 1), depth + 1);
  if (middles.size() * tails.size() > most_shards) refuse_pattern(whole, "more than a million shards");
  std::vector<std::string> out;
  out.reserve(middles.size() * tails.size());
  for (const std::string& middle : middles) {
    for (const std::string& tail : tails) out.push_back(std::string(text.substr(0, open)) + middle + tail);
  }
  return out;
}

}  // namespace detail

// "a/train-{000..007}.tar" and "{a,b}.tar" become lists of paths, in the order of the pattern.
inline std::vector<std::string> expand_braces(std::string_view pattern) {
  return detail::expand_from(pattern, pattern, 0);
}

// --data may be a pattern, a list of patterns with commas between them, a shard, or a folder, which means its
// .tar files in order of their names. `split`, if given, keeps of a folder only the files that begin with it,
// when there are any.
// Asks for: files or a folder that can be read; at least one shard.
// Memory: the paths.
// Errors: MT-D01, MT-D02, MT-D03, MT-D28
// Example:
//   const std::vector<std::string> four = expand_braces("shapes/train-{000..003}.tar");
std::vector<std::string> list_shards(std::string_view what, std::string_view split = {});
// Lists all files that sample_source reads. A folder gives its shards, or where it has none, its listings, or
// where there are none of these either, its plain texts.
std::vector<std::string> list_sample_files(std::string_view what, std::string_view split = {});

#if !defined(MOTET_COMPILED_DATA)
namespace detail {

// Of what a pattern names this file is not there: nothing is, or fewer than it counts.
[[noreturn]] inline void refuse_missing(std::string_view pattern, const std::vector<std::string>& named,
                                        const std::string& missing, const std::error_code& problem) {
  const auto there = std::count_if(named.begin(), named.end(), [](const std::string& path) {
    std::error_code ignored;
    return std::filesystem::exists(path, ignored);
  });
  if (there == 0) fail(data_unreadable, missing + (problem ? " (" + problem.message() + ")" : ""));
  fail(shards_missing, sentence({"\"", pattern, "\": ", there, " of ", named.size(),
                                 there == 1 ? " is" : " are", " there, ", missing, " is not"}));
}

// The files that `what` says: of folders those that are `ours(path)`, in order of their names.
template <class Ours>
std::vector<std::string> list_files(std::string_view what, std::string_view split, Ours&& ours) {
  std::vector<std::string> files;
  for (const std::string_view pattern : split_alternatives(what)) {
    if (pattern.empty()) continue;
    const std::vector<std::string> named = expand_braces(pattern);
    for (const std::string& path : named) {
      std::error_code problem;
      const auto status = std::filesystem::status(path, problem);
      if (!std::filesystem::exists(status)) refuse_missing(pattern, named, path, problem);
      if (!std::filesystem::is_directory(status)) {
        files.push_back(path);
        continue;
      }
      std::vector<std::string> all, chosen;
      std::filesystem::directory_iterator entries(path, problem);
      if (problem) fail(data_unreadable, path + " (" + problem.message() + ")");
      for (const auto& entry : entries) {
        const std::string name = entry.path().filename().string();
        if (!ours(entry.path())) continue;
        all.push_back(entry.path().string());
        if (!split.empty() && name.starts_with(split)) chosen.push_back(entry.path().string());
      }
      auto& list = chosen.empty() ? all : chosen;
      std::sort(list.begin(), list.end());
      files.insert(files.end(), list.begin(), list.end());
    }
  }
  return files;
}

}  // namespace detail

MOTET_BODY std::vector<std::string> list_shards(std::string_view what, std::string_view split) {
  auto shards = detail::list_files(
      what, split, [](const std::filesystem::path& path) { return path.extension() == ".tar"; });
  if (shards.empty()) fail(no_shards, "\"" + std::string(what) + "\"");
  return shards;
}

MOTET_BODY std::vector<std::string> list_sample_files(std::string_view what, std::string_view split) {
  const auto is_own = [](const std::filesystem::path& path) {
    // These stand beside the samples and are none.
    const std::string name = path.filename().string();
    return name != "tokenizer.json" && name != "classes.json" && name != "about.json";
  };
  static constexpr std::string_view kinds[][3] = {
      {".tar", ".tar", ".tar"}, {".json", ".jsonl", ".jsonl"}, {".txt", ".md", ".text"}};
  for (const auto& kind : kinds) {
    auto files = detail::list_files(what, split, [&](const std::filesystem::path& path) {
      return is_own(path) &&
             std::find(std::begin(kind), std::end(kind), path.extension().string()) != std::end(kind);
    });
    if (!files.empty()) return files;
  }
  fail(no_shards, "\"" + std::string(what) + "\" has no .tar, .json, .jsonl, .txt, .md or .text");
}
#endif

}  // namespace motet
