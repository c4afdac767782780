// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/save/held_tensors.hpp>

#include <unit/runtime/spread_net.hpp>

#include <doctest/doctest.h>

#include <map>

using namespace motet;

namespace {

constexpr spread_net::places layouts[] = {{1, 1},
                                          {2, 1},
                                          {1, 3},
                                          {1, 3, true},
                                          {2, 2},
                                          {2, 2, true},
                                          {3, 2, true},
                                          {4, 1},
                                          {5, 2, true},
                                          {1, 3, true, true},
                                          {2, 2, true, true}};

// Counts how often each element is in the slices, and looks whether its number is right.
struct tally {
  std::map<std::string, std::vector<int>> times;
  motet::isize wrong = 0;
  void add(std::span<const saved_slice> slices, float more) {
    for (const auto& slice : slices) {
      const rectangle all = matrix_of(slice.shape);
      std::vector<int>& of = times[slice.name];
      of.resize(static_cast<std::size_t>(all.size()));
      parameter named;
      named.name = more == 0 ? slice.name : slice.name.substr(0, slice.name.size() - 2);
      const float* at = slice.data;
      for (motet::isize row = slice.covers.rows.begin; row < slice.covers.rows.end; ++row) {
        for (motet::isize column = slice.covers.columns.begin; column < slice.covers.columns.end; ++column) {
          const motet::isize element = row * all.columns.size() + column;
          ++of[static_cast<std::size_t>(element)];
          wrong += *at++ != spread_net::number(named, element) + more ? 1 : 0;
        }
      }
    }
  }
};

}  // namespace

TEST_CASE("all ranks together write every element once, whatever the layout") {
  for (const auto& layout : layouts) {
    CAPTURE(layout.tensor);
    CAPTURE(layout.replicas);
    tally found;
    std::size_t busy = 0;
    for (std::int32_t rank = 0; rank < layout.ranks(); ++rank) {
      spread_net net(layout, rank);
      net.fill();
      held_tensors<const float> out;
      for (const auto& piece : net.pieces()) append_written(out, piece);
      busy += out.moments.empty() ? 0 : 1;
      found.add(out.weights, 0);
      std::vector<saved_slice> m, v;
      for (const auto& each : out.moments) (each.name.ends_with(".m") ? m : v).push_back(each);
      found.add(m, 0.25f);
      found.add(v, 0.5f);
    }
    CHECK(found.wrong == 0);
    CHECK(found.times.size() == 4 * 6);
    for (const auto& [name, times] : found.times) {
      CAPTURE(name);
      CHECK(std::ranges::all_of(times, [](int count) { return count == 1; }));
    }
    CHECK(busy >= static_cast<std::size_t>(std::min(layout.ranks(), 4)));  // the work is spread
  }
}

TEST_CASE("what a rank reads is all that it holds, where it holds it") {
  for (const auto& layout : layouts) {
    for (std::int32_t rank = 0; rank < layout.ranks(); ++rank) {
      spread_net net(layout, rank);
      held_tensors<float> out;
      for (const auto& piece : net.pieces()) append_held(out, piece);
      for (const auto* list : {&out.weights, &out.moments}) {
        for (const loaded_slice& slice : *list) {
          parameter named;
          named.name = list == &out.weights ? slice.name : slice.name.substr(0, slice.name.size() - 2);
          float* at = slice.data;
          for (motet::isize row = slice.covers.rows.begin; row < slice.covers.rows.end; ++row) {
            for (motet::isize column = slice.covers.columns.begin; column < slice.covers.columns.end;
                 ++column)
              *at++ = spread_net::number(named, row * matrix_of(slice.shape).columns.size() + column) +
                      (list == &out.weights         ? 0.0f
                       : slice.name.ends_with(".m") ? 0.25f
                                                    : 0.5f);
          }
        }
      }
      CHECK(net.wrong() == 0);
    }
  }
}

TEST_CASE("an interval of a flat buffer may begin and end within a row") {
  parameter of;
  of.name = "a";
  of.rows = 4;
  of.width = 10;
  of.offset = 32;
  of.held_rows = {{1, 3}};
  of.held_columns = {{2, 7}};
  const float numbers[10] = {};
  std::vector<saved_slice> out;
  append_held<const float>(out, {&of, 1}, {34, 41}, numbers, ".m");
  REQUIRE(out.size() == 2);
  CHECK(out[0].name == "a.m");
  CHECK(out[0].covers.rows.begin == 1);
  CHECK(out[0].covers.columns.begin == 4);
  CHECK(out[0].covers.columns.end == 7);
  CHECK(out[1].covers.rows.begin == 2);
  CHECK(out[1].covers.columns.end == 6);
  CHECK(out[1].data == numbers + 3);
  append_held<const float>(out, {&of, 1}, {0, 32}, numbers);
  append_held<const float>(out, {&of, 1}, {42, 100}, numbers);
  CHECK(out.size() == 2);
}

TEST_CASE("a piece without a share is held and written whole") {
  parameter of;
  of.name = "a";
  of.rows = 1;
  of.width = 3;
  of.vector = true;
  of.held_rows = {{0, 1}};
  of.held_columns = {{0, 3}};
  float weights[16] = {1, 2, 3}, first[16] = {4, 5, 6}, second[16] = {7, 8, 9};
  parameter_piece<float> piece;
  piece.size = 16;
  piece.parameters = {&of, 1};
  piece.weights = weights;
  held_tensors<float> read;
  append_held(read, piece);
  CHECK(read.weights.size() == 1);
  CHECK(read.moments.empty());
  piece.first = first;
  piece.second = second;
  held_tensors<const float> written;
  append_written(written, piece);
  REQUIRE(written.weights.size() == 1);
  CHECK(written.weights[0].data == weights);
  CHECK(written.weights[0].shape == std::vector<motet::isize>{3});
  REQUIRE(written.moments.size() == 2);
  CHECK(written.moments[0].data == first);
  CHECK(written.moments[1].data == second);
}
