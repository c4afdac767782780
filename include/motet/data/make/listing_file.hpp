// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/make/listing.hpp>
#include <motet/format/text/csv.hpp>
#include <motet/format/text/json_read.hpp>

#include <algorithm>
#include <array>
#include <span>

namespace motet {

// The columns say how a file of rows is to be read. Names that are left empty are found by themselves.
struct listing_columns {
  std::string picture, caption, label;  // names of columns or members
  std::string separator;                // of cells: "," in .csv, a tab in .tsv
  std::filesystem::path pictures;       // what paths in the rows are relative to: the folder of the file
};

namespace detail {

inline constexpr std::array<std::string_view, 12> picture_names{
    "picture",    "image",    "file_name", "filename",   "file", "image_path",
    "image_file", "filepath", "file_path", "image_name", "path", "img"};
inline constexpr std::array<std::string_view, 10> caption_names{
    "caption",     "text",     "captions", "sentence", "sentences",
    "description", "alt_text", "alt",      "comment",  "title"};
inline constexpr std::array<std::string_view, 5> label_names{"class", "label", "class_name", "category",
                                                             "labels"};
inline constexpr std::size_t no_column = static_cast<std::size_t>(-1);

// The first of the usual names that `names` has, capitals or not, or the one asked for.
inline std::size_t find_column(const std::vector<std::string>& names, const std::string& asked,
                               std::span<const std::string_view> usual) {
  if (!asked.empty()) {
    const auto at = std::find(names.begin(), names.end(), asked);
    return at == names.end() ? no_column : static_cast<std::size_t>(at - names.begin());
  }
  for (const std::string_view each : usual)
    for (std::size_t i = 0; i < names.size(); ++i)
      if (lower_ascii(names[i]) == each) return i;
  return no_column;
}

// Picture, caption and class stand here among these names. Throws MT-D15 for those that were asked for, and
// where there are no pictures.
struct row_places {
  std::size_t picture = no_column, caption = no_column, label = no_column;
  row_places() = default;
  row_places(const std::vector<std::string>& names, const listing_columns& by, const std::string& where)
      : picture(find_column(names, by.picture, picture_names)),
        caption(find_column(names, by.caption, caption_names)),
        label(find_column(names, by.label, label_names)) {
    const auto refuse = [&](const char* what, const std::string& asked, const char* option) {
      std::string have;
      for (std::size_t i = 0; i < names.size() && i < 20; ++i)
        have += (i == 0 ? "\"" : ", \"") + names[i].substr(0, 40) + "\"";
      fail(bad_listing,
           where + ": has " + (have.empty() ? "no names" : have) + ", wanted " +
               (asked.empty() ? std::string("one for ") + what + ", such as " + what : "\"" + asked + "\"") +
               "; " + option + " says which");
    };
    if (picture == no_column) refuse("picture", by.picture, "--picture");
    if (caption == no_column && (label == no_column || !by.caption.empty()))
      refuse("caption", by.caption, "--caption");
    if (label == no_column && !by.label.empty()) refuse("class", by.label, "--class");
  }
};

// The text of a value that stands for a name: 3 is the class "3".
inline std::string text_of(const json* value) {
  if (value == nullptr || value->is_null()) return {};
  if (value->is_string()) return value->string();
  if (value->is_integer()) return std::to_string(value->integer());
  fail(json_wrong_kind, std::string("wanted text, got ") + value->kind());
}

class listing_reader {
 public:
  listing_reader(listing& into, const std::string& path, const listing_columns& by)
      : into_(into),
        path_(path),
        by_(by),
        base_(by.pictures.empty() ? std::filesystem::path(path).parent_path() : by.pictures) {}

