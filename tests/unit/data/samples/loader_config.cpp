// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/data/samples/loader_config.hpp>

#include <unit/data/pairs.hpp>

using namespace motet;

namespace {
struct forty {
  motet::isize size() const { return 40; }
};
std::string code_with(const std::function<void(loader_config&)>& change) {
  loader_config config;
  config.batch = 12;
  change(config);
  return code_of([&] { check(config, forty{}); });
}
}  // namespace

TEST_CASE("what no loader can do is refused, and what one can is given back") {
  CHECK(code_with([](loader_config&) {}).empty());
  CHECK(code_with([](loader_config& c) { c.batch = 40; }).empty());
  CHECK(code_with([](loader_config& c) { c.batch = 41; }) == "MT-D11");
  CHECK(code_with([](loader_config& c) { c.batch = 0; }) == "MT-D13");
  CHECK(code_with([](loader_config& c) { c.threads = 0; }) == "MT-D13");
  CHECK(code_with([](loader_config& c) { c.ready = 0; }) == "MT-D13");
  CHECK(code_with([](loader_config& c) { c.augment->largest = 1.5f; }) == "MT-D13");
  CHECK(code_with([](loader_config& c) { c.example.context = 1; }) == "MT-D13");
  CHECK(code_with([](loader_config& c) { c.example.colours.deviation[1] = 0; }) == "MT-D13");
  const loader_config good{.batch = 12};
  CHECK(&check(good, forty{}) == &good);
}

TEST_CASE("captions of a batch are ragged") {
  pair_batch batch;
  batch.count = 2;
  batch.tokens = {4, 5, 6};
  batch.offsets = {0, 1, 3};
  CHECK(batch.captions().samples == 2);
  CHECK(batch.captions().rows() == 3);
  CHECK(batch.captions().rows_of(1) == 2);
}
