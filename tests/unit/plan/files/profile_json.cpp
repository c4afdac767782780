// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/files/profile_json.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

machine_profile profile() {
  machine_profile out;
  out.machine = "two \"quoted\" cores";
  out.activation_bytes = 2;
  out.product_flops = 1.25e11;
  out.copy_bytes_per_second = 9.5e9;
  tower_outline picture, caption;
  picture.name = "picture";
  picture.layers = 4;
  picture.width = 128;
  picture.heads = 4;
  picture.tokens = 65;
  picture.patch = 192;
  picture.embedding = 64;
  picture.end = tower_end::block_of_row;
  picture.pre_norm = true;
  caption = picture;
  caption.name = "caption";
  caption.patch = 0;
  caption.vocabulary = 1024;
  caption.tokens = 32;
  caption.frozen = true;
  module_profile one{picture, {}}, other{caption, {}};
  for (int i = 1; i < 4; ++i) {
    const double t = 1e-3 / 3 * i;
    add_point(one, {i, 8.0 * i, {t, 0.5 * t, 0.25 * t}, {10 * t, 9 * t, 8 * t}, {t / 7, t / 11, t / 13}});
  }
  add_point(other, {1, 8, {1e-6, 0, 0}, {3e-5, 0, 0}, {1e-7, 0, 0}});
  out.modules.push(one);
  out.modules.push(other);
  module_pair two{"picture", "caption", 16, {}};
  add_point(two, {0.25, 1, 3, 1 + 1.0 / 7, 1.5});
  add_point(two, {0.5, 2, 2, 0.99, 1.25});
  out.pairs.push(two);
  out.pairs.push({"picture", "sound", 4, two.points});
  out.gaps.push({"picture", {.tensor = 2, .context = 4}, {1.0 / 3, 0.25, 0}});
  out.gaps.push({"caption", {.zero = 3, .data = 8}, {0.99, 1.0 / 7, 1e-3}});
  out.gaps.push({"caption", {.experts = 4}, {0, 0.5, 0.125}});
  out.times.push({"picture", 4, 1e6 / 3, 2, 1, 1, 0.0625, {{{4e6, 5e6, 6e6}, {0.125, 0.5, 1.0 / 3}}}});
  out.times.push(
      {"picture", 4, 1e6 / 3, 1, 4, 2, 0, {{{1e6, 0, 0}, {1e-3, 0, 0}}, {{2e6, 0, 0}, {1e-3, 0, 0}}}});
  return out;
}
bool equal(const part_times& a, const part_times& b) {
  return a.forward == b.forward && a.backward_input == b.backward_input &&
         a.backward_weight == b.backward_weight;
}
// The usual text with one piece of it replaced.
std::string with(std::string_view piece, std::string_view by) {
  std::string text = format_profile(profile());
  const std::size_t at = text.find(piece);
  REQUIRE(at != std::string::npos);
  return text.replace(at, piece.size(), by);
}
void refuses(const std::string& text, const char* code, const char* part) {
  CAPTURE(text);
  CHECK_THROWS_WITH_AS(parse_profile(text, "f.json"), doctest::Contains(code), error);
  CHECK_THROWS_WITH_AS(parse_profile(text, "f.json"), doctest::Contains(part), error);
  CHECK_THROWS_WITH_AS(parse_profile(text, "f.json"), doctest::Contains("f.json"), error);
}

}  // namespace

