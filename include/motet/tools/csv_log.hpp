// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/json.hpp>
#include <motet/format/json_write.hpp>
#include <motet/tools/side_log.hpp>

#include <string>
#include <utility>
#include <vector>

namespace motet {

// Lines of numbers under named columns, with commas between them, as spreadsheets read them.
class csv_log {
 public:
  csv_log() = default;  // writes nothing
  csv_log(const std::filesystem::path& path, std::vector<std::string> columns)
      : columns_(std::move(columns)), log_(path, heading(columns_)) {}

  // What a column has no number for stays empty; a line without any is left out.
  void write(const json& line) {
    std::string out;
    bool any = false;
    for (const std::string& each : columns_) {
      const json* const found = line.find(each);
      const bool here = found != nullptr && found->is_number();
      out += (&each == columns_.data() ? "" : ",") + (here ? write_json(*found) : std::string());
      any = any || here;
    }
    if (any) log_.write(out + "\n");
  }

 private:
  static std::string heading(const std::vector<std::string>& columns) {
    std::string out;
    for (const std::string& each : columns) out += (out.empty() ? "" : ",") + each;
    return out + "\n";
  }

  std::vector<std::string> columns_;
  side_log log_;
};

}  // namespace motet
