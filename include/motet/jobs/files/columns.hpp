// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/text/csv.hpp>
#include <motet/jobs/messages.hpp>
#include <motet/meta/nearest.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace motet {

// Rows of a table whose first line names its columns, in any order. What does not fit is told with the line
// and the column, what was got and what was wanted.
class named_columns {
 public:
  // Throws MT-J01 where a column of `wanted` is missing, or one occurs that is neither wanted nor in `also`.
  // The text outlives the reader.
  named_columns(std::string_view text, std::string origin, std::vector<std::string_view> wanted,
                const std::vector<std::string_view>& also = {})
      : rows_(text, std::move(origin)), names_(std::move(wanted)) {
    const std::size_t needed = names_.size();
    names_.insert(names_.end(), also.begin(), also.end());
    places_.assign(names_.size(), npos);
    if (!rows_.next(cells_))
      fail(jobs_columns_differ, rows_.origin() + " is empty, wanted a first line with " + list_of(needed));
    for (std::size_t c = 0; c < cells_.size(); ++c) {
      const auto at = std::find(names_.begin(), names_.end(), cells_[c]);
      const std::string where = sentence(
          {rows_.origin(), ", line ", rows_.line(), ", column ", c + 1, ": got \"", cells_[c], "\""});
      if (at == names_.end()) {
        const std::string near(nearest(cells_[c], names_));
        fail(jobs_columns_differ,
             where + (near.empty() ? ", wanted " + list_of(names_.size()) : "; did you mean " + near));
      }
      std::size_t& place = places_[as_size(at - names_.begin())];
      if (place != npos) fail(jobs_columns_differ, where + " a second time");
      place = c;
    }
    width_ = cells_.size();
    for (std::size_t n = 0; n < needed; ++n)
      if (places_[n] == npos)
        fail(jobs_columns_differ, sentence({rows_.origin(), ", line ", rows_.line(), ": no column ",
                                            names_[n], ", wanted ", list_of(needed)}));
  }

  bool next() {
    if (!rows_.next(cells_)) return false;
    if (cells_.size() != width_)
      fail(jobs_columns_differ, sentence({rows_.origin(), ", line ", rows_.line(), ": got ", cells_.size(),
                                          " cells, wanted ", width_, " as in the first line"}));
    return true;
  }
  isize line() const { return rows_.line(); }
  const std::string& origin() const { return rows_.origin(); }

  // Columns by their number: those wanted, then those that may be.
  bool has(std::size_t column) const { return places_[column] != npos; }
  const std::string& text(std::size_t column) const {
    static const std::string none;
    return has(column) ? cells_[places_[column]] : none;
  }
  const std::string& name(std::size_t column, const char* wanted) const {
    if (text(column).empty()) refuse(column, wanted);
    return text(column);
  }
  double real(std::size_t column, double least, double most, const char* wanted) const {
    double out = 0;
    const std::string& cell = text(column);
    const auto [end, bad] = std::from_chars(cell.data(), cell.data() + cell.size(), out);
    if (bad != std::errc{} || end != cell.data() + cell.size() || !std::isfinite(out) || out < least ||
        out > most)
      refuse(column, wanted);
    return out;
  }
  isize whole(std::size_t column, isize least, isize most, const char* wanted) const {
    isize out = 0;
    const std::string& cell = text(column);
    const auto [end, bad] = std::from_chars(cell.data(), cell.data() + cell.size(), out);
    if (bad != std::errc{} || end != cell.data() + cell.size() || out < least || out > most)
      refuse(column, wanted);
    return out;
  }
  // "FILE, line 3, column batch_size".
  std::string where(std::size_t column) const {
    return sentence({rows_.origin(), ", line ", rows_.line(), ", column ", names_[column]});
  }
  [[noreturn]] void refuse(std::size_t column, const char* wanted) const {
    fail(jobs_bad_cell, where(column) + ": got \"" + text(column) + "\", wanted " + wanted);
  }

 private:
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);
  std::string list_of(std::size_t count) const {
    std::string out;
    for (std::size_t n = 0; n < count; ++n) out += (n > 0 ? "," : "") + std::string(names_[n]);
    return out;
  }

  csv_rows rows_;
  std::vector<std::string_view> names_;
  std::vector<std::size_t> places_;
  std::vector<std::string> cells_;
  std::size_t width_ = 0;
};

}  // namespace motet