  void read_cells(std::string_view text, char separator) {
    csv_rows rows(text, path_, separator);
    std::vector<std::string> cells;
    if (!rows.next(cells)) fail(bad_listing, path_ + ": is empty");
    const std::size_t width = cells.size();
    const row_places at(cells, by_, sentence({path_, ", line ", rows.line()}));
    while (rows.next(cells)) {
      if (cells.size() != width)
        fail(csv_malformed, sentence({path_, ", line ", rows.line(), ": has ", cells.size(),
                                      " cells, wanted ", width, " as in the first line"}));
      add(sentence({path_, ", line ", rows.line()}), cells[at.picture],
          at.caption == no_column ? std::string() : std::move(cells[at.caption]),
          at.label == no_column ? std::string() : std::move(cells[at.label]));
    }
  }
  void read_lines(std::string_view text) {
    isize line = 0;
    for (std::size_t from = 0; from < text.size();) {
      const std::size_t end = std::min(text.find('\n', from), text.size());
      const std::string_view own = text.substr(from, end - from);
      from = end + 1;
      ++line;
      if (own.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      const std::string where = sentence({path_, ", line ", line});
      add_row(read_json(own, where + ","), where);
    }
  }
  // An array of rows, or captions as COCO's files have them: pictures with ids beside captions with ids of
  // pictures.
  void read_whole(std::string_view text) {
    const json whole = read_json(text, path_);
    if (whole.is_array()) {
      isize row = 0;
      for (const json& each : whole.items()) add_row(each, sentence({path_, ", item ", ++row}));
      return;
    }
    const json* images = whole.is_object() ? whole.find("images") : nullptr;
    const json* captions = whole.is_object() ? whole.find("annotations") : nullptr;
    if (images == nullptr || captions == nullptr)
      fail(bad_listing,
           path_ + ": wanted an array of rows, or \"images\" and \"annotations\" as COCO has them");
    std::unordered_map<std::int64_t, std::string> files;
    isize row = 0;
    guarded(
        [&] {
          return sentence({path_, ", image ", row});
        },
        [&] {
          for (const json& each : images->items())
            ++row, files.emplace(each.at("id").integer(), each.at("file_name").string());
        });
    row = 0;
    guarded(
        [&] {
          return sentence({path_, ", annotation ", row});
        },
        [&] {
          for (const json& each : captions->items()) {
            ++row;
            const std::int64_t id = each.at("image_id").integer();
            const auto file = files.find(id);
            if (file == files.end())
              fail(bad_listing, sentence({path_, ", annotation ", row, ": no image has the id ", id}));
            add(sentence({path_, ", annotation ", row}), file->second, text_of(each.find("caption")), {});
          }
        });
  }

 private:
  // Text that is no row is refused by the line that it stands in.
  template <class Where, class Work>
  void guarded(Where&& where, Work&& work) const {
    try {
      work();
    } catch (const error& problem) {
      if (problem.code() != std::string_view(json_wrong_kind.code)) throw;
      fail(bad_listing, where() + " (" + problem.what() + ")");
    }
  }
  void add_row(const json& row, const std::string& where) {
    guarded([&] { return where; },
            [&] {
              if (!row.is_object()) fail(json_wrong_kind, std::string("wanted an object, got ") + row.kind());
              if (names_.empty()) {  // the first row says what members are called
                for (const json::member each : row.members()) names_.emplace_back(each.name);
                at_ = row_places(names_, by_, where);
              }
              const auto value = [&](std::size_t at) {
                return at == no_column ? nullptr : row.find(names_[at]);
              };
              const std::string picture = text_of(value(at_.picture)), label = text_of(value(at_.label));
              const json* const caption = value(at_.caption);
              if (caption == nullptr || !caption->is_array()) {
                add(where, picture, text_of(caption), label);
                return;
              }
              if (caption->items().empty()) add(where, picture, {}, label);
              for (const json& each : caption->items()) add(where, picture, text_of(&each), label);
            });
  }
  void add(const std::string& where, const std::string& picture, std::string caption, std::string label) {
    const std::filesystem::path own(picture);
    const isize number = picture.empty()     ? into_.no_picture(where)
                         : own.is_absolute() ? into_.picture(own)
                                             : into_.picture(base_ / own);
    into_.add({number, std::move(caption), std::move(label)});
  }

  listing& into_;
  const std::string& path_;
  const listing_columns& by_;
  std::filesystem::path base_;
  std::vector<std::string> names_;
  row_places at_;
};

}  // namespace detail

// Adds what a file of rows lists: .csv or .tsv with names in its first line, .jsonl with an object in each
// line, .json with an array of such objects or with captions as COCO has them. A member with several captions
// gives as many pairs of one picture. `path` says how to read, and is named in refusals.
inline void list_rows(listing& into, std::string_view text, const std::string& path,
                      const listing_columns& by = {}) {
  detail::listing_reader rows(into, path, by);
  const std::string kind = field_of(path);
  if (by.separator.size() > 1)
    fail(bad_data_option, "a separator of cells is one letter, got \"" + by.separator + "\"");
  if (kind == "jsonl" || kind == "ndjson") rows.read_lines(text);
  else if (kind == "json") rows.read_whole(text);
  else if (kind == "csv" || kind == "tsv" || !by.separator.empty())
    rows.read_cells(text, !by.separator.empty() ? by.separator[0] : kind == "tsv" ? '\t' : ',');
  else
    fail(bad_listing,
         path + ": wanted .csv, .tsv, .jsonl or .json" +
             (kind == "parquet" ? "; pandas writes one: "
                                  "pandas.read_parquet(...).to_json(..., orient=\"records\", lines=True)"
                                : ""));
}
inline void list_file(listing& into, const std::string& path, const listing_columns& by = {}) {
  list_rows(into, read_text(path, isize{1} << 33), path, by);
}

}  // namespace motet
