// SPDX-License-Identifier: Apache-2.0
#pragma once

// Stages of made-up parameters on replicas x tensor ranks, whose sums every rank can work out by itself, for
// tests of reductions on any transport.
#include <motet/runtime/gradients/gradient_ring.hpp>

#include <numeric>
#include <random>
#include <sites.hpp>

namespace motet::laws {

struct made_parameter {
  isize lines = 0;  // of 16 elements, of the whole
  bool shared = false;
};
struct made_stage {
  struct held {
    std::size_t parameter;
    isize global;  // first element
    interval at;   // in the flat buffer
  };
  isize size = 0;
  std::vector<held> parts;
  std::vector<interval> shared;
};
inline std::vector<made_parameter> make_parameters(std::uint64_t seed, std::int32_t tensor) {
  std::mt19937_64 draw(seed);
  std::vector<made_parameter> all(3 + draw() % 10);
  for (made_parameter& each : all) {
    each.lines = static_cast<isize>(draw() % 3 == 0 ? draw() % 60 : draw() % 5);
    each.shared = tensor > 1 && draw() % 2 == 0;
  }
  return all;
}
// Tensor rank `which` of `tensor` holds this.
inline made_stage stage_of(const std::vector<made_parameter>& all, std::int32_t tensor, std::int32_t which) {
  made_stage found;
  for (std::size_t p = 0; p < all.size(); ++p) {
    const interval lines = all[p].shared ? interval{0, all[p].lines} : share(all[p].lines, tensor, which);
    const interval at{found.size, found.size + 16 * lines.size()};
    found.parts.push_back({p, 16 * lines.begin, at});
    if (all[p].shared) found.shared.push_back(at);
    found.size = at.end;
  }
  return found;
}

// Rank r is replica r / tensor and shard r % tensor.
struct made_ranks {
  std::int32_t replicas = 1, tensor = 1;
  std::int32_t size() const { return replicas * tensor; }
  // Groups [0, tensor) hold the same shard; group `tensor` is everyone.
  std::vector<std::vector<std::int32_t>> groups() const {
    std::vector<std::vector<std::int32_t>> found(static_cast<std::size_t>(tensor) + 1);
    for (std::int32_t r = 0; r < size(); ++r) {
      found[static_cast<std::size_t>(r % tensor)].push_back(r);
      found.back().push_back(r);
    }
    return found;
  }
  reduction_layout layout(const made_stage& own, std::int32_t rank, const bucket_options& options,
                          std::span<const interval> layers = {}) const {
    return lay_out_reduction(own.size, {replicas, rank / tensor}, {{{size(), rank}, own.shared}}, options,
                             layers);
  }
};
inline bucket_options make_options(std::uint64_t seed, bool shards) {
  std::mt19937_64 draw(seed + 77);
  bucket_options options;
  options.elements = 16 + static_cast<isize>(draw() % 600);
  options.packed = static_cast<isize>(draw() % 100);
  options.shards = shards;
  return options;
}

// Small whole numbers, so that no sum rounds.
inline float number_of(std::uint64_t step, std::int32_t rank, std::size_t parameter, isize element) {
  const std::uint64_t mixed = (static_cast<std::uint64_t>(element) * 31 + parameter * 1009 +
                               static_cast<std::uint64_t>(rank) * 7 + step * 13) *
                              2654435761u;
  return static_cast<float>(static_cast<int>(mixed >> 7 & 15) - 8);
}

// The sum over the ranks that hold the same element as `rank`.
inline float sum_of(const made_ranks& ranks, std::int32_t rank, const made_parameter& of, std::uint64_t step,
                    std::size_t parameter, isize element) {
  float sum = 0;
  for (std::int32_t r = 0; r < ranks.size(); ++r)
    if (of.shared || r % ranks.tensor == rank % ranks.tensor) sum += number_of(step, r, parameter, element);
  return sum;
}

// Waits, as an executor does, until call() says true.
template <class End, class Call>
void poll(End& end, Call&& call) {
  for (;;) {
    const std::uint32_t seen = end.observe();
    if (call()) return;
    end.pause(seen);
  }
}

// Three steps on one rank: sums, and with shards the weights that come back. Counts what is wrong.
template <class Site, class Group, class End>
int check_reduction(Site& site, const made_ranks& ranks, std::int32_t rank, Group* cut, Group* shared,
                    End& end, std::uint64_t seed, bool shards) {
  const auto parameters = make_parameters(seed, ranks.tensor);
  const made_stage own = stage_of(parameters, ranks.tensor, rank % ranks.tensor);
  using context = typename Site::context;
  gradient_reduction<float, Group, context> sums(ranks.layout(own, rank, make_options(seed, shards)),
                                                 {cut, shared}, 1 + static_cast<std::int32_t>(seed % 4));
  const auto size = static_cast<std::size_t>(own.size);
  typename Site::template numbers<float> all_gradients(site, size), all_weights(site, size);
  std::vector<float>&gradients = all_gradients.seen(), &weights = all_weights.seen();
  sums.prepare(site.ctx, all_gradients.data(), all_weights.data());
  std::mt19937_64 draw(seed * 31 + static_cast<std::uint64_t>(rank));  // ranks need not be ready alike
  int wrong = 0;
  for (std::uint64_t step = 0; step < 3; ++step) {
    for (const auto& part : own.parts)
      for (isize e = 0; e < part.at.size(); ++e)
        gradients[static_cast<std::size_t>(part.at.begin + e)] =
            number_of(step, rank, part.parameter, part.global + e);
    all_gradients.put();
    sums.begin_step();
    // Layer by layer from the end, in any order, or not at all.
    const std::uint64_t way = draw() % 3;
    std::vector<std::size_t> order(own.parts.size());
    std::iota(order.rbegin(), order.rend(), std::size_t{0});
    if (way == 1) std::shuffle(order.begin(), order.end(), draw);
    for (std::size_t p = 0; way != 2 && p < order.size(); ++p) {
      const interval at = own.parts[order[p]].at;
      const gradient_sink sink = sums.sink();
      if (draw() % 8 != 0) sink.told(sink.self, all_gradients.data() + at.begin, at.size());
    }
    poll(end, [&] { return sums.finish(); });
    all_gradients.get();

    std::vector<bool> is_own(size, false);
    for (const owned_elements& each : sums.layout().share.owned)
      for (isize e = each.at.begin; e < each.at.end; ++e) is_own[static_cast<std::size_t>(e)] = true;
    for (const auto& part : own.parts)
      for (isize e = 0; e < part.at.size(); ++e) {
        const auto at = static_cast<std::size_t>(part.at.begin + e);
        const float sum =
            sum_of(ranks, rank, parameters[part.parameter], step, part.parameter, part.global + e);
        wrong += !shards && !is_own[at];
        wrong += is_own[at] && gradients[at] != sum;
        weights[at] = is_own[at] ? sum : -100;
      }
    all_weights.put();
    poll(end, [&] { return sums.gather_weights(); });
    all_weights.get();
    for (const auto& part : own.parts)
      for (isize e = 0; e < part.at.size(); ++e) {
        const float sum =
            sum_of(ranks, rank, parameters[part.parameter], step, part.parameter, part.global + e);
        wrong += weights[static_cast<std::size_t>(part.at.begin + e)] != sum;
      }
  }
  return wrong;
}

// The stage in layers of one to three parameters, but for empty ones.
inline std::vector<interval> layers_of(const made_stage& own, std::uint64_t seed) {
  std::mt19937_64 draw(seed + 5);
  std::vector<interval> layers;
  for (std::size_t p = 0; p < own.parts.size();) {
    interval layer = own.parts[p].at;
    for (const std::size_t end = p + 1 + draw() % 3; p < own.parts.size() && p < end; ++p)
      layer.end = own.parts[p].at.end;
    if (layer.size() > 0) layers.push_back(layer);
  }
  return layers;
}

// Two steps of three microbatches on one rank, whose gradients exist a few layers at a time.
template <class Site, class Group, class End>
int check_ring(Site& site, const made_ranks& ranks, std::int32_t rank, Group* cut, Group* shared, End& end,
               std::uint64_t seed, std::int32_t slots) {
  const auto parameters = make_parameters(seed, ranks.tensor);
  const made_stage own = stage_of(parameters, ranks.tensor, rank % ranks.tensor);
  const std::vector<interval> layers = layers_of(own, seed);
  gradient_ring<float, Group, typename Site::context> ring(
      ranks.layout(own, rank, make_options(seed, true), layers), layers, {cut, shared}, slots, 2);
  const auto size = static_cast<std::size_t>(own.size);
  typename Site::template numbers<float> base(site, size, -1000.0f), all_weights(site, size);
  std::vector<float>& weights = all_weights.seen();
  ring.prepare(site.ctx, base.data(), all_weights.data());
  int wrong = 0;
  for (std::uint64_t step = 0; step < 2; ++step) {
    ring.begin_step();
    for (std::uint64_t m = 0; m < 3; ++m)
      for (std::size_t l = layers.size(); l-- > 0;) {
        const gradient_sink sink = ring.sink();
        const float* const there = base.data() + layers[l].begin;
        auto* const to = static_cast<float*>(sink.where(sink.self, there, layers[l].size()));
        wrong += sink.where(sink.self, there, layers[l].size()) != to;
        site.change(to, layers[l].size(), [&](float* numbers) {
          for (isize e = 0; e < layers[l].size(); ++e) wrong += numbers[e] != 0;
          for (const auto& part : own.parts)
            for (isize e = part.at.begin; e < part.at.end; ++e)
              if (e >= layers[l].begin && e < layers[l].end)
                numbers[e - layers[l].begin] +=
                    number_of(10 * step + m, rank, part.parameter, part.global + e - part.at.begin);
        });
        sink.told(sink.self, there, layers[l].size());
      }
    poll(end, [&] { return ring.finish(); });
    std::fill(weights.begin(), weights.end(), -100.0f);
    for (const owned_elements& each : ring.layout().share.owned)
      site.change(ring.sums() + each.moments, each.at.size(), [&](const float* sums) {
        std::copy_n(sums, each.at.size(), weights.begin() + static_cast<std::ptrdiff_t>(each.at.begin));
      });
    all_weights.put();
    poll(end, [&] { return ring.gather_weights(); });
    all_weights.get();
    for (const auto& part : own.parts)
      for (isize e = 0; e < part.at.size(); ++e) {
        float sum = 0;
        for (std::uint64_t m = 0; m < 3; ++m)
          sum +=
              sum_of(ranks, rank, parameters[part.parameter], 10 * step + m, part.parameter, part.global + e);
        wrong += weights[static_cast<std::size_t>(part.at.begin + e)] != sum;
      }
  }
  return wrong;
}

}  // namespace motet::laws