TEST_CASE("what is written is read, to the last bit") {
  const machine_profile wrote = profile(), read = parse_profile(format_profile(wrote), "f.json");
  CHECK(read.machine == wrote.machine);
  CHECK(read.activation_bytes == wrote.activation_bytes);
  CHECK(read.product_flops == wrote.product_flops);
  CHECK(read.copy_bytes_per_second == wrote.copy_bytes_per_second);
  REQUIRE(read.modules.size() == wrote.modules.size());
  for (motet::isize k = 0; k < read.modules.size(); ++k) {
    CHECK(read.modules[k].of == wrote.modules[k].of);
    REQUIRE(read.modules[k].points.size() == wrote.modules[k].points.size());
    for (motet::isize i = 0; i < read.modules[k].points.size(); ++i) {
      const profile_point &a = read.modules[k].points[i], &b = wrote.modules[k].points[i];
      CHECK(a.tensor == b.tensor);
      CHECK(a.samples == b.samples);
      for (const tower_part which : {tower_part::before, tower_part::block, tower_part::behind})
        CHECK(equal(a.of(which), b.of(which)));
    }
  }
  REQUIRE(read.pairs.size() == wrote.pairs.size());
  for (motet::isize k = 0; k < read.pairs.size(); ++k) {
    const module_pair &a = read.pairs[k], &b = wrote.pairs[k];
    CHECK(a.first == b.first);
    CHECK(a.second == b.second);
    CHECK(a.samples == b.samples);
    REQUIRE(a.points.size() == b.points.size());
    for (motet::isize i = 0; i < a.points.size(); ++i) {
      CHECK(a.points[i].share == b.points[i].share);
      CHECK(a.points[i].first_threads == b.points[i].first_threads);
      CHECK(a.points[i].second_threads == b.points[i].second_threads);
      CHECK(a.points[i].first == b.points[i].first);
      CHECK(a.points[i].second == b.points[i].second);
    }
  }
  CHECK(read.gaps == wrote.gaps);
  CHECK(read.times == wrote.times);
  CHECK(format_profile(read) == format_profile(wrote));
}

TEST_CASE("a profile may have pairs alone, towers alone, and gaps alone") {
  machine_profile of = profile();
  of.modules.resize(0);
  CHECK(parse_profile(format_profile(of), "f.json").pairs.size() == 2);
  of.pairs.resize(0);
  CHECK(parse_profile(format_profile(of), "f.json").gaps == of.gaps);
  of = profile();
  of.pairs.resize(0);
  of.gaps.resize(0);
  CHECK(format_profile(of).find("pairs") == std::string::npos);
  CHECK(format_profile(of).find("gaps") == std::string::npos);
  CHECK(parse_profile(format_profile(of), "f.json").pairs.empty());
}

TEST_CASE("points may come in any order") {
  const machine_profile read = parse_profile(
      R"({"machine": "m", "activation_bytes": 4, "modules": [{"tower": {"name": "a", "layers": 1, "width": 8, "heads": 1, "tokens": 2}, "points": [
        {"tensor": 2, "samples": 4, "before": [1, 1, 1], "block": [2, 2, 2], "behind": [3, 3, 3]},
        {"samples": 4, "before": [1, 1, 1], "block": [4, 2, 2], "behind": [0, 0, 0]}]}]})",
      "f.json");
  REQUIRE(read.modules[0].points.size() == 2);
  CHECK(read.modules[0].points[0].tensor == 1);
  CHECK(read.modules[0].points[1].block.forward == 2);
  CHECK(read.product_flops == 0);
}

