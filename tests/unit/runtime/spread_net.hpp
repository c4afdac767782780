// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/save/held_tensors.hpp>

#include <array>

// A net of a few tensors as one rank of tensor x replicas holds it, with numbers that tell where in the whole
// tensors they belong.
struct spread_net {
  struct places {
    std::int32_t tensor = 1, replicas = 1;
    bool shards = false;  // of the optimizer
    bool shares = false;  // and of weights
    std::int32_t ranks() const { return tensor * replicas; }
  };

  std::vector<motet::parameter> parameters;
  motet::isize size = 0;
  bool shares_only = false;
  std::vector<float> weights, first, second, still;
  motet::update_share share, still_share;
  std::vector<motet::parameter> frozen;

  static std::vector<motet::parameter> held(motet::tensor_cut cut, motet::isize& size) {
    using motet::interval;
    std::vector<motet::parameter> out;
    size = 0;
    const auto add = [&](const char* name, motet::isize rows, motet::isize width, bool vector,
                         std::vector<interval> held_rows, std::vector<interval> held_columns) {
      motet::parameter made;
      made.name = name;
      made.rows = rows;
      made.width = width;
      made.vector = vector;
      made.offset = size;
      if (!held_rows.empty() || !held_columns.empty()) made.by = motet::cut_by::tensor;
      made.held_rows = held_rows.empty() ? std::vector<interval>{{0, rows}} : held_rows;
      made.held_columns = held_columns.empty() ? std::vector<interval>{{0, width}} : held_columns;
      size += motet::parameter_space(made.held());
      out.push_back(made);
    };
    const auto part = [&](motet::isize whole, motet::isize from = 0) {
      const interval own = cut.share(whole);
      return interval{from + own.begin, from + own.end};
    };
    const std::vector<interval> heads{part(4), part(4, 4), part(4, 8)};  // queries, keys and values
    add("qkv.weight", 12, 5, false, heads, {});
    add("qkv.bias", 1, 12, true, {}, heads);
    add("output.weight", 5, 4, false, {}, {part(4)});
    add("norm.scale", 1, 5, true, {}, {});
    add("up.weight", 7, 5, false, {part(7)}, {});
    add("table", 30, 3, false, {}, {});
    return out;
  }
  static float number(const motet::parameter& of, motet::isize element) {
    return static_cast<float>(1000 * static_cast<int>(of.name[0]) + 100 * static_cast<int>(of.name.size()) +
                              element);
  }

  spread_net(places of, std::int32_t rank) {
    const std::int32_t shard = rank % of.tensor, replica = rank / of.tensor;
    parameters = held({of.tensor, shard}, size);
    std::vector<motet::interval> shared;
    for (const auto& each : parameters)
      if (each.by == motet::cut_by::nothing && of.tensor > 1)
        shared.push_back({each.offset, each.offset + motet::parameter_space(each.held())});
    share = motet::lay_out_reduction(size, {of.replicas, replica}, {{{of.ranks(), rank}, shared}},
                                     {64, 20, of.shards})
                .share;
    shares_only = of.shares;
    still.assign(static_cast<std::size_t>(size), -1);
    weights.assign(static_cast<std::size_t>(shares_only ? share.moments : size), -1);
    for (auto* each : {&first, &second}) each->assign(static_cast<std::size_t>(share.moments), -1);
    // The first that holds what does not learn writes it.
    frozen = parameters;
    for (auto& each : frozen) {
      each.name = "still." + each.name;
      const bool own = replica == 0 && (each.by != motet::cut_by::nothing || shard == 0);
      if (own) still_share.counted.push_back({each.offset, each.offset + each.held()});
    }
  }
  std::array<motet::parameter_piece<float>, 2> pieces() {
    std::array<motet::parameter_piece<float>, 2> out;
    out[0].size = out[1].size = size;
    out[0].parameters = parameters;
    out[0].weights = weights.data();
    out[0].first = first.data();
    out[0].second = second.data();
    out[0].share = &share;
    out[0].shares_only = shares_only;
    out[1].parameters = frozen;
    out[1].weights = still.data();
    out[1].share = &still_share;
    return out;
  }

  // visit(number in memory, number that belongs there)
  template <class Visit>
  void each_number(Visit&& visit) {
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      motet::each_run(parameters[p], [&](motet::isize at, motet::isize element, motet::isize count) {
        for (motet::isize i = 0; i < count; ++i) {
          if (!shares_only)
            visit(weights[static_cast<std::size_t>(at + i)], number(parameters[p], element + i));
          visit(still[static_cast<std::size_t>(at + i)], number(frozen[p], element + i));
          for (const motet::owned_elements& own : share.owned) {
            if (at + i < own.at.begin || at + i >= own.at.end) continue;
            const auto moment = static_cast<std::size_t>(own.moments + at + i - own.at.begin);
            if (shares_only) visit(weights[moment], number(parameters[p], element + i));
            visit(first[moment], number(parameters[p], element + i) + 0.25f);
            visit(second[moment], number(parameters[p], element + i) + 0.5f);
          }
        }
      });
    }
  }
  void fill() {
    each_number([](float& held, float belongs) { held = belongs; });
  }
  motet::isize wrong() {
    motet::isize sum = 0;
    each_number([&](float held, float belongs) { sum += held != belongs ? 1 : 0; });
    return sum;
  }
};
