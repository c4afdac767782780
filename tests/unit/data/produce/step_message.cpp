// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/data/produce/step_message.hpp>

#include <fuzz/data_targets.hpp>
#include <fuzz/mutate.hpp>
#include <unit/data/pairs.hpp>

#include <functional>

using namespace motet;

namespace {

// Two samples: a picture as bytes, a question and an answer; text, a picture that is resized already, and a
// sound.
step_words two_samples() {
  step_words out;
  out.first = 40, out.next = 43, out.pictures = 2;
  out.waiting = {41};
  out.samples = {7, 9};
  out.stretches = {3, 3};
  out.order = {{piece_kind::picture, 0}, {piece_kind::given, 2},   {piece_kind::asked, 3},
               {piece_kind::asked, 4},   {piece_kind::picture, 0}, {piece_kind::sound, 0}};
  out.tokens = {1, 2, 3, 4, 5, 6, 7, 299, 0};
  out.packed = {{0, 32, 9, 8, 1}, {256, 0, 20, 20, 0}};
  out.heard = {0.5f, -1, 0, 2};
  return out;
}
constexpr motet::isize pixels = 32 * 8 + 3 * 8 * 8 * 4;

// What is said of words that were changed before they were sent.
std::string said_of(const std::function<void(step_words&)>& change, motet::isize bytes = pixels) {
  step_words sent = two_samples(), got;
  change(sent);
  std::string wire;
  write_words(sent, wire);
  try {
    read_words(std::as_bytes(std::span(wire)), bytes, fuzz_step_limits, got);
  } catch (const error& problem) {
    CHECK(std::string(problem.code()) == "MT-D23");
    return problem.what();
  }
  return {};
}

}  // namespace

TEST_CASE("what is written is read, and a head of other bytes is known by its checksum") {
  const step_words sent = two_samples();
  step_words got = sent;
  std::string wire;
  write_words(sent, wire);
  read_words(std::as_bytes(std::span(wire)), pixels, fuzz_step_limits, got);
  CHECK(got.first == 40);
  CHECK(got.next == 43);
  CHECK(got.waiting == sent.waiting);
  CHECK(got.samples == sent.samples);
  CHECK(got.stretches == sent.stretches);
  CHECK(got.tokens == sent.tokens);
  CHECK(got.heard == sent.heard);
  REQUIRE(got.order.size() == sent.order.size());
  for (std::size_t k = 0; k < got.order.size(); ++k) {
    CHECK(got.order[k].kind == sent.order[k].kind);
    CHECK(got.order[k].tokens == sent.order[k].tokens);
  }
  REQUIRE(got.packed.size() == 2);
  CHECK(got.packed[1].at == 256);
  CHECK(got.packed[0].flip == 1);

  step_head head;
  head.step = 3;
  head.checksum = head.own_checksum();
  for (std::size_t byte = 0; byte < sizeof head; ++byte) {
    step_head other = head;
    reinterpret_cast<unsigned char*>(&other)[byte] ^= 4;
    CHECK(other.checksum != other.own_checksum());
  }
}

