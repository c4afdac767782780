// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/gradients/gradient_ownership.hpp>

#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

parameter of(const char* name, motet::isize rows, motet::isize width) {
  parameter one;
  one.name = name;
  one.rows = rows;
  one.width = width;
  one.held_rows = {{0, rows}};
  one.held_columns = {{0, width}};
  return one;
}

std::vector<interval> uncut(const std::vector<parameter>& own) {
  return runs_of(own, [](cut_by what) { return what == cut_by::nothing; });
}

// A stage of two matrices, one cut by rows and one by columns, and what is never cut, over replicas x tensor
// ranks. A test may break one of them.
struct stage {
  std::int32_t replicas = 2, tensor = 3;
  bucket_options options{.elements = 48, .packed = 20, .shards = true};
  std::vector<std::vector<parameter>> parameters;
  std::vector<reduction_layout> layouts;
  std::vector<std::vector<std::int32_t>> groups;  // [0, tensor): same shard; then all
  std::vector<std::int32_t> cut, shared;          // group of each rank

  stage() { make(); }
  std::int32_t size() const { return replicas * tensor; }
  void make() {
    parameters.clear();
    layouts.clear();
    cut.clear();
    shared.clear();
    groups.assign(static_cast<std::size_t>(tensor) + 1, {});
    for (std::int32_t r = 0; r < size(); ++r) {
      const tensor_cut at{tensor, r % tensor};
      std::vector<parameter> own(4);
      own[0] = of("eye.norm", 1, 40);
      own[1] = of("eye.up", 10, 12);
      own[1].held_rows = {at.share(10)};
      own[1].by = cut_by::tensor;
      own[2] = of("eye.bias", 1, 7);
      own[3] = of("eye.down", 9, 20);
      own[3].held_columns = {at.share(10), {10 + at.share(10).begin, 10 + at.share(10).end}};
      own[3].by = cut_by::tensor;
      motet::isize used = 0;
      for (parameter& each : own) {
        each.offset = used;
        used += parameter_space(each.held());
      }
      layouts.push_back(
          lay_out_reduction(used, {replicas, r / tensor}, {{{size(), r}, uncut(own)}}, options));
      parameters.push_back(std::move(own));
      cut.push_back(r % tensor);
      shared.push_back(tensor);
      groups[static_cast<std::size_t>(r % tensor)].push_back(r);
      groups.back().push_back(r);
    }
  }
  gradient_ownership table() const {
    gradient_ownership all;
    for (const auto& each : groups) all.add_group(each);
    for (std::int32_t r = 0; r < size(); ++r) {
      const auto at = static_cast<std::size_t>(r);
      all.add_stage(r, parameters[at], layouts[at], {cut[at], shared[at]});
    }
    return all;
  }
  ownership_finding check() const { return table().check(); }
};
bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("plans of a stage sum every gradient once, whatever the degrees and the buckets") {
  for (const std::int32_t replicas : {1, 2, 3})
    for (const std::int32_t tensor : {1, 2, 3, 4, 11})
      for (const motet::isize elements : {16, 100, 4000})
        for (const bool shards : {false, true}) {
          stage one;
          one.replicas = replicas;
          one.tensor = tensor;
          one.options = {elements, elements / 2, shards};
          one.make();
          const ownership_finding found = one.check();
          CHECK_MESSAGE(found.ok(), found.what);
        }
}

TEST_CASE("what is summed never, twice or over other ranks is found") {
  const auto broken = [](auto how) {
    stage one;
    how(one);
    return one.check();
  };
  REQUIRE(stage().check().ok());
  // One rank leaves out a bucket.
  auto found = broken([](stage& s) { s.layouts[4].lanes[0].buckets.pop_back(); });
  CHECK(found.why == ownership::never_summed);
  CHECK(has(found.what, "on rank 4"));
  CHECK(has(found.what, "held by ranks {1 4}"));
  // A parameter that all hold is summed over replicas only.
  found = broken([](stage& s) {
    for (std::size_t r = 0; r < s.layouts.size(); ++r)
      s.layouts[r] =
          lay_out_reduction(s.layouts[r].size, {2, static_cast<std::int32_t>(r) / 3}, {{}}, s.options);
  });
  CHECK((found.why == ownership::wrong_ranks || found.why == ownership::counted_twice));
  found = broken([](stage& s) {
    for (auto& each : s.layouts) {
      auto& shared = each.lanes[1].buckets;
      each.lanes[0].buckets.insert(each.lanes[0].buckets.end(), shared.begin(), shared.end());
      shared.clear();
    }
  });
  CHECK(found.why == ownership::wrong_ranks);
  CHECK(has(found.what, "summed over ranks {0 3}, held by {0 1 2 3 4 5}"));
  // An element is in both lanes.
  found = broken([](stage& s) {
    for (auto& each : s.layouts) each.lanes[0].buckets.push_back(each.lanes[1].buckets.front());
  });
  CHECK(found.why == ownership::summed_twice);
  // A replica nobody sums with.
  found = broken([](stage& s) {
    s.groups[1] = {1};
    s.groups.push_back({4});
    s.cut[4] = 4;
  });
  CHECK(found.why == ownership::wrong_ranks);
  CHECK(has(found.what, "summed over ranks {1}, held by {1 4}"));
  // The ranks are as many, but others.
  found = broken([](stage& s) { s.groups[1] = {1, 5}; });
  CHECK(found.why == ownership::wrong_ranks);
  CHECK(has(found.what, "summed over ranks {1 5}, held by {1 4}"));
  // The right ranks, in two groups.
  found = broken([](stage& s) {
    s.groups.push_back({1, 4});
    s.cut[4] = 4;
  });
  CHECK(found.why == ownership::order_differs);
  // The rank is alone in the layout, though others hold it.
  found = broken([](stage& s) {
    s.layouts[2].lanes[0].buckets.clear();
    s.cut[2] = -1;
  });
  CHECK(found.why == ownership::never_summed);
}

