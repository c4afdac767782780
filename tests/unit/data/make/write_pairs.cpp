// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/data/make/write_pairs.hpp>
#include <motet/data/samples/classes.hpp>
#include <motet/data/steps/loader.hpp>

#include <unit/data/pairs.hpp>

using namespace motet;

TEST_CASE("a folder becomes shards, and the loader gives the same pictures and captions") {
  const scratch folder;
  std::filesystem::create_directories(folder / "in");
  const char* const labels[] = {"cat", "dog", ""};
  skip_log skips;
  listing found(skips);
  std::map<std::string, std::pair<bitmap, std::string>> wanted;  // by caption
  for (int i = 0; i < 30; ++i) {
    const bitmap shot = noise_picture(8 + i % 3, 8, static_cast<std::uint64_t>(i));
    const std::string caption = "number " + std::to_string(i) + ", a \"noise\"";
    const auto path = folder / ("in/" + std::to_string(i) + "\xff.ppm");  // no UTF-8 in its name
    write_file(path, has_png && i % 2 == 0 ? encode_png(shot) : encode_ppm(shot));
    found.add({found.picture(path), caption + "\n", labels[i % 3]});
    wanted[caption] = {shot, labels[i % 3]};
  }
  const sifted kept = sift(found, {.held_out = 0.2});
  motet::isize told = 0;
  {
    set_folder made(folder / "set", "tester");
    write_pairs(made, found, kept.pictures, kept.train, "train", 10, [&](motet::isize done) { told = done; });
    write_pairs(made, found, kept.pictures, kept.held_out, "test", 10);
    made.text("classes.json", format_classes(found, kept, "a {} here"));
    made.commit({});
  }
  CHECK(told == 24);
  CHECK(folder.names("set") == std::set<std::string>{"about.json", "classes.json", "test-000.tar",
                                                     "train-000.tar", "train-001.tar", "train-002.tar"});
  const class_list classes = read_classes((folder / "set/classes.json").string());
  CHECK(classes.names == std::vector<std::string>{"cat", "dog"});
  CHECK(classes.captions[1] == "a dog here");
  std::size_t seen = 0;
  std::vector<std::uint8_t> bytes;
  bitmap read;
  for (const char* split : {"train", "test"}) {
    const pair_source source(list_shards((folder / "set").string(), split), skips);
    for (motet::isize i = 0; i < source.size(); ++i, ++seen) {
      REQUIRE(source.read_caption(i, bytes));
      const auto& own = wanted.at(std::string(bytes.begin(), bytes.end()));
      REQUIRE(source.read_picture(i, bytes));
      decode_picture(bytes, read);
      CHECK(read == own.first);
      const motet::isize which = classes.class_of(source.key(i));
      if (*split == 'r') CHECK(which < 0);
      if (split[1] == 'e') CHECK((which < 0 ? "" : classes.names[as_size(which)]) == own.second);
    }
  }
  CHECK(seen == 30);
  // The loader itself reads them, too.
  const tokenizer words = pairs_tokenizer();
  const pair_source source(list_shards((folder / "set").string(), "train"), skips);
  pair_loader loader(source, words, {.batch = 24, .augment = {}, .example = {.image = 8, .context = 40}});
  const pair_batch& batch = loader.next();
  std::set<std::string> captions;
  for (motet::isize s = 0; s < 24; ++s) {
    const auto* const from = batch.tokens.data();
    captions.insert(words.decode(std::vector<tokenizer::token>(from + batch.offsets[as_size(s)] + 1,
                                                               from + batch.offsets[as_size(s) + 1] - 1)));
  }
  CHECK(captions.size() == 24);
  for (const std::string& each : captions) CHECK(wanted.contains(each));
  CHECK(skips.count() == 0);
}

TEST_CASE("a picture that changes while the set is made ends it") {
  const scratch folder;
  skip_log skips;
  listing found(skips);
  write_file(folder / "a.ppm", encode_ppm(noise_picture(3, 3, 1)));
  found.add({found.picture(folder / "a.ppm"), "one", {}});
  const sifted kept = sift(found);
  write_file(folder / "a.ppm", encode_ppm(noise_picture(3, 3, 2)));
  set_folder made(folder / "set", "tester");
  CHECK(code_of([&] { write_pairs(made, found, kept.pictures, kept.train, "train", 10); }) == "MT-D01");
}
