// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/front/ranks/compiled.hpp>

#include <doctest/doctest.h>

#include <algorithm>

#include "deviation.hpp"
#include "single_rank.hpp"

// Pipelines beside the single rank.
namespace {

using namespace motet;

template <class Model, class Numbers>
using pipeline = pipeline_trainer<Model, cpu::device, Numbers, thread_ranks<local::world, local::endpoint>>;

// The largest distance of a tensor from what it should be, relative to its size. What is a ten-thousandth of
// the whole or less (the gradient of a key's bias is zero but for rounding) is compared with that.
template <class Model, class Master>
laws::deviation apart(const std::vector<Master>& found, const std::vector<Master>& wanted) {
  REQUIRE(found.size() == wanted.size());
  double whole = 0;
  laws::deviation worst;
  for (const Master each : wanted) whole += static_cast<double>(each) * static_cast<double>(each);
  for (const parameter& each : Model::parameters()) {
    if (each.offset >= static_cast<motet::isize>(wanted.size())) continue;
    double off = 0, size = 0;
    for (motet::isize i = each.offset; i < each.offset + each.size(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      const double a = static_cast<double>(found[at]), b = static_cast<double>(wanted[at]);
      off += (a - b) * (a - b);
      size += b * b;
    }
    const double share = std::sqrt(off / std::max(size, 1e-8 * whole));
    const std::vector<Master> a(found.begin() + each.offset, found.begin() + each.offset + each.size());
    const std::vector<Master> b(wanted.begin() + each.offset, wanted.begin() + each.offset + each.size());
    worst.add(laws::off_by(a, b).measured(share), std::string(each.name));
  }
  return worst;
}

// Two runs are so far apart, relative to the way that they went. Tensors are not told apart, as rounding
// turns the sign of a gradient that is zero but for it, and Adam makes a step of that.
inline laws::deviation way_apart(const std::vector<float>& found, const std::vector<float>& wanted,
                                 const std::vector<float>& start) {
  double off = 0, way = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double a = static_cast<double>(found[i]), b = static_cast<double>(wanted[i]),
                 from = static_cast<double>(start[i]);
    off += (a - b) * (a - b);
    way += (b - from) * (b - from);
  }
  return laws::off_by(found, wanted).measured(std::sqrt(off / way));
}

// Loss and every gradient of a pipeline beside the single rank's, and how far the worst of them is apart.
template <class Model, class Numbers>
double compare_with_single_rank(const score& order, motet::isize samples, double tolerance,
                                std::vector<std::vector<motet::isize>> layers = {}, std::uint64_t seed = 1) {
  const test_data data(samples, seed);
  const auto whole = data.batch<Model>();
  const motet::isize groups = order.voices()[0].joins();
  single_rank<Model, Numbers> one(samples, groups);
  const double loss = one.differentiate(whole);
  pipeline_config config;
  config.batch = samples;
  for (auto& each : layers) config.modules.push_back({.layers = std::move(each)});
  config.update = false;
  config.deadline = 20;
  pipeline<Model, Numbers> many(order, config);
  many.prepare();
  double most = 0;
  for (int turn = 0; turn < 2; ++turn) {
    const step_result found = many.step(whole, 0);
    CHECK(laws::off_by(found.loss, loss) <= tolerance * std::abs(loss));
    const laws::deviation off = apart<Model>(many.gradients(), one.gradients);
    CHECK(off <= tolerance);
    most = std::max<double>(most, off);
  }
  return most;
}

}  // namespace
