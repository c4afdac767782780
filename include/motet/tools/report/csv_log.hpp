// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/text/json.hpp>
#include <motet/format/text/json_write.hpp>
#include <motet/tools/report/side_log.hpp>

#include <string>
#include <vector>

namespace motet {

// Lines of numbers under named columns, with commas between them, as spreadsheets read them.
class csv_log {
 public:
  csv_log() = default;  // writes nothing
  // columns: their names, with commas between them, as the file's first line has them.
  csv_log(const std::filesystem::path& path, const std::string& columns) : log_(path, columns + "\n") {
    for (std::size_t at = 0, end = 0; end != std::string::npos; at = end + 1) {
      end = columns.find(',', at);
      columns_.push_back(columns.substr(at, end == std::string::npos ? end : end - at));
    }
  }

  // A column without a number stays empty; a line without any is left out.
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
  std::vector<std::string> columns_;
  side_log log_;
};

}  // namespace motet
