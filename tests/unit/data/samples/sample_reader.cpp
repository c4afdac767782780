// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/data/samples/sample_reader.hpp>

#include <unit/data/written_set.hpp>

using namespace motet;

namespace {

example_config config_of(motet::isize rows) {
  example_config config;
  config.image = 4;
  config.context = rows;
  return config;
}

// "p", "g3" for three given tokens, "a4" for four asked ones.
std::string told(const read_sample& from) {
  std::string out;
  for (const auto& each : from.order)
    out += each.kind == piece_kind::picture ? "p "
           : each.kind == piece_kind::sound
               ? "s "
               : (each.kind == piece_kind::given ? "g" : "a") + std::to_string(each.tokens) + " ";
  return out;
}

motet::isize tokens_of(const tokenizer& words, const std::string& text) {
  return static_cast<motet::isize>(words.encode(text).size()) - 2;
}

}  // namespace

TEST_CASE("texts and pictures in their order, with what stands around them") {
  const scratch folder;
  skip_log skips;
  const sample_source source({write_mixed(folder, "a.tar", 0, 5)}, skips);
  const tokenizer words = pairs_tokenizer();
  const sample_form form{5, 1, 2, marks_of(words)};
  sample_reader reader(source, words, config_of(100), form);
  const auto n = [&](const std::string& text) { return std::to_string(tokens_of(words, text)); };
  const auto n1 = [&](const std::string& text) { return std::to_string(tokens_of(words, text) + 1); };
  CHECK(told(*reader.get(0)) == "p g1 a" + n1("a picture of number 0 on the left") + " ");
  CHECK(!reader.get(0)->may_flip);
  CHECK(reader.get(0)->tokens == words.encode("a picture of number 0 on the left"));
  CHECK(told(*reader.get(1)) == "p g" + n("what") + " p g1 a" + n1("number 1") + " ");
  CHECK(reader.get(1)->shots.size() == 2);
  CHECK(reader.get(1)->shots[1] == noise_picture(10, 9, 11));
  CHECK(told(*reader.get(2)) == "g" + n("a number") + " g1 a" + n1("2") + " ");
  CHECK(reader.get(2)->shots.empty());
  CHECK(reader.get(3)->may_flip);
  for (motet::isize i = 0; i < 5; ++i)
    CHECK(reader.rows(i) == source.pictures(i) * 4 + static_cast<motet::isize>(reader.get(i)->tokens.size()));
  CHECK(skips.count() == 0);
  // Pixels are those of a reader of pairs.
  const sample_source same({write_pairs(folder, "b.tar", 0, 3)}, skips);
  const pair_source pairs({(folder / "b.tar").string()}, skips);
  sample_reader one(same, words, config_of(100), form);
  example_reader other(pairs, words, config_of(77));
  std::vector<float> a(48), b(48);
  std::vector<tokenizer::token> tokens;
  for (motet::isize i = 0; i < 3; ++i) {
    tokens.clear();
    const read_sample* const found = one.get(i);
    REQUIRE(found != nullptr);
    one.pixels(*found, 0, nullptr, random_stream(0, 0), a.data());
    REQUIRE(other.read(i, b.data(), tokens));
    CHECK(a == b);
    CHECK(found->tokens == tokens);
  }
}

TEST_CASE("sounds are heard as frames, and those that are damaged, or too many, leave their sample out") {
  const scratch folder;
  skip_log skips;
  const std::string shard = write_heard(folder, "a.tar", 6, [](motet::isize i, std::string& sound) {
    if (i == 5) sound.resize(400);
  });
  const sample_source source({shard}, skips);
  REQUIRE(source.size() == 6);
  const tokenizer words = pairs_tokenizer();
  sample_form form{5, 1, 1, marks_of(words), 0, {.most = 2, .rows = 3, .bins = 6, .frames = 5}};
  sample_reader reader(source, words, config_of(60), form);
  const auto n1 = [&](const std::string& text) { return std::to_string(tokens_of(words, text) + 1); };
  CHECK(told(*reader.get(0)) == "s g1 a" + n1("a number 0") + " ");
  CHECK(told(*reader.get(1)) == "p s g1 a" + n1("number 1") + " ");
  const read_sample& two = *reader.get(2);
  CHECK(told(two).starts_with("s g"));
  REQUIRE(two.heard.size() == 60);
  CHECK(reader.rows(2) == 6 + static_cast<motet::isize>(two.tokens.size()));
  CHECK(reader.rows(1) == 4 + 3 + static_cast<motet::isize>(reader.get(1)->tokens.size()));
  sound_reader ear(6, 5);
  std::vector<float> want(30);
  for (const motet::isize k : {0, 1}) {
    ear.hear(bytes_of_sound(tone_file(k == 0 ? 52 : 2)), want.data());
    const read_sample& again = *reader.get(2);
    CHECK(std::equal(want.begin(), want.end(), again.heard.begin() + 30 * k));
  }
  CHECK(reader.get(5) == nullptr);
  CHECK(
      skips.names(skip::bad_sound).at(0).find("h5 (motet: the sound cannot be decoded: WAV: it ends after") !=
      std::string::npos);
  form.heard.most = 1;
  sample_reader narrow(source, words, config_of(60), form);
  CHECK(narrow.get(2) == nullptr);
  CHECK(skips.names(skip::too_long).at(0).find("h2 (it has 2 sounds, the model takes 1)") !=
        std::string::npos);
  sample_reader deaf(source, words, config_of(60), {5, 1, 1, marks_of(words)});
  CHECK(deaf.get(0) == nullptr);
  sample_reader brief(source, words, config_of(8), form);
  CHECK(brief.get(4) == nullptr);
  CHECK(skips.names(skip::too_long).back().find("1 pictures of 4, 1 sounds of 3 and ") != std::string::npos);
  form.heard.rows = 0;
  CHECK(code_of([&] { sample_reader(source, words, config_of(60), form); }) == "MT-D13");
}

