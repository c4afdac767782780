// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/data/samples/sample_source.hpp>
#include <motet/data/samples/source.hpp>

#include <unit/data/written_set.hpp>

using namespace motet;

namespace {

// "picture 9x8, sound of 1644, given what, asked number 1"
std::string told(const sample_source& source, motet::isize i) {
  std::vector<std::string> texts;
  REQUIRE(source.read_texts(i, texts));
  std::string out;
  std::size_t text = 0;
  for (const sample_piece& each : source.pieces(i)) {
    if (!out.empty()) out += ", ";
    if (each.kind == piece_kind::picture) {
      std::vector<std::uint8_t> bytes;
      REQUIRE(source.read_bytes(each, bytes));
      bitmap shot;
      decode_picture(bytes, shot);
      CHECK(shot.width == each.width);
      CHECK(shot.height == each.height);
      out += "picture " + std::to_string(each.width) + "x" + std::to_string(each.height);
    } else if (each.kind == piece_kind::sound) {
      std::vector<std::uint8_t> bytes;
      REQUIRE(source.read_bytes(each, bytes));
      CHECK(begins_like_sound(bytes));
      out += "sound of " + std::to_string(each.size);
    } else {
      out += (each.kind == piece_kind::given ? "given " : "asked ") + texts.at(text++);
    }
  }
  CHECK(text == texts.size());
  return out;
}

}  // namespace

TEST_CASE("pairs, several pictures and text alone in one shard") {
  const scratch folder;
  const std::vector<std::string> shards{write_mixed(folder, "a.tar", 0, 5),
                                        write_mixed(folder, "b.tar", 5, 3)};
  skip_log skips;
  const sample_source source(shards, skips);
  REQUIRE(source.size() == 8);
  CHECK(skips.count() == 0);
  CHECK(told(source, 0) == "picture 9x8, asked a picture of number 0 on the left");
  CHECK(told(source, 1) == "picture 10x8, given what, picture 10x9, asked number 1");
  CHECK(told(source, 2) == "given a number, asked 2");
  CHECK(told(source, 4) == "asked on the left, picture 10x8, asked is 4");
  CHECK(told(source, 6) == "picture 9x8, given what, picture 9x9, asked number 6");
  CHECK(source.name(6) == shards[1] + ": s6");
  CHECK(source.most_pictures() == 2);
  CHECK(source.pictures(2) == 0);
  CHECK(source.pieces(1)[3].size == 8);
  // A source of pairs takes the pairs, and counts the others apart.
  const pair_source pairs(shards, skips);
  CHECK(pairs.size() == 3);
  CHECK(pairs.of_pieces() == 5);
  CHECK(skips.count() == 0);
}

TEST_CASE("a folder of pairs is read as it is") {
  const scratch folder;
  const std::string shard = write_pairs(folder, "a.tar", 0, 6, [](motet::isize i, made_sample& made) {
    if (i == 1) made.picture.clear();
    if (i == 2) made.caption.clear();
    if (i == 3) made.picture = "GIF89a";
  });
  skip_log skips;
  const sample_source source({shard}, skips);
  CHECK(source.size() == 3);
  CHECK(source.key(0) == "pair0");
  CHECK(skips.names(skip::no_picture) == std::vector<std::string>{shard + ": pair1"});
  CHECK(skips.names(skip::no_caption) == std::vector<std::string>{shard + ": pair2"});
  CHECK(skips.names(skip::bad_picture) ==
        std::vector<std::string>{
            shard + ": pair3 (ppm of 6 bytes begins like neither PNG, JPEG nor PPM, or is cut)"});
}

