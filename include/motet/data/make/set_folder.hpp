// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/file.hpp>
#include <motet/data/shards/tar_writer.hpp>
#include <motet/format/text/json_read.hpp>
#include <motet/format/text/json_write.hpp>

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace motet {

// A folder of files that are made together: none of them has its name before all are written, and those of an
// older making that were not made again are then removed. about.json says who made it and which files are its
// own.
class set_folder {
 public:
  // Makes the folder where there is none. Throws MT-D16 where it holds what `maker` did not write.
  set_folder(std::filesystem::path folder, std::string maker)
      : folder_(std::move(folder)), maker_(std::move(maker)) {
    std::error_code problem;
    std::filesystem::create_directories(folder_, problem);
    if (!std::filesystem::is_directory(folder_))
      fail(file_unwritable, folder_.string() + (problem ? ": " + problem.message() : ": not a folder"));
    const std::set<std::string> own = files_of_before();
    std::vector<std::filesystem::path> unfinished;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      const std::string name = entry.path().filename().string();
      // An interrupted making left this file under a temporary name.
      if (name.starts_with('.') && name.find(".tmp-") != std::string::npos)
        unfinished.push_back(entry.path());
      else if (own.contains(name)) before_.insert(name);
      else
        fail(set_folder_taken, folder_.string() + " holds " + name + ", which " + maker_ + " did not write");
    }
    for (const auto& each : unfinished) std::filesystem::remove(each);
  }

  const std::filesystem::path& path() const { return folder_; }
  // The file gets its name with commit(). A shard is finished by whom writes it.
  tar_writer& shard(const std::string& name) {
    shards_.push_back(std::make_unique<tar_writer>((folder_ / name).string()));
    made_.push_back(name);
    return *shards_.back();
  }
  void text(const std::string& name, std::string_view content) {
    texts_.push_back(std::make_unique<atomic_file>(folder_ / name));
    texts_.back()->write(content);
    made_.push_back(name);
  }
  // `about` gains who made the folder and its files.
  void commit(json about) {
    json files(json::array{});
    made_.emplace_back(about_name);
    for (const std::string& each : made_) files.push_back(each);
    about.set("made_by", maker_);
    about.set("files", std::move(files));
    atomic_file last(folder_ / about_name);
    last.write(write_json(about, 1) + "\n");
    for (const auto& each : shards_) each->commit();
    for (const auto& each : texts_) each->commit();
    last.commit();
    for (const std::string& each : made_) before_.erase(each);
    for (const std::string& each : before_) std::filesystem::remove(folder_ / each);
  }

 private:
  static constexpr const char* about_name = "about.json";

  std::set<std::string> files_of_before() const {
    std::set<std::string> out;
    if (!std::filesystem::exists(folder_ / about_name)) return out;
    try {
      const json old = read_json(read_text((folder_ / about_name).string()));
      if (old.at("made_by").string() != maker_) return out;
      for (const json& each : old.at("files").items()) out.insert(each.string());
    } catch (const error&) {
      out.clear();  // nobody's, then
    }
    return out;
  }

  std::filesystem::path folder_;
  std::string maker_;
  std::set<std::string> before_;
  std::vector<std::string> made_;
  std::vector<std::unique_ptr<tar_writer>> shards_;
  std::vector<std::unique_ptr<atomic_file>> texts_;
};

// "train-007.tar", "000017": numbers in names stand in the order of their values.
inline std::string padded(isize value, std::size_t digits) {
  const std::string text = std::to_string(value);
  return text.size() < digits ? std::string(digits - text.size(), '0') + text : text;
}

}  // namespace motet
