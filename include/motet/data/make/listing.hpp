// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/file.hpp>
#include <motet/data/pictures/decode.hpp>
#include <motet/data/samples/source.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace motet {

// Says of which picture something is the caption. Several may be of one picture.
struct listed_pair {
  isize picture = 0;    // its number in the listing
  std::string caption;  // empty where there is none
  std::string label;    // the name of its class, or empty
};

// Pictures with captions from wherever they lie, before anything is known about them but their names: the
// pictures are neither looked at nor copied. One listing may hold several folders, tables and shards.
class listing {
 public:
  // Samples that are left out while shards are read go into `skips`, which outlives the listing.
  explicit listing(skip_log& skips) : skips_(&skips) {}

  // The number of the picture in this file; the same file has the same number.
  isize picture(const std::filesystem::path& path) {
    const auto [at, anew] = known_.try_emplace(path.lexically_normal().string(), pictures());
    if (anew) pictures_.push_back({at->first, nullptr, 0});
    return at->second;
  }
  // A row may name none: the reason why its pair is left out says where it stands.
  isize no_picture(std::string where) {
    pictures_.push_back({std::move(where), nullptr, -1});
    return pictures() - 1;
  }
  void add(listed_pair made) { pairs_.push_back(std::move(made)); }
  // Pairs without a caption that have a class get one: `form` with the class in place of {}.
  void caption_by_class(std::string_view form) {
    for (listed_pair& each : pairs_)
      if (trimmed(each.caption).empty() && !each.label.empty())
        each.caption = caption_of_class(form, each.label);
  }
  static std::string caption_of_class(std::string_view form, std::string_view label) {
    const std::size_t at = form.find("{}");
    if (at == std::string_view::npos)
      fail(bad_data_option,
           "the caption of a class has {} where its name goes, got \"" + std::string(form) + "\"");
    return std::string(form.substr(0, at)) + std::string(label) + std::string(form.substr(at + 2));
  }
  // All samples of WebDataset shards, as list_shards() says them.
  void add_shards(std::string_view what) {
    shards_.push_back(std::make_unique<pair_source>(list_shards(what), *skips_));
    const pair_source& from = *shards_.back();
    std::vector<std::uint8_t> caption;
    for (isize i = 0; i < from.size(); ++i) {
      if (!from.read_caption(i, caption)) caption.clear();
      pictures_.push_back({from.name(i), &from, i});
      add({pictures() - 1, {reinterpret_cast<const char*>(caption.data()), caption.size()}, {}});
    }
  }

  isize pictures() const { return static_cast<isize>(pictures_.size()); }
  const std::vector<listed_pair>& pairs() const { return pairs_; }
  // A path, or "shard.tar: key".
  const std::string& name(isize picture) const { return pictures_[as_size(picture)].name; }
  // Reads the picture's bytes, whatever they are. Throws MT-D01 or MT-D07. Any thread may call it.
  void read(isize picture, std::vector<std::uint8_t>& into) const {
    static constexpr isize largest = isize{1} << 28;
    const place& own = pictures_[as_size(picture)];
    if (own.sample < 0) fail(missing_field, own.name + " names no picture");
    if (own.shard != nullptr) {
      if (!own.shard->read_picture(own.sample, into)) fail(data_unreadable, own.name);
      return;
    }
    const input_file file(own.name);
    if (file.size() > largest)
      fail(data_unreadable, sentence({own.name, " (", file.size(), " bytes, wanted at most ", largest, ")"}));
    into.resize(as_size(file.size()));
    if (file.read(0, into) != file.size()) fail(data_unreadable, own.name + " (cut short while reading)");
  }

 private:
  struct place {
    std::string name;
    const pair_source* shard;
    isize sample;
  };
  skip_log* skips_;
  std::vector<place> pictures_;
  std::vector<listed_pair> pairs_;
  std::unordered_map<std::string, isize> known_;
  std::vector<std::unique_ptr<pair_source>> shards_;
};

namespace detail {

inline std::string lower_ascii(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return out;
}

}  // namespace detail

// The letters behind the last dot of a path, in small letters: "jpg".
inline std::string field_of(const std::filesystem::path& path) {
  const std::string extension = path.extension().string();
  return detail::lower_ascii(extension.empty() ? std::string_view() : std::string_view(extension).substr(1));
}

// All files below a folder that the endings of their names are wanted of, in the order of their paths; there
// is one at least. `endings`: what the message calls them.
inline std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder,
                                                      bool (*wanted)(std::string_view), const char* endings) {
  namespace fs = std::filesystem;
  std::error_code problem;
  std::vector<fs::path> found;
  fs::recursive_directory_iterator at(folder, fs::directory_options::follow_directory_symlink, problem);
  if (problem) fail(data_unreadable, folder.string() + " (" + problem.message() + ")");
  for (; at != fs::recursive_directory_iterator(); at.increment(problem)) {
    if (problem) fail(data_unreadable, folder.string() + " (" + problem.message() + ")");
    if (at.depth() > 64)
      fail(data_unreadable, at->path().string() + " (folders nested deeper than 64: a link to one above?)");
    const std::string name = at->path().filename().string();
    if (name.starts_with('.')) {
      if (at->is_directory(problem)) at.disable_recursion_pending();
      continue;
    }
    if (wanted(field_of(at->path())) && !at->is_directory(problem)) found.push_back(at->path());
  }
  if (found.empty())
    fail(no_samples, folder.string() + ": no " + endings + " lies in it, nor in a folder below");
  std::sort(found.begin(), found.end());
  return found;
}
inline std::vector<std::filesystem::path> pictures_below(const std::filesystem::path& folder) {
  return files_below(folder, is_picture_field, ".png, .jpg, .jpeg or .ppm");
}

// Adds all pictures below a folder. A picture's caption is the text file of the same name beside it. Where
// `classes`, a picture's class is the name of the folder that it lies in, which is then not the top one.
inline void list_folder(listing& into, const std::filesystem::path& folder, bool classes = false) {
  namespace fs = std::filesystem;
  std::error_code problem;
  for (const fs::path& each : pictures_below(folder)) {
    std::string caption;
    for (const char* extension : {".txt", ".text", ".caption"}) {
      fs::path beside = each;
      beside.replace_extension(extension);
      if (!fs::exists(beside, problem)) continue;
      caption = read_text(beside.string(), isize{1} << 20);
      break;
    }
    const fs::path inside = each.parent_path().lexically_relative(folder);
    const bool labelled = classes && !inside.empty() && inside != ".";
    into.add({into.picture(each), std::move(caption), labelled ? inside.filename().string() : std::string()});
  }
}

}  // namespace motet