TEST_CASE("conversations with pictures beside, as lines and as an array") {
  const scratch folder;
  std::filesystem::create_directory(folder / "shots");
  write_lines(folder, "shots/a.ppm", encode_ppm(noise_picture(3, 4, 1)));
  write_lines(folder, "b.ppm", encode_ppm(noise_picture(5, 6, 1)));
  const std::string turn = R"({"from":"gpt","value":"yes"}]})";
  const std::vector<std::string> entries{
      R"({"id":"one","image":"shots/a.ppm","conversations":[{"from":"human","value":"<image>\nis it?"},)" +
          turn,
      R"({"image":["b.ppm","shots/a.ppm"],"conversations":[{"from":"human","value":"<image> or <image>?"},)" +
          turn,
      R"({"conversations":[{"from":"human","value":"no picture?"},)" + turn,
      R"({"id":"lost","image":"c.ppm","conversations":[{"from":"human","value":"<image>"},)" + turn,
      R"({"id":"mute","conversations":[{"from":"human","value":"well?"}]})",
      "not json",
      R"({"pieces":[{"asked":"a"},{"picture":"b.ppm"}]})"};
  std::string lines, array;
  for (const std::string& each : entries) {
    lines += each + "\n";
    array += (array.empty() ? "[" : ",\n") + each;
  }
  for (const std::string& path :
       {write_lines(folder, "x.jsonl", lines), write_lines(folder, "x.json", array + "]")}) {
    skip_log skips;
    const sample_source source({path}, skips);
    REQUIRE(source.size() == 4);
    CHECK(source.key(0) == "one");
    CHECK(source.key(1) == "entry 2");
    CHECK(told(source, 0) == "picture 3x4, given \nis it?, asked yes");
    CHECK(told(source, 1) == "picture 5x6, given  or , picture 3x4, given ?, asked yes");
    CHECK(told(source, 2) == "given no picture?, asked yes");
    CHECK(told(source, 3) == "asked a, picture 5x6");
    CHECK(skips.count() == 3);
    CHECK(skips.names(skip::no_picture)
              .at(0)
              .starts_with(path + ": lost (motet: the data cannot be read: " + (folder / "c.ppm").string()));
    CHECK(skips.names(skip::nothing_asked).at(0).starts_with(path + ": mute (none of its 1 pieces"));
    CHECK(skips.names(skip::bad_pieces).at(0).find("entry 6 (") != std::string::npos);
    skip_log strict(true);
    CHECK(code_of([&] { sample_source({path}, strict); }) == "MT-D07");
  }
  skip_log skips;
  const sample_source cut({write_lines(folder, "y.json", array)}, skips);
  CHECK(cut.size() == 3);
  CHECK(skips.names(skip::bad_shard).at(0).find("its array ends inside entry 7") != std::string::npos);
}

TEST_CASE("sounds in shards and beside conversations, and those that are none or not there") {
  const scratch folder;
  skip_log skips;
  const std::string shard = write_heard(folder, "a.tar", 6, [](motet::isize i, std::string& sound) {
    if (i == 3) sound = "ID3 none";
    if (i == 5) sound = "RI";
  });
  write_lines(folder, "t.wav", tone_file(1));
  const std::string lines = write_lines(
      folder, "c.jsonl",
      R"({"id":"one","audio":"t.wav","conversations":[{"from":"human","value":"<audio> what?"},{"from":"gpt","value":"a"}]})"
      "\n"
      R"({"id":"lost","pieces":[{"sound":"u.wav"},{"asked":"a"}]})"
      "\n"
      R"({"id":"text","pieces":[{"sound":"c.jsonl"},{"asked":"a"}]})");
  const sample_source source({shard, lines}, skips);
  REQUIRE(source.size() == 5);
  CHECK(told(source, 0) == "sound of 1644, asked a number 0");
  CHECK(told(source, 1) == "picture 9x8, sound of 1644, asked number 1");
  CHECK(told(source, 2) == "sound of 1644, given what, sound of 1644, asked number 2");
  CHECK(told(source, 4) == "sound of 1644, given  what?, asked a");
  CHECK(source.most_sounds() == 2);
  CHECK(source.most_pictures() == 1);
  CHECK(source.sounds(1) == 1);
  CHECK(skips.count() == 4);
  REQUIRE(skips.count(skip::bad_sound) == 3);
  CHECK(skips.names(skip::bad_sound)[0] ==
        shard + ": h3 (wav of 8 bytes begins like neither WAV nor FLAC, or is cut)");
  CHECK(skips.names(skip::bad_sound)[1].find("h5 (1.WAV of 2 bytes begins like neither") !=
        std::string::npos);
  REQUIRE(skips.count(skip::no_sound) == 1);
  CHECK(skips.names(skip::no_sound)[0].find("lost (motet: the data cannot be read") != std::string::npos);
  CHECK(skips.summary().find("1 samples without sound (") != std::string::npos);
  skip_log strict(true);
  CHECK(code_of([&] { sample_source({shard}, strict); }) == "MT-D21");
  // One that no piece names has no place.
  const std::string other = (folder / "b.tar").string();
  tar_writer tar(other);
  tar.add("k.json", R"({"pieces":[{"asked":"a"}]})");
  tar.add("k.0.wav", tone_file(2));
  tar.add("whole.txt", "a");
  tar.add("whole.wav", tone_file(2));
  tar.finish();
  tar.commit();
  const sample_source unnamed({other}, skips);
  CHECK(unnamed.size() == 1);
  CHECK(skips.names(skip::bad_pieces).back() ==
        other + ": k (no piece names its sound 0.wav, which has no place)");
}