TEST_CASE("words that do not fit together, or the limits, are refused in a sentence") {
  const struct {
    const char* says;
    std::function<void(step_words&)> change;
  } cases[] = {
      {"samples: got 1, wanted 2 to 2", [](step_words& w) { w.samples.pop_back(); }},
      {"number of a sample: got -2", [](step_words& w) { w.samples[0] = -2; }},
      {"place behind it: got 39, wanted 40", [](step_words& w) { w.next = 39, w.waiting.clear(); }},
      {"a place that waits: got 43", [](step_words& w) { w.waiting[0] = 43; }},
      {"pictures: got 4, wanted 0 to 3", [](step_words& w) { w.pictures = 4; }},
      {"sizes of pictures: got 2, wanted 1", [](step_words& w) { w.pictures = 1; }},
      {"stretches of a sample: got 4, wanted 0 to 3", [](step_words& w) { w.stretches[1] = 4; }},
      {"stretches of all samples: got 4, wanted 6", [](step_words& w) { w.stretches[1] = 1; }},
      {"kind of a stretch: got 4", [](step_words& w) { w.order[1].kind = static_cast<piece_kind>(4); }},
      {"tokens of a stretch: got 2, wanted 0 to 0", [](step_words& w) { w.order[0].tokens = 2; }},
      {"tokens of a stretch: got -1", [](step_words& w) { w.order[1].tokens = -1; }},
      {"tokens of all stretches: got 10, wanted 9", [](step_words& w) { w.order[1].tokens = 3; }},
      {"rows of a sample: got 42, wanted 0 to 40",
       [](step_words& w) { w.order[1].tokens = 35, w.tokens.resize(42); }},
      {"rows of all samples: got 77, wanted 0 to 60",
       [](step_words& w) {
         w.order[1].tokens = 33, w.order[2].tokens = 0, w.order[3].tokens = 34;
         w.tokens.assign(67, 1);
       }},
      {"tokens of a stretch: got 1, wanted 0 to 0", [](step_words& w) { w.order[5].tokens = 1; }},
      {"numbers of all sounds: got 3, wanted 4", [](step_words& w) { w.heard.pop_back(); }},
      {"sounds of a sample: got 2, wanted 0 to 1",
       [](step_words& w) { w.stretches[1] = 4, w.order.push_back(w.order.back()); }},
      {"a token: got 300, wanted 0 to 299", [](step_words& w) { w.tokens[4] = 300; }},
      {"a token: got -1", [](step_words& w) { w.tokens[4] = -1; }},
      {"where a picture begins: got 240, wanted 256", [](step_words& w) { w.packed[1].at = 240; }},
      {"rows of patches: got 1, wanted 0 to 0", [](step_words& w) { w.packed[0].rows = 1; }},
      {"bytes of a line: got 48, wanted 32", [](step_words& w) { w.packed[0].pitch = 48; }},
      {"height of a picture: got 0", [](step_words& w) { w.packed[0].height = 0; }},
      {"a picture of 9 x 40 pixels, which has to be resized before",
       [](step_words& w) { w.packed[0].height = 40; }},
  };
  CHECK(said_of([](step_words&) {}).empty());
  for (const auto& each : cases) {
    const std::string said = said_of(each.change);
    INFO(said);
    CHECK(said.find(each.says) != std::string::npos);
  }
  CHECK(said_of([](step_words&) {}, pixels - 1).find("bytes of pictures: got 1023, wanted 1024") !=
        std::string::npos);
}

TEST_CASE("pictures of any shape tell grids that the model takes, and have the rows and the bytes of these") {
  step_limits most = fuzz_step_limits;
  most.bytes = false;
  most.shapes = {2, 4};
  const auto said = [&](const std::function<void(step_words&)>& change) {
    step_words words = two_samples(), got;
    for (packed_picture& each : words.packed) each = {};
    words.packed[0].rows = 1, words.packed[0].columns = 3;
    words.packed[1].rows = 2, words.packed[1].columns = 2;
    words.packed[1].at = 144;
    change(words);
    std::string wire;
    write_words(words, wire);
    try {
      const motet::isize bytes = read_words(std::as_bytes(std::span(wire)), most, got);
      CHECK(bytes == 144 + 192);
      CHECK(got.order[0].shown == 3);
      return std::string();
    } catch (const error& problem) {
      return std::string(problem.what());
    }
  };
  CHECK(said([](step_words&) {}).empty());
  const auto refused = [&](const char* what, const std::function<void(step_words&)>& change) {
    const std::string got = said(change);
    INFO(got);
    CHECK(got.find(what) != std::string::npos);
  };
  refused("columns of patches: got 0, wanted 1 to 4", [](step_words& w) { w.packed[1].columns = 0; });
  refused("patches of a picture: got 6, wanted 0 to 4", [](step_words& w) { w.packed[0].rows = 2; });
  refused("where a picture begins: got 100, wanted 144", [](step_words& w) { w.packed[1].at = 100; });
  refused("bytes of a line: got 16", [](step_words& w) { w.packed[0].pitch = 16; });
}

TEST_CASE("any bytes are words that fit, or are refused") {
  std::string wire, seed(8, '\0');
  write_words(two_samples(), wire);
  const std::int64_t bytes = pixels;
  std::memcpy(seed.data(), &bytes, sizeof bytes);
  const std::vector<std::string> seeds{seed + wire};
  CHECK(fuzz_step(seeds[0]));
  int refused = 0;
  for (std::uint64_t run = 0; run < 20000; ++run) refused += fuzz_step(mutated(seeds, run)) ? 0 : 1;
  CHECK(refused > 10000);
  CHECK(refused < 20000);
}
