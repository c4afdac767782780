// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/make/listing_file.hpp>
#include <motet/tools/process/exit_code.hpp>
#include <motet/tools/process/options.hpp>

#include <cstdio>
#include <thread>

namespace motet::packing {

// The command line of pack.
struct settings {
  std::vector<std::string> from;
  std::string output, tokenizer, class_caption = "a photo of a {}";
  listing_columns columns;
  bool class_folders = false, keep_case = false, strict = false, check = false;
  double held_out = 0.1;
  isize vocabulary = 1024, shard = 5000, threads = 1;
  std::uint64_t seed = 1;
};

// The result is false when --help was asked for and printed.
inline bool read_settings(int count, const char* const* words, settings& to) {
  std::string pictures;
  to.threads = static_cast<isize>(std::max(1u, std::thread::hardware_concurrency()));
  options line(
      "pack",
      "makes a data set of pictures with captions: shards, a vocabulary, a held-out split, classes where "
      "there are any, and a page that shows what is in it");
  line.texts(
      "--from", to.from, "FOLDER|FILE|SHARDS",
      "pictures with a .txt of the same name beside each; or .csv, .tsv, .jsonl, .json; or shards; may be "
      "given several times");
  line.text("--output", to.output, "DIR", "where the set goes: an empty folder, or one that pack wrote");
  line.text("--picture", to.columns.picture, "NAME",
            "the column or member with paths; without it one of the usual names, such as image or file_name");
  line.text("--caption", to.columns.caption, "NAME", "the one with captions; without it caption, text, ...");
  line.text("--class", to.columns.label, "NAME", "the one with classes; without it class, label, ...");
  line.text("--separator", to.columns.separator, "LETTER",
            "between cells; without it a comma, in .tsv a tab");
  line.text("--pictures", pictures, "DIR",
            "what paths in a file are relative to; without it the file's folder");
  line.flag("--class-folders", to.class_folders,
            "in a folder of pictures, the folder that one lies in is its class");
  line.text(
      "--class-caption", to.class_caption, "TEXT",
      "of a picture that has a class and no caption, and of each class when pictures are sorted into them");
  line.real("--held-out", to.held_out, 0, 0.9,
            "share of the pictures that is kept from training, to test with");
  line.count("--vocabulary", to.vocabulary, 258,
             "tokens that are learnt from the captions; as the model holds");
  line.text("--tokenizer", to.tokenizer, "FILE", "take this tokenizer.json instead");
  line.flag("--keep-case", to.keep_case, "learn capitals apart from small letters");
  line.count("--shard", to.shard, 1, "samples of a shard");
  line.count("--seed", to.seed, "another seed holds out other pictures");
  line.count("--threads", to.threads, 1, 1024, "that look at pictures");
  line.flag("--strict", to.strict, "the first pair that cannot be used ends the program");
  line.flag("--check", to.check, "look at everything, say what there is, write nothing");
  if (!line.parse(count, words)) {
    std::fputs((line.help() + exit_table()).c_str(), stdout);
    return false;
  }
  line.require("--from");
  if (!to.check) line.require("--output");
  to.columns.pictures = pictures;
  static_cast<void>(listing::caption_of_class(to.class_caption, ""));
  return true;
}

}  // namespace motet::packing
