// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/data/samples/written_pieces.hpp>

#include <unit/data/pairs.hpp>

#include <fstream>

using namespace motet;

namespace {

// "picture(0.png) given(what) asked(a)", or the reason and the words.
std::string told(std::string_view text) {
  const written_sample read = read_written_sample(text);
  if (read.wrong) return std::to_string(static_cast<int>(read.wrong->why)) + " " + read.wrong->detail;
  std::string out = read.id;
  for (const written_piece& each : read.pieces) {
    static constexpr const char* names[] = {"given", "asked", "picture", "sound"};
    out += (out.empty() ? "" : " ") + std::string(names[static_cast<int>(each.kind)]) + "(" + each.text + ")";
  }
  return out;
}

const std::string pieces =
    R"({"pieces":[{"picture":"0.png"},{"given":"what is this?"},{"asked":"a red circle"},{"picture":"1.png"}]})";
const std::string turns =
    R"({"id":"x7","image":["a/x.jpg","y.jpg"],"conversations":[{"from":"human","value":"<image>\nwhat <image>is"},)"
    R"({"from":"gpt","value":"a circle"},{"from":"human","value":"and?"},{"from":"gpt","value":"no"}]})";

}  // namespace

TEST_CASE("pieces in both forms") {
  CHECK(told(pieces) == "picture(0.png) given(what is this?) asked(a red circle) picture(1.png)");
  CHECK(told(turns) ==
        "x7 picture(a/x.jpg) given(\nwhat ) picture(y.jpg) given(is) asked(a circle) given(and?) asked(no)");
  CHECK(
      told(
          R"({"id":3,"image":"x","conversations":[{"from":"human","value":"<image>"},{"from":"gpt","value":"a"}]})") ==
      "3 picture(x) asked(a)");
  CHECK(told(R"({"pieces":[{"sound":"a.wav"},{"given":"what"},{"picture":"0.png"},{"asked":"a"}]})") ==
        "sound(a.wav) given(what) picture(0.png) asked(a)");
  CHECK(
      told(
          R"({"audio":["a.wav","b.flac"],"image":"x","conversations":[{"from":"human","value":"<audio>or <image><audio>?"},{"from":"gpt","value":"a"}]})") ==
      "sound(a.wav) given(or ) picture(x) sound(b.flac) given(?) asked(a)");
  // Text alone, a picture without a question, several answers, blank pieces.
  CHECK(told(R"({"conversations":[{"from":"system","value":"be brief"},{"from":"gpt","value":"ok"}]})") ==
        "given(be brief) asked(ok)");
  CHECK(told(R"({"image":null,"conversations":[{"from":"gpt","value":"ok"}]})") == "asked(ok)");
  CHECK(told(R"({"pieces":[{"given":""},{"asked":"a"},{"asked":"b"}]})") == "asked(a) asked(b)");
}

