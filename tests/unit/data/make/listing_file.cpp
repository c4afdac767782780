// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/data/make/listing_file.hpp>

#include <fuzz/data_targets.hpp>
#include <fuzz/mutate.hpp>
#include <unit/data/pairs.hpp>

using namespace motet;

static std::string told(std::string_view text, const std::string& path, const listing_columns& by = {}) {
  skip_log skips;
  listing found(skips);
  try {
    list_rows(found, text, path, by);
  } catch (const error& problem) {
    return problem.what();
  }
  std::string out;
  for (const listed_pair& each : found.pairs())
    out += found.name(each.picture) + "|" + each.caption + "|" + each.label + "\n";
  return out;
}
static bool says(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST_CASE("each form says the same") {
  const std::string wanted = "in/a.png|one, two|cat\nin/b.png||dog\n";
  CHECK(told("image,caption,label\na.png,\"one, two\",cat\nb.png,,dog\n", "in/x.csv") == wanted);
  CHECK(told("caption;note;File_Name;class\none, two;x;a.png;cat\n;y;b.png;dog\n", "in/x.csv",
             {.separator = ";"}) == wanted);
  CHECK(told("path\ttext\tcategory\na.png\tone, two\tcat\nb.png\t\tdog\n", "in/x.tsv") == wanted);
  CHECK(told("{\"file_name\": \"a.png\", \"text\": \"one, two\", \"class\": \"cat\"}\n\n"
             "{\"file_name\": \"b.png\", \"class\": \"dog\"}",
             "in/x.jsonl") == wanted);
  CHECK(
      told(
          R"([{"img": "a.png", "alt": "one, two", "label": "cat"}, {"img": "b.png", "alt": null, "label": "dog"}])",
          "in/x.json") == wanted);
  CHECK(told("where,what\na.png,\"one, two\"\n/top/b.png,z\n", "x.csv",
             {.picture = "where", .caption = "what", .pictures = "in"}) ==
        "in/a.png|one, two|\n/top/b.png|z|\n");
}

TEST_CASE("several captions of one picture, numbers as classes, COCO's form") {
  CHECK(told(R"({"image": "a.png", "captions": ["one", "two"], "label": 3})", "x.jsonl") ==
        "a.png|one|3\na.png|two|3\n");
  CHECK(told(R"({"images": [{"id": 7, "file_name": "a.png"}, {"id": 8, "file_name": "b.png"}],
                "annotations": [{"image_id": 8, "id": 1, "caption": "one"}, {"image_id": 7, "caption": "two"},
                                {"image_id": 8, "caption": "three"}]})",
             "coco.json") == "b.png|one|\na.png|two|\nb.png|three|\n");
  skip_log skips;
  listing found(skips);
  list_rows(found, R"({"image": "a.png", "captions": ["one", "two"]})", "x.jsonl");
  CHECK(found.pictures() == 1);
}

TEST_CASE("what is not understood is named with its line") {
  CHECK(
      says(told("a,b\n1,2\n", "x.csv"),
           "x.csv, line 1: has \"a\", \"b\", wanted one for picture, such as picture; --picture says which"));
  CHECK(says(told("image,b\n1,2\n", "x.csv"), "wanted one for caption"));
  CHECK(says(told("image,caption\n", "x.csv", {.label = "kind"}), "wanted \"kind\"; --class says which"));
  CHECK(says(told("image,caption\na.png\n", "x.csv"), "x.csv, line 2: has 1 cells, wanted 2"));
  CHECK(says(told("{\"image\": \"a\", \"text\": \"b\"}\n{oops}\n", "x.jsonl"),
             "x.jsonl, line 2, line 1 column 2"));
  CHECK(says(told("[1]", "x.jsonl"), "x.jsonl, line 1"));
  CHECK(says(told(R"({"image": "a", "text": {}})", "x.jsonl"), "wanted text, got an object"));
  CHECK(says(told(R"({"images": [], "annotations": [{"image_id": 3, "caption": ""}]})", "x.json"),
             "annotation 1: no image has the id 3"));
  CHECK(says(told("{}", "x.json"), "COCO"));
  CHECK(says(told("", "x.parquet"), "pandas.read_parquet"));
  CHECK(says(told("", "x.csv"), "is empty"));
  CHECK(says(told("image,caption\n,lost\n", "x.csv"), "x.csv, line 2|lost"));
}

TEST_CASE("mutations are read or refused") {
  const std::vector<std::string> rows{
      "{\"file_name\": \"a.png\", \"text\": [\"one\", \"two\"], \"class\": 3}\n{\"file_name\": \"b.png\"}\n"},
      whole{
          R"({"images": [{"id": 7, "file_name": "a.png"}], "annotations": [{"image_id": 7, "caption": "one"}]})"};
  int refused = 0;
  for (std::uint64_t run = 0; run < 3000; ++run)
    refused += (fuzz_listing(mutated(rows, run), ".jsonl") ? 0 : 1) +
               (fuzz_listing(mutated(whole, run), ".json") ? 0 : 1);
  CHECK(refused > 1000);
}
