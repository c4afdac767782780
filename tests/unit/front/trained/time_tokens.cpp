// SPDX-License-Identifier: Apache-2.0
#include <motet/front/trained/time_tokens.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace motet;

namespace {

// Words are 0 to 3, 4 ends a text, 5 begins it, 6 asks for no times, and from 7 on are six of them.
constexpr time_tokens little{.first = 7, .words = 4, .latest_begin = 2};
constexpr std::int32_t first = 7;

// A letter for each token: x is allowed.
std::string allowed(std::vector<float> logits, const std::vector<std::int32_t>& said) {
  const std::vector<float> before = logits;
  keep_timely(std::span<float>(logits), said, little);
  std::string out;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const bool muted = logits[i] == std::numeric_limits<float>::lowest();
    CHECK((muted || logits[i] == before[i]));
    out += muted ? '.' : 'x';
    if (i == 3 || i == 6) out += ' ';
  }
  return out;
}

}  // namespace

TEST_CASE("times frame words, in order; what may follow depends on what was said") {
  // A word that is likelier than all times, and one that is less so.
  std::vector<float> wordy(13, 0.0f), timely(13, 0.0f);
  wordy[2] = 9;
  timely[2] = 1.5f;
  struct row {
    std::vector<std::int32_t> said;
    std::string by_words, by_times;
  };
  const row table[] = {
      // The first is a time, and an early one.
      {{}, ".... ... xxx...", ".... ... xxx..."},
      // Words follow a time that begins a segment.
      {{first + 1}, "xxxx xx. ......", "xxxx xx. ......"},
      // Behind words comes more of them, or a later time.
      {{first + 1, 0}, "xxxx xx. ..xxxx", "xxxx xx. ..xxxx"},
      {{first, 0, 1}, "xxxx xx. .xxxxx", ".... ... .xxxxx"},
      // A segment that has ended is followed by the begin of the next one, at once or later, or by the end.
      {{first, 0, first + 3}, ".... ... ...xxx", ".... ... ...xxx"},
      {{first + 1, 0, first + 3, first + 4}, "xxxx xx. ......", "xxxx xx. ......"},
      {{first + 1, 0, first + 3, first + 3}, "xxxx xx. ......", "xxxx xx. ......"},
      {{first, 0, first + 3, first + 3, 1}, "xxxx xx. ....xx", "xxxx xx. ....xx"},
      // Behind the last time no other can be.
      {{first, 0, first + 5, first + 5, 1}, "xxxx xx. ......", "xxxx xx. ......"},
      {{first, 0, first + 5}, ".... xx. .....x", ".... xx. .....x"},
  };
  for (const row& each : table) {
    CAPTURE(each.said.size());
    CHECK(allowed(wordy, each.said) == each.by_words);
    CHECK(allowed(timely, each.said) == each.by_times);
  }
}

TEST_CASE("a time is said where all together are likelier than any other token, and only then") {
  std::vector<float> logits(13, -20.0f);
  const float half = std::log(0.5f);
  logits[9] = logits[10] = half;  // as likely as one word of logit 0
  logits[1] = 0.01f;
  CHECK(allowed(logits, {first, 0}) == "xxxx xx. .xxxxx");
  logits[1] = -0.01f;
  CHECK(allowed(logits, {first, 0}) == ".... ... .xxxxx");
  // A time that is past does not count, nor does a word that may not be said.
  CHECK(allowed(logits, {first + 2, 0}) == "xxxx xx. ...xxx");
  logits[1] = 9;
  CHECK(allowed(logits, {first, 0, first + 1}) == ".... ... .xxxxx");
  // The end may be likelier than any time.
  logits[4] = 5;
  CHECK(allowed(logits, {first, 0, first + 1}) == ".... xx. .xxxxx");
  // Large logits have sums, too.
  for (float& each : logits) each += 3e4f;
  CHECK(allowed(logits, {first, 0, first + 1}) == ".... xx. .xxxxx");
}

TEST_CASE("a logit that is not finite stays") {
  std::vector<double> logits(13, 0.0);
  logits[0] = std::numeric_limits<double>::quiet_NaN();
  logits[12] = std::numeric_limits<double>::infinity();
  keep_timely(std::span<double>(logits), {}, little);
  CHECK(std::isnan(logits[0]));
  CHECK(logits[1] == std::numeric_limits<double>::lowest());
  CHECK(std::isinf(logits[12]));
}

TEST_CASE("tokens become segments with a begin and an end in seconds") {
  timed_segments segments(little);
  const auto quiet = [&](std::int32_t token) { CHECK(!segments.hear(token)); };
  quiet(first + 1), quiet(3), quiet(2);
  auto ended = segments.hear(first + 3);
  REQUIRE(ended);
  CHECK(ended->begin == doctest::Approx(0.02));
  CHECK(*ended->end == doctest::Approx(0.06));
  CHECK(ended->tokens == std::vector<std::int32_t>{3, 2});
  quiet(first + 4), quiet(1);
  ended = segments.hear(first + 5);
  REQUIRE(ended);
  CHECK(ended->begin == doctest::Approx(0.08));
  CHECK(*ended->end == doctest::Approx(0.1));
  CHECK(!segments.finish());
  // It breaks off behind a word; that begins where the last one ended.
  quiet(0);
  ended = segments.finish();
  REQUIRE(ended);
  CHECK(ended->begin == doctest::Approx(0.1));
  CHECK(!ended->end);
  CHECK(ended->tokens == std::vector<std::int32_t>{0});
  CHECK(!segments.finish());
  CHECK(time_tokens{.first = 50364}.seconds(50364 + 1500) == 30);
  CHECK(!time_tokens{}.is_time(3));
}