TEST_CASE("buckets in another order are found, also where each element is summed once") {
  stage one;
  auto& buckets = one.layouts[5].lanes[0].buckets;
  REQUIRE(buckets.size() > 1);
  std::swap(buckets.front(), buckets.back());
  ownership_finding found = one.check();
  CHECK(found.why == ownership::order_differs);
  // Two parameters that change places in one packed call.
  stage packed;
  packed.options = {1000, 1000, false};
  packed.make();
  REQUIRE(packed.check().ok());
  auto& parts = packed.layouts[1].lanes[1].buckets.at(0).parts;
  REQUIRE(parts.size() == 2);
  std::swap(parts[0], parts[1]);
  found = packed.check();
  CHECK(found.why == ownership::order_differs);
  CHECK(has(found.what, "of group {0 1 2 3 4 5}"));
}

TEST_CASE("blocks that overlap, are missing or are held twice are found") {
  stage one;
  one.parameters[2][1].held_rows = {{5, 9}};
  CHECK(one.check().why == ownership::cut_differently);
  stage two;
  for (const std::size_t r : {std::size_t{2}, std::size_t{5}}) two.parameters[r][1].held_rows = {{7, 9}};
  auto found = two.check();
  CHECK(found.why == ownership::never_held);
  CHECK(has(found.what, "108 of 120"));
  stage three;
  gradient_ownership all = three.table();
  all.add_stage(4, three.parameters[4], three.layouts[4], {1, 3});
  found = all.check();
  CHECK(found.why == ownership::held_twice);
  CHECK_THROWS_WITH_AS(require_owned_once(all), doctest::Contains("MT-R12"), error);
}

TEST_CASE("every element is counted by one rank") {
  stage one;
  REQUIRE(one.layouts[3].share.counted.size() > 0);
  auto& counted = one.layouts[3].share.counted;
  const interval last = counted.back();
  counted.back().begin += 1;
  if (counted.back().size() == 0) counted.pop_back();
  CHECK(one.check().why == ownership::never_counted);
  one.layouts[3].share.counted.push_back(last);
  CHECK(one.check().why == ownership::counted_twice);
}

namespace {

// A tower in two stages on replicas x tensor ranks for each of them.
template <class Net>
ownership_finding check_tower(std::int32_t replicas, std::int32_t tensor, const bucket_options& options) {
  using cut_stage = typename Net::stage;
  gradient_ownership all;
  const std::int32_t ranks = replicas * tensor;
  for (std::int32_t s = 0; s < 2; ++s) {
    const stage_range range = s == 0 ? stage_range{0, 1} : stage_range{1, cut_stage::layers};
    std::vector<std::int32_t> everyone, same;
    for (std::int32_t r = 0; r < ranks; ++r) everyone.push_back(s * ranks + r);
    const std::int32_t shared = all.add_group(everyone);
    for (std::int32_t t = 0; t < tensor; ++t) {
      std::vector<std::int32_t> members;
      for (std::int32_t r = t; r < ranks; r += tensor) members.push_back(s * ranks + r);
      same.push_back(all.add_group(members));
    }
    for (std::int32_t r = 0; r < ranks; ++r) {
      const tensor_cut cut{tensor, r % tensor};
      const auto own = cut_stage::parameters_of("eye", range, cut);
      const motet::isize size = cut_stage::parameter_end(range, cut) - cut_stage::parameter_begin(range, cut);
      all.add_stage(s * ranks + r, own,
                    lay_out_reduction(size, {replicas, r / tensor}, {{{ranks, r}, uncut(own)}}, options),
                    {same[static_cast<std::size_t>(r % tensor)], shared});
    }
  }
  return all.check();
}

}  // namespace

TEST_CASE("the gradients of real towers are owned, also where heads and hidden units do not divide") {
  using eye = vit<vit_config{
      .image = 8, .patch = 2, .width = 40, .layers = 3, .heads = 5, .hidden = 77, .embedding = 12}>;
  using ear = text_tower<text_config{.vocabulary = 50,
                                     .context = 7,
                                     .width = 24,
                                     .layers = 3,
                                     .heads = 3,
                                     .hidden = 50,
                                     .embedding = 12,
                                     .gated = true}>;
  for (const std::int32_t replicas : {1, 2, 3})
    for (const std::int32_t tensor : {1, 2, 3, 4, 5})
      for (const bool shards : {false, true}) {
        CAPTURE(replicas);
        CAPTURE(tensor);
        const bucket_options options{.elements = 512, .packed = 100, .shards = shards};
        const ownership_finding of_eye = check_tower<eye>(replicas, tensor, options);
        CHECK_MESSAGE(of_eye.ok(), of_eye.what);
        if (tensor > 3) continue;
        const ownership_finding of_ear = check_tower<ear>(replicas, tensor, options);
        CHECK_MESSAGE(of_ear.ok(), of_ear.what);
      }
}