TEST_CASE("what is no profile is refused with its path") {
  refuses("[]", "MT-P71", "the profile is an array");
  refuses("{", "MT-F", "f.json");
  refuses(with("\"machine\": ", "\"machines\": "), "MT-P70", "machines");
  refuses(with("\"machine\": ", "\"machine\": 7, \"x\": "), "MT-P70", "x");
  refuses(R"({"machine": 7})", "MT-P71", "machine is an integer");
  refuses(R"({"machine": "m", "modules": []})", "MT-P71", "activation_bytes is missing");
  refuses(R"({"machine": "m", "activation_bytes": 4})", "MT-P71", "modules is missing");
  refuses(R"({"machine": "m", "activation_bytes": 4, "modules": []})", "MT-P90", "modules is empty");
  refuses(with("\"activation_bytes\": 2", "\"activation_bytes\": 16"), "MT-P91", "activation_bytes");
  refuses(with("\"product_flops\": ", "\"product_flops\": -"), "MT-P91", "product_flops");
  refuses(with("\"samples\": 8", "\"samples\": 0"), "MT-P91", "modules[0].points[0].samples");
  refuses(with("\"samples\": 8", "\"sample\": 8"), "MT-P70", "modules[0].points[0].sample");
  refuses(with("\"tensor\": 2", "\"tensor\": 0"), "MT-P72", "modules[0].points[1].tensor");
  refuses(with("\"tensor\": 2", "\"tensor\": 2.5"), "MT-P71", "modules[0].points[1].tensor");
  refuses(with("\"before\": [", "\"before\": [1, "), "MT-P90", "modules[0].points[0].before");
  refuses(with("\"behind\": [", "\"behind\": [-"), "MT-P91", "modules[0].points[0].behind[0]");
  refuses(with("\"block\": [", "\"block\": [\"1\", "), "MT-P90", "wanted an array of three times");
  refuses(with("\"name\": \"picture\"", "\"name\": 7"), "MT-P71", "modules[0].tower.name");
  refuses(with("\"heads\": 4", "\"heads\": 5"), "MT-P79", "modules[0].tower");
}

TEST_CASE("a pair is two modules and what each took beside the other") {
  refuses(with("\"second\": \"caption\"", "\"second\": \"picture\""), "MT-P94",
          "pairs[0] is of picture beside itself");
  refuses(with("\"second\": \"sound\"", "\"second\": \"caption\""), "MT-P94",
          "pairs[1] is of picture and caption again");
  refuses(with("\"second\": \"caption\"", "\"other\": \"caption\""), "MT-P70", "pairs[0].other");
  refuses(with("\"second\": \"caption\",", ""), "MT-P71", "pairs[0].second is missing");
  refuses(with("\"share\": 0.25", "\"share\": 1"), "MT-P91", "pairs[0].points[0].share");
  refuses(with("\"share\": 0.25", "\"share\": 0.5"), "MT-P94", "pairs[0].points[1] has the share");
  refuses(with("\"share\": 0.25, ", ""), "MT-P71", "pairs[0].points[0].share is missing");
  refuses(with("\"threads\": [1, 3]", "\"threads\": [1, 0]"), "MT-P91", "pairs[0].points[0].threads[1]");
  refuses(with("\"threads\": [1, 3]", "\"threads\": [1, 2.5]"), "MT-P71", "pairs[0].points[0].threads[1]");
  refuses(with("\"threads\": [1, 3]", "\"threads\": 4"), "MT-P94", "wanted an array of two numbers");
  refuses(with("\"slowdowns\": [", "\"slowdowns\": [1, "), "MT-P94", "pairs[0].points[0].slowdowns");
  refuses(with("\"slowdowns\": [", "\"slowdowns\": [-"), "MT-P91", "pairs[0].points[0].slowdowns[0]");
  machine_profile none = profile();
  none.pairs[1].points.resize(0);
  refuses(format_profile(none), "MT-P94", "pairs[1].points is empty");
}

