// SPDX-License-Identifier: Apache-2.0
#include <motet/tools/held_out/held_out_drawings.hpp>

#include <motet/tools/held_out/open_held_out.hpp>

#include "unit/tools/data_folders.hpp"

#include <doctest/doctest.h>

using namespace motet;

namespace {

sample_shape drawn_shape() {
  sample_shape out = piece_shape();
  out.least_pictures = 1;
  return out;
}
// Draws grey, and remembers what it was told.
class grey_model final : public tested_model {
 public:
  void embed(const pictures&, float*) override {}
  void embed(const tokens&, float*) override {}
  std::vector<std::int32_t> say(const pictured_tokens&, std::int32_t, motet::isize) override { return {}; }
  double loss_of(const step_input&) override { return 0; }
  double logit_scale() const override { return NAN; }
  std::vector<float> paint(const pictured_tokens& told) override {
    samples = told.seq.samples, seen = told.seen.samples;
    for (motet::isize s = 0; s < samples; ++s) {
      const motet::isize own = told.picture_offsets[s + 1] - told.picture_offsets[s];
      // Of each picture that is seen all rows but the first are there; that which is drawn has none.
      motet::isize kept = 0;
      for (motet::isize r = told.seq.begin(s); r < told.seq.end(s); ++r) kept += told.ids[r] < 0 ? 1 : 0;
      rows_fit = rows_fit && kept == 4 * own && told.seq.rows_of(s) > kept;
    }
    return std::vector<float>(draws ? as_size(samples * 3 * 8 * 8) : 0);
  }
  bool draws = true, rows_fit = true;
  motet::isize samples = 0, seen = 0;
};

}  // namespace

TEST_CASE("the last picture of a sample is drawn, and all else is told") {
  const scratch folder;
  write_mixed(folder, "train-000.tar", 0, 5);
  write_mixed(folder, "test-000.tar", 0, 10);
  write_vocabulary(folder);
  data_folder from({.data = folder.path().string(), .batch = 4}, drawn_shape());
  const auto test = open_held_out(from, 0);
  REQUIRE(test != nullptr);
  // Six have one picture and two have two; those of words alone ask for nothing.
  CHECK(test->size() == 8);
  grey_model model;
  const test_result found = test->test(model);
  CHECK(model.samples == 8);
  CHECK(model.seen == 2);
  CHECK(model.rows_fit);
  CHECK(found.any());
  CHECK(found.drawings.pictures == 8);
  const auto told = test->pictures_told(NAN);
  REQUIRE(told.size() == 8);
  CHECK(told[0].guesses.size() == 1);
  CHECK(told[0].guesses[0].caption.find(" of 7") != std::string::npos);
  CHECK_FALSE(told[0].caption.empty());
  CHECK(test->note().find("8 of 8 samples") == 0);
  CHECK(test->title() != held_out_samples(from).title());
  model.draws = false;
  CHECK_FALSE(test->test(model).any());
}

TEST_CASE("samples of words alone are no test of drawing") {
  const scratch folder;
  write_mixed(folder, "train-000.tar", 0, 5);
  write_file(folder / "test.jsonl", "{\"pieces\": [{\"given\": \"well?\"}, {\"asked\": \"yes\"}]}\n");
  write_vocabulary(folder);
  data_folder from({.data = folder.path().string(), .batch = 2}, drawn_shape());
  CHECK_THROWS_WITH_AS(open_held_out(from, 0), doctest::Contains("has a picture to draw"), error);
}