TEST_CASE("marks of vocabularies of language models") {
  tokenizer::parts parts;
  for (int byte = 0; byte < 256; ++byte) parts.texts.push_back(std::string(1, static_cast<char>(byte)));
  for (const char* each : {"<s>", "</s>", "<|im_end|>"}) parts.texts.push_back(each);
  parts.rule = piece_rule::gpt2;
  parts.lower = false;
  parts.added = {{256, "<s>"}, {257, "</s>"}};
  parts.before = {256};
  const piece_marks plain = marks_of(tokenizer(parts));
  CHECK(plain.sample == std::vector<tokenizer::token>{256});
  CHECK(plain.after_asked == std::vector<tokenizer::token>{257});
  CHECK(plain.before_asked.empty());
  parts.added.push_back({258, "<|im_end|>"});
  CHECK(marks_of(tokenizer(parts)).after_asked == std::vector<tokenizer::token>{258});
  parts.after = {257};
  CHECK(marks_of(tokenizer(parts)).after_asked == std::vector<tokenizer::token>{257});
  // The begin of the sample stands before its pictures.
  const scratch folder;
  skip_log skips;
  const sample_source source({write_mixed(folder, "a.tar", 1, 1)}, skips);
  const tokenizer words{parts};
  sample_reader reader(source, words, config_of(100), {5, 0, 2, marks_of(words)});
  CHECK(told(*reader.get(0)) == "g1 p g4 p a9 ");
}

TEST_CASE("each damage has its own reason and sentence") {
  const scratch folder;
  const std::string shard = write_mixed(
      folder, "a.tar", 0, 10,
      [](motet::isize i, std::string& text) {
        if (i == 6) text.replace(text.find("what"), 4, std::string(60, 'x'));
      },
      [](motet::isize i) { return i == 4; });
  write_lines(folder, "b.txt", "good \xff bad\na\nlong " + std::string(60000, 'y') + "\n");
  skip_log skips;
  const sample_source source({shard, (folder / "b.txt").string()}, skips);
  REQUIRE(source.size() == 13);
  const tokenizer words = pairs_tokenizer();
  sample_form form{5, 1, 2, marks_of(words)};
  sample_reader reader(source, words, config_of(40), form);
  motet::isize whole = 0;
  for (motet::isize i = 0; i < source.size(); ++i) whole += reader.get(i) != nullptr ? 1 : 0;
  CHECK(whole == 9);
  CHECK(
      skips.names(skip::bad_picture).at(0).find("s4 (motet: the picture cannot be decoded: the PPM holds") !=
      std::string::npos);
  REQUIRE(skips.names(skip::too_long).size() == 2);
  CHECK(skips.names(skip::too_long)[0].find("s6 (it has ") != std::string::npos);
  CHECK(skips.names(skip::too_long)[0].find(" rows, 2 pictures of 4 and ") != std::string::npos);
  CHECK(skips.names(skip::too_long)[1].find("line 3 (it has 60005 bytes of text, the model takes 40 rows)") !=
        std::string::npos);
  CHECK(
      skips.names(skip::bad_text).at(0).find("line 1 (byte 5 of the 10 of a text is no part of a letter)") !=
      std::string::npos);
  // Rows are counted without a look at pictures.
  CHECK(reader.rows(4) > 0);
  CHECK(reader.rows(6) == -1);
  form.most_pictures = 1;
  sample_reader narrow(source, words, config_of(40), form);
  CHECK(narrow.get(1) == nullptr);
  CHECK(skips.names(skip::too_long).at(2).find("s1 (it has 2 pictures, the model takes 1)") !=
        std::string::npos);
  CHECK(code_of([&] { sample_reader(source, words, config_of(40), {5, 6, 1, {}}); }) == "MT-D13");
  CHECK(code_of([&] { sample_reader(source, words, config_of(40), {5, 1, 1, {}, 2}); }) == "MT-D13");
  form.most_pictures = 2, form.least_pictures = 2;
  sample_reader wide(source, words, config_of(40), form);
  CHECK(wide.get(1) != nullptr);
  CHECK(wide.get(0) == nullptr);
  CHECK(skips.names(skip::no_picture).back().find("(it has 1, the model wants 2)") != std::string::npos);
  form.least_pictures = 0;
  // One token with nothing before it asks for nothing.
  skip_log strict(true);
  const sample_source lines({(folder / "b.txt").string()}, strict);
  form.marks = {};
  sample_reader bare(lines, words, config_of(40), form);
  CHECK(code_of([&] { bare.get(1); }) == "MT-D19");
  CHECK(code_of([&] { bare.get(0); }) == "MT-D17");
  CHECK(code_of([&] { bare.get(2); }) == "MT-D20");
}
