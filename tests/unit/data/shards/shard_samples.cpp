// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/data/shards/shard_samples.hpp>

#include <unit/data/pairs.hpp>

using namespace motet;

TEST_CASE("members by samples, neighbours or not, and only the fields that matter") {
  const scratch folder;
  const std::string path = (folder / "t.tar").string();
  tar_writer tar(path);
  tar.add("d/a.0.PNG", "zero");
  tar.add("d/a.json", "{}");
  tar.add("b.txt", "b");
  tar.add("d/a.1.png", "one");
  tar.add("d/a.note", "no matter");
  tar.add("b.json", "{}");
  tar.add("d/a.json", "the begin of another one");
  tar.add(".hidden", "");
  tar.add("none", "");
  tar.add("c.other", "alone");
  tar.finish();
  tar.commit();
  std::string told;
  for_each_sample(
      input_file(path), [](std::string_view field) { return field != "note" && field != "other"; },
      [&](const shard_sample& each) {
        told += each.key + ":";
        for (const shard_member& member : each.members) told += " " + member.field;
        told += ";";
      },
      [&](const std::string& where) { told += where; });
  CHECK(told == "d/a: 0.png json 1.png;b: txt json;d/a: json;c:;");
}

TEST_CASE("a sample has one picture and one caption, whatever their names; the first counts") {
  const scratch folder;
  const std::string path = (folder / "t.tar").string();
  tar_writer tar(path);
  tar.add("a.jpg", "first");
  tar.add("a.png", "second");
  tar.add("a.txt", "words");
  tar.add("a.caption", "more words");
  tar.finish();
  tar.commit();
  motet::isize samples = 0;
  for_each_sample(
      input_file(path), [](std::string_view) { return true; },
      [&](const shard_sample& each) {
        ++samples;
        REQUIRE(each.members.size() == 2);
        CHECK(each.find(is_picture_field)->field == "jpg");
        CHECK(each.find(is_caption_field)->size == 5);
        CHECK(each.find([](std::string_view field) { return field == "json"; }) == nullptr);
      },
      [](const std::string&) { CHECK(false); });
  CHECK(samples == 1);
}
