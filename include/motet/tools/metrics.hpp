// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/atomic_file.hpp>
#include <motet/format/file.hpp>
#include <motet/format/json_read.hpp>
#include <motet/format/json_write.hpp>

#include <fstream>
#include <vector>

namespace motet {

// One JSON object a line, written through at once, so that a run that is killed leaves what it measured.
class metrics_file {
 public:
  metrics_file() = default;  // writes nothing
  // A run that goes on after step `keep` keeps the lines up to there (those that can be read); -1 starts
  // anew.
  explicit metrics_file(const std::filesystem::path& path, std::int64_t keep = -1) : path_(path) {
    std::error_code ignored;
    if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), ignored);
    std::string kept;
    if (keep >= 0 && std::filesystem::exists(path, ignored)) {
      for (const json& line : read_metrics(path)) {
        const json* step = line.find("step");
        if (step != nullptr && step->is_integer() && step->integer() <= keep && line.find("final") == nullptr)
          kept += write_json(line) + "\n";
      }
    }
    write_file(path, kept);
    out_.open(path, std::ios::app | std::ios::binary);
    if (!out_) fail(file_unwritable, path.string());
  }

  void write(const json& line) {
    if (!out_.is_open()) return;
    out_ << write_json(line) << '\n' << std::flush;
    if (!out_) fail(disk_full, path_.string());
  }

  // Every line that is a whole JSON object; the last one of a killed run may not be.
  static std::vector<json> read_metrics(const std::filesystem::path& path) {
    std::vector<json> lines;
    const mapped_file file(path);
    std::string_view rest = file.text();
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      const std::string_view line = rest.substr(0, end);
      rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
      try {
        json value = read_json(line, path.string());
        if (value.is_object()) lines.push_back(std::move(value));
      } catch (const error&) {
        continue;
      }
    }
    return lines;
  }

 private:
  std::filesystem::path path_;
  std::ofstream out_;
};

}  // namespace motet
