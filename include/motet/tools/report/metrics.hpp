// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/files/file.hpp>
#include <motet/format/text/json_read.hpp>
#include <motet/format/text/json_write.hpp>
#include <motet/tools/report/side_log.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace motet {

// One of several losses has its own name behind this among the numbers of a line; TensorBoard shows together
// what begins alike.
inline constexpr std::string_view part_of_loss = "loss/";
inline std::string name_of_part(std::string_view loss) { return sentence({part_of_loss, loss}); }

// One JSON object a line.
class metrics_file {
 public:
  metrics_file() = default;  // writes nothing
  // A run that goes on after step `keep` keeps the lines up to there (those that can be read); -1 starts
  // anew.
  explicit metrics_file(const std::filesystem::path& path, std::int64_t keep = -1)
      : log_(path, kept(path, keep)) {}

  void write(const json& line) { log_.write(write_json(line) + "\n"); }

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
  static std::string kept(const std::filesystem::path& path, std::int64_t keep) {
    std::error_code ignored;
    std::string out;
    if (keep < 0 || !std::filesystem::exists(path, ignored)) return out;
    for (const json& line : read_metrics(path)) {
      const json* step = line.find("step");
      if (step != nullptr && step->is_integer() && step->integer() <= keep && line.find("final") == nullptr)
        out += write_json(line) + "\n";
    }
    return out;
  }

  side_log log_;
};

}  // namespace motet