TEST_CASE("what is wrong is told with numbers") {
  const auto says = [](std::string_view text, skip why, std::string_view words) {
    const std::string found = told(text);
    CAPTURE(found);
    CHECK(found.starts_with(std::to_string(static_cast<int>(why)) + " "));
    CHECK(found.find(words) != std::string::npos);
  };
  says(R"({"image":"x","conversations":[{"from":"human","value":"what"},{"from":"gpt","value":"a"}]})",
       skip::bad_pieces, "its turns have 0 times <image>, and it names 1 pictures");
  says(R"({"conversations":[{"from":"human","value":"<image> <image>"},{"from":"gpt","value":"a"}]})",
       skip::bad_pieces, "its turns have 2 times <image>, and it names 0 pictures");
  says(R"({"image":"x","conversations":[{"from":"gpt","value":"a <image>"}]})", skip::bad_pieces,
       "turn 1 is from gpt and has a <image>");
  says(R"({"conversations":[{"from":"bing","value":"a"}]})", skip::bad_pieces,
       "turn 1 is from \"bing\", wanted human, gpt or system");
  says(R"({"conversations":[{"from":"human","value":"what"}]})", skip::nothing_asked,
       "none of its 1 pieces is a text that is asked for");
  says(R"({"conversations":[]})", skip::nothing_asked, "none of its 0 pieces");
  says(R"({"pieces":[{"asked":" \n"}]})", skip::nothing_asked, "not blank");
  says(R"({"pieces":[{"shown":"0.png"}]})", skip::bad_pieces,
       "piece 1 has the member \"shown\", wanted one of picture, sound, given and asked");
  says(R"({"pieces":[{"asked":"a"},{"asked":"a","given":"b"}]})", skip::bad_pieces, "piece 2 has 2 members");
  says(R"({"pieces":[{"picture":""}]})", skip::bad_pieces, "piece 1 is a picture without a name");
  says(R"({"pieces":[{"sound":""}]})", skip::bad_pieces, "piece 1 is a sound without a name");
  says(R"({"audio":"x","conversations":[{"from":"human","value":"what"},{"from":"gpt","value":"a"}]})",
       skip::bad_pieces, "its turns have 0 times <audio>, and it names 1 sounds");
  says(R"({"audio":"x","conversations":[{"from":"gpt","value":"a <audio>"}]})", skip::bad_pieces,
       "turn 1 is from gpt and has a <audio>; sounds are given, not asked for");
  says(R"({"audio":[""],"conversations":[{"from":"human","value":"<audio>"},{"from":"gpt","value":"a"}]})",
       skip::bad_pieces, "one of its sounds has no name");
  says(R"({"pieces":[{"asked":7}]})", skip::bad_pieces, "an integer");
  says(R"({"pieces":{}})", skip::bad_pieces, "an object");
  says(R"([1])", skip::bad_pieces, "it is an array, wanted an object");
  says(R"({"text":"a"})", skip::bad_pieces, "it has neither \"pieces\" nor \"conversations\"");
  says(R"({"pieces":[],"conversations":[]})", skip::bad_pieces, "both");
  says("{\"pieces\":[{\"asked\":\"a\xff\"}]}", skip::bad_text, "byte 22 of its 27 is no part of a letter");
  says(R"({"pieces":[{"asked":"a")", skip::bad_pieces, "line 1 column");
}

TEST_CASE("whatever the damage, there are pieces or a reason") {
  const random_stream draws(3, "damage");
  std::uint64_t at = 0;
  motet::isize whole = 0, left = 0;
  for (const std::string& text : {pieces, turns}) {
    for (std::size_t length = 0; length < text.size(); ++length)
      CHECK(read_written_sample(std::string_view(text).substr(0, length)).wrong.has_value());
    for (int i = 0; i < 4000; ++i) {
      std::string damaged = text;
      const auto place = [&] { return draws.below(at++, static_cast<std::uint32_t>(damaged.size())); };
      switch (draws.below(at++, 3)) {
        case 0: damaged[place()] = static_cast<char>(draws.below(at++, 256)); break;
        case 1: damaged.erase(place(), 1 + draws.below(at++, 12)); break;
        default: damaged.insert(place(), text.substr(place() % text.size(), 1 + draws.below(at++, 20)));
      }
      const written_sample read = read_written_sample(damaged);
      ++(read.wrong ? left : whole);
      if (read.wrong) CHECK(!read.wrong->detail.empty());
      else CHECK(!read.pieces.empty());
    }
  }
  CHECK(whole > 500);
  CHECK(left > 500);
}

TEST_CASE("samples of a shard that are pieces are told from attributes of pairs") {
  const scratch folder;
  const std::string path = (folder / "file").string();
  const auto tells = [&](const std::string& text) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
    shard_sample made{"a", {{"json", 0, static_cast<motet::isize>(text.size()), false}}};
    return tells_pieces(input_file(path), made);
  };
  CHECK(tells(pieces));
  CHECK(tells(turns));
  CHECK(tells(pieces.substr(0, 40)));  // meant to be one
  CHECK(!tells(R"({"caption":"a","class":3})"));
  CHECK(!tells(R"({"caption":"\"pieces\""})"));
  CHECK(!tells(R"({"caption":"","of":["pieces"]})"));
  CHECK(!tells_pieces(input_file(path), {"a", {}}));
}
