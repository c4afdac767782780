// SPDX-License-Identifier: Apache-2.0

// Pictures with captions as they lie on a disk become a data set to train on: shards, a vocabulary, a
// held-out split, classes, and a page that shows what is in it.
#include "pack/preview.hpp"
#include "pack/settings.hpp"

#include <motet/data/words/tokenizer_file.hpp>
#include <motet/data/words/tokenizer_train.hpp>
#include <motet/tools/process/exit_code.hpp>
#include <motet/tools/process/long_work.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>

namespace motet::packing {
namespace {

// Pictures without a text file beside them have their captions in a table often, which is to be given itself.
void list_pictures(listing& into, const std::string& folder, bool classes) {
  const auto before = static_cast<std::ptrdiff_t>(into.pairs().size());
  list_folder(into, folder, classes);
  const auto told = [](const listed_pair& each) { return !each.caption.empty(); };
  if (classes || std::any_of(into.pairs().begin() + before, into.pairs().end(), told)) return;
  std::string table;  // the first one
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string field = field_of(entry.path()), path = entry.path().string();
    if ((field == "csv" || field == "tsv" || field == "jsonl" || field == "json") &&
        (table.empty() || path < table))
      table = path;
  }
  if (!table.empty())
    fail(no_samples, folder +
                         ": no picture has a .txt of its name beside it, but a table lies there; in the " +
                         "folder's place, give --from " + table);
}

void list(const settings& given, listing& into) {
  for (const std::string& each : given.from) {
    std::error_code problem;
    const bool folder = std::filesystem::is_directory(each, problem);
    bool shards = field_of(each) == "tar" || each.find('{') != std::string::npos;
    if (folder)
      for (const auto& entry : std::filesystem::directory_iterator(each))
        shards = shards || entry.path().extension() == ".tar";
    if (shards) into.add_shards(each);
    else if (folder) list_pictures(into, each, given.class_folders);
    else list_file(into, each, given.columns);
  }
  into.caption_by_class(given.class_caption);
}

tokenizer words_of(const settings& given, const listing& from, const sifted& kept) {
  if (!given.tokenizer.empty()) return read_tokenizer(given.tokenizer);
  tokenizer_trainer learner(!given.keep_case);
  for (const isize i : kept.train) learner.add(trimmed(from.pairs()[as_size(i)].caption));
  return learner.train(given.vocabulary);
}

std::string table_of(const std::vector<left_out>& left) {
  std::string out = "where,why\n";
  for (const left_out& each : left) out += csv_cell(each.where) + "," + csv_cell(each.why) + "\n";
  return out;
}

void tell(const settings& given, const contents& of, const skip_log& skips, double seconds) {
  std::printf("%zu samples to train on, %zu held out, %td classes, a vocabulary of %td%s%s (%.1f s)\n",
              of.kept.train.size(), of.kept.held_out.size(), of.classes, of.words.size(),
              given.check ? "; nothing written" : ", in ", given.output.c_str(), seconds);
  std::printf("pictures: shorter sides of %s pixels; captions: %s tokens, %td of more than 32\n",
              spread_of(of.shorter_sides).text().c_str(), spread_of(of.tokens).text().c_str(),
              of.longer_than(32));
  if (skips.count() > 0) std::printf("left out of shards: %s\n", skips.summary().c_str());
  if (!of.kept.left.empty()) {
    std::printf("left out: %zu%s\n", of.kept.left.size(),
                given.check ? "" : (", each named in " + given.output + "/left_out.csv").c_str());
    isize lines = 0;
    for (const auto& [how_many, why] : reasons(of.kept))
      if (++lines <= 5) std::printf("  %td: %s\n", how_many, why.c_str());
  }
  if (!given.check)
    std::printf("next: open %s/preview.html, then train_clip --data %s --model quick --checkpoint run\n",
                given.output.c_str(), given.output.c_str());
}

void pack(const settings& given) {
  const auto started = std::chrono::steady_clock::now();
  // Whether the folder is free is asked before anything long.
  std::unique_ptr<set_folder> folder;
  if (!given.check) folder = std::make_unique<set_folder>(given.output, "pack");
  skip_log skips(given.strict);
  listing from(skips);
  list(given, from);
  long_work waits("pack");
  const auto at = [&](const char* doing, isize all) {
    return [&waits, doing, all](isize done) { waits.at(sentence({doing, done, " of ", all})); };
  };
  const sifted kept = sift(from,
                           {.held_out = given.held_out,
                            .seed = given.seed,
                            .threads = static_cast<int>(given.threads),
                            .strict = given.strict},
                           at("looking at pictures, ", from.pictures()));
  const tokenizer words = words_of(given, from, kept);
  const contents of(from, kept, words);
  std::string sources;
  for (const std::string& each : given.from) sources += (sources.empty() ? "" : ", ") + readable(each);
  if (folder) {
    for (const auto& [split, pairs] : {std::pair("train", &kept.train), std::pair("test", &kept.held_out)})
      write_pairs(*folder, from, kept.pictures, *pairs, split, given.shard,
                  at("writing samples, ", static_cast<isize>(pairs->size())));
    folder->text("tokenizer.json",
                 given.tokenizer.empty() ? format_tokenizer(words) : read_text(given.tokenizer));
    if (of.classes > 0) folder->text("classes.json", format_classes(from, kept, given.class_caption));
    if (!kept.left.empty()) folder->text("left_out.csv", table_of(kept.left));
    folder->text("preview.html", preview(of, readable(folder->path().filename().string()), sources));
    folder->commit(json{{"from", sources},
                        {"seed", given.seed},
                        {"train", static_cast<isize>(kept.train.size())},
                        {"held_out", static_cast<isize>(kept.held_out.size())},
                        {"left_out", static_cast<isize>(kept.left.size())}});
  }
  waits.finish();
  tell(given, of, skips, std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count());
}

}  // namespace
}  // namespace motet::packing

int main(int count, char** words) try {
  motet::packing::settings given;
  if (motet::packing::read_settings(count, words, given)) motet::packing::pack(given);
  return 0;
} catch (const std::exception& problem) {
  const bool ours = dynamic_cast<const motet::error*>(&problem) != nullptr;
  std::fprintf(stderr, "%s%s\n", ours ? "" : "pack: ", problem.what());
  return motet::exit_code_of(problem).status;
}