TEST_CASE("plain text: a document a line, or a file") {
  const scratch folder;
  const std::string lines = write_lines(folder, "a.txt", "one document\n\n  another, with \xc3\xa9\r\n"),
                    whole = write_lines(folder, "b.md", "# a document\n\nof lines\n");
  skip_log skips;
  const sample_source source({lines, whole}, skips);
  REQUIRE(source.size() == 3);
  CHECK(source.name(1) == lines + ": line 3");
  CHECK(told(source, 1) == "asked another, with \xc3\xa9");
  CHECK(told(source, 2) == "asked # a document\n\nof lines");
  CHECK(source.most_pictures() == 0);
}

TEST_CASE("placeholders without pictures, and pictures without placeholders") {
  const scratch folder;
  const std::string shard = write_mixed(folder, "a.tar", 0, 10, [](motet::isize i, std::string& text) {
    if (i == 1) text.replace(text.find("1.PPM"), 5, "2.ppm");
    if (i == 6) text = R"({"pieces":[{"picture":"0.ppm"},{"asked":"one"}]})";
    if (i == 2) text = R"({"pieces":[{"given":"a"}]})";
    if (i == 4) text = text.substr(0, 50);
    if (i == 7) text[25] = '\xff';
  });
  skip_log skips;
  const sample_source source({shard}, skips);
  CHECK(source.size() == 5);
  const auto one = [&](skip why) { return skips.names(why).size() == 1 ? skips.names(why)[0] : ""; };
  CHECK(one(skip::no_picture) == shard + ": s1 (a piece names 2.ppm, but the shard has no s1.2.ppm)");
  CHECK(one(skip::nothing_asked).starts_with(shard + ": s2 (none of its 1 pieces"));
  CHECK(one(skip::bad_text) == shard + ": s7 (byte 25 of its 47 is no part of a letter)");
  REQUIRE(skips.count(skip::bad_pieces) == 2);
  CHECK(skips.names(skip::bad_pieces)[1] ==
        shard + ": s6 (no piece names its picture 1.ppm, which has no place)");
}

TEST_CASE("the fingerprint changes with what the samples are") {
  const scratch folder;
  skip_log skips;
  const auto of = [&](const std::string& text) {
    return sample_source({write_lines(folder, "a.txt", text)}, skips).fingerprint();
  };
  CHECK(of("a\nb\n") == of("a\nb\n"));
  CHECK(of("a\nb\n") != of("a\nbb\n"));
  CHECK(of("a\nb\n") != of("a\nb\nc\n"));
}

TEST_CASE("nothing usable, nothing there, and files that change") {
  const scratch folder;
  skip_log skips;
  CHECK(code_of([&] { sample_source({write_lines(folder, "a.json", "[]")}, skips); }) == "MT-D10");
  CHECK(code_of([&] { sample_source({write_lines(folder, "b.txt", "\n")}, skips); }) == "MT-D10");
  CHECK(code_of([&] { sample_source({(folder / "none.json").string()}, skips); }) == "MT-D01");
  const std::string path = write_lines(folder, "c.jsonl", R"({"pieces":[{"asked":"a"}]})");
  const sample_source source({path}, skips);
  write_lines(folder, "c.jsonl", R"({"pieces":[{"asked":"a"])");
  std::vector<std::string> texts;
  CHECK(!source.read_texts(0, texts));
}
