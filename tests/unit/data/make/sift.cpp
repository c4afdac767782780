// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/data/make/sift.hpp>
#include <motet/format/files/atomic_file.hpp>

#include <unit/data/pairs.hpp>

using namespace motet;

namespace {

// Pictures of numbered noise in a folder, listed in any order.
struct made_listing {
  scratch folder;
  skip_log skips;
  listing found{skips};
  motet::isize put(std::uint64_t number, const std::string& name) {
    write_file(folder / name, encode_ppm(noise_picture(5, 4, number)));
    return found.picture(folder / name);
  }
};

}  // namespace

TEST_CASE("what cannot be learnt from is left out, each with its reason") {
  made_listing on;
  on.found.add({on.put(1, "a.ppm"), " one \n", {}});
  on.found.add({on.put(1, "copy.ppm"), "one", {}});  // the same bytes and caption
  on.found.add({on.put(1, "copy.ppm"), "another", {}});
  on.found.add({on.put(2, "b.ppm"), " \t", {}});
  on.found.add({on.put(3, "c.ppm"), "\xff", {}});
  write_file(on.folder / "d.ppm", "P6\n5 4\n255\ncut");
  on.found.add({on.found.picture(on.folder / "d.ppm"), "four", {}});
  on.found.add({on.found.picture(on.folder / "none.ppm"), "five", {}});
  on.found.add({on.found.no_picture("x.csv, line 9"), "six", {}});
  const sifted kept = sift(on.found, {.held_out = 0, .threads = 2});
  CHECK(kept.train == std::vector<motet::isize>{0, 2});
  CHECK(kept.held_out.empty());
  REQUIRE(kept.left.size() == 6);
  const char* const wanted[] = {"already", "no caption", "UTF-8", "MT-D05", "MT-D01", "MT-D07"};
  for (std::size_t i = 0; i < 6; ++i) {
    CAPTURE(kept.left[i].why);
    CHECK(kept.left[i].why.find(wanted[i]) != std::string::npos);
  }
  CHECK(kept.left[5].where == "x.csv, line 9");
  CHECK(kept.pictures[0].width == 5);
  CHECK(code_of([&] { sift(on.found, {.strict = true}); }) == "MT-D05");
  CHECK(code_of([&] { sift(on.found, {.held_out = 1}); }) == "MT-D13");
}

TEST_CASE("the same pictures are held out whatever their names and order, and none stands on both sides") {
  std::set<std::string> before;
  for (int order = 0; order < 2; ++order) {
    made_listing on;
    for (int i = 0; i < 60; ++i) {
      const int k = order == 0 ? i : 59 - i;
      const auto picture =
          on.put(static_cast<std::uint64_t>(k), (order == 0 ? "a" : "z") + std::to_string(k) + ".ppm");
      on.found.add({picture, "caption " + std::to_string(k), {}});
      on.found.add({picture, "other words " + std::to_string(k), {}});
    }
    const sifted kept = sift(on.found, {.held_out = 0.15, .seed = 3, .threads = 1 + order});
    CHECK(kept.held_out.size() == 18);  // nine pictures, two captions each
    std::set<std::string> captions;
    for (const motet::isize i : kept.held_out) captions.insert(on.found.pairs()[as_size(i)].caption);
    if (order == 1) CHECK(captions == before);
    before = captions;
    const sifted other = sift(on.found, {.held_out = 0.15, .seed = 4});
    CHECK(other.held_out != kept.held_out);
  }
}

TEST_CASE("of each class the same share is held out, one at least of two; one picture is never held out") {
  made_listing on;
  for (int i = 0; i < 44; ++i)
    on.found.add({on.put(static_cast<std::uint64_t>(i), std::to_string(i) + ".ppm"), std::to_string(i),
                  i < 40   ? "many"
                  : i < 43 ? "few"
                           : "one"});
  const sifted kept = sift(on.found, {.held_out = 0.1});
  std::map<std::string, int> counts;
  for (const motet::isize i : kept.held_out) ++counts[on.found.pairs()[as_size(i)].label];
  CHECK(counts == std::map<std::string, int>{{"many", 4}, {"few", 1}});
  made_listing single;
  single.found.add({single.put(1, "a.ppm"), "one", {}});
  CHECK(sift(single.found).train.size() == 1);
  made_listing nothing;
  CHECK(code_of([&] { sift(nothing.found); }) == "MT-D10");
}