TEST_CASE("times are of a module whose layers and rows are cut so, once on as many threads") {
  refuses(with("\"layers\": 4,\n     \"work\"", "\"work\""), "MT-P71", "times[0].layers is missing");
  refuses(with("\"update\": 0.0625", "\"updates\": 0.0625"), "MT-P70", "times[0].updates;");
  refuses(with("\"threads\": 2", "\"threads\": 0"), "MT-P72", "times[1].threads is 0, wanted 1 to");
  refuses(with("\"update\": 0.0625", "\"update\": 2.5"), "MT-P102",
          "times[0].update is 2.5, wanted 0.0 to 1.0");
  refuses(with("\"seconds\": [0.125, 0.5", "\"seconds\": [0, 0.5"), "MT-P102",
          "times[0].points[0].seconds[0] is nothing at all");
  refuses(with("\"seconds\": [0.125, 0.5", "\"seconds\": [0.125, -0.5"), "MT-P102",
          "times[0].points[0].seconds[1] is -0.5");
  refuses(with("\"seconds\": [0.125, 0.5, ", "\"seconds\": [0.125, "), "MT-P102",
          "times[0].points[0].seconds is an array, wanted an array of three numbers");
  machine_profile twice = profile();
  twice.times.push(twice.times[0]);
  refuses(format_profile(twice), "MT-P102",
          "times[2] is of picture again, cut the same and on as many threads");
  twice = profile();
  twice.times[1].points[1].flops.forward = 1.005e6;
  refuses(format_profile(twice), "MT-P102", "times[1].points[1] has as many FLOPs forward as another point");
  twice.times[1].points.resize(0);
  refuses(format_profile(twice), "MT-P102", "times[1].points is empty");
  machine_profile alone;
  alone.times = profile().times;
  CHECK(parse_profile(format_profile(alone), "f.json").times == alone.times);
}

TEST_CASE("gaps are shares of a module's operations, once for the same degrees") {
  refuses(with("\"module\": \"picture\",", ""), "MT-P71", "gaps[0].module is missing");
  refuses(with("\"module\": \"picture\"", "\"module\": 7"), "MT-P71", "gaps[0].module is an integer");
  refuses(with("\"module\": \"picture\"", "\"modul\": \"picture\""), "MT-P70", "gaps[0].modul;");
  refuses(with("\"context\": 4", "\"context\": 0"), "MT-P72", "gaps[0].context is 0, wanted 1 to");
  refuses(with("\"zero\": 3", "\"zero\": 4"), "MT-P72", "gaps[1].zero is 4, wanted 0 to 3");
  refuses(with("\"zero\": 3", "\"zero\": 1"), "MT-P96",
          "gaps[1] has zero 1 and data 8, with which replicas do");
  refuses(with("\"zero\": 3", "\"zero\": 0"), "MT-P96", "gaps[1] has zero 0 and data 8");
  refuses(with("\"tensor\": 2, \"context\": 4", "\"tensor\": 1"), "MT-P96",
          "gaps[0] is of ranks that have nobody to wait for, wanted a degree above 1");
  refuses(with("\"shares\": [0.99", "\"shares\": [0.991"), "MT-P96",
          "gaps[1].shares[0] is 0.991, wanted 0.0 to 0.99");
  refuses(with("\"shares\": [0.99", "\"shares\": [-0.5"), "MT-P96", "gaps[1].shares[0] is -0.5");
  refuses(with("\"shares\": [0.99", "\"shares\": [\"all\""), "MT-P71", "gaps[1].shares[0] is a string");
  refuses(with("\"shares\": [0.99, ", "\"shares\": ["), "MT-P96", "wanted an array of three shares");
  refuses(with("\"shares\": [0.99, ", "\"share\": [0.99, "), "MT-P70", "gaps[1].share;");
  machine_profile twice = profile();
  twice.gaps.push({"caption", {.experts = 4}, {0.5, 0.5, 0.5}});
  refuses(format_profile(twice), "MT-P96", "gaps[3] is of caption under the same degrees again");
}

TEST_CASE("each point and each tower comes once, and takes time") {
  refuses(with("{\"tensor\": 2, \"samples\": 16", "{\"tensor\": 1, \"samples\": 8"), "MT-P90",
          "modules[0].points[1]");
  machine_profile twice = profile();
  twice.modules.push(twice.modules[0]);
  twice.modules[2].of.layers = 9;
  refuses(format_profile(twice), "MT-P90", "modules[2].tower has the parts of picture");
  machine_profile none = profile();
  none.modules[1].points.resize(0);
  refuses(format_profile(none), "MT-P90", "modules[1].points is empty");
  machine_profile idle = profile();
  idle.modules[0].points[0].block.forward = 0;
  refuses(format_profile(idle), "MT-P91", "modules[0].points[0].block[0]");
}
