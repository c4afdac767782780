// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/exchange/spread_rows.hpp>
#include <motet/backend/groups/courier.hpp>
#include <motet/nn/compose/stage.hpp>

#include "layer_laws.hpp"
#include "thread_members.hpp"

#include <functional>
#include <map>

// A net on one rank, and its parts on the members of a tensor group, must do the same. A test names a
// subject; check_members does the rest.
namespace motet::laws {

// The outcome is what one run gives, as one rank would: rows of all samples, and gradients of whole tensors.
struct whole_outcome {
  std::map<std::string, reals> rows;       // y, dx, ...: in the order of samples
  std::map<std::string, reals> gradients;  // by name
};

// A member holds this of a flat buffer of the whole net.
template <class T>
std::vector<T> held_part(const std::vector<parameter>& whole, const reals& flat,
                         const std::vector<parameter>& held, isize size) {
  std::vector<T> out(static_cast<std::size_t>(size), T(not_written));
  REQUIRE_EQ(whole.size(), held.size());
  for (std::size_t i = 0; i < held.size(); ++i) {
    const parameter &from = whole[i], &to = held[i];
    REQUIRE_EQ(from.name, to.name);
    REQUIRE_EQ(from.size(), to.size());
    for (const parameter_slice& slice : to.slices()) {
      isize at = slice.offset;
      for (isize r = slice.rows.begin; r < slice.rows.end; ++r)
        for (isize c = slice.columns.begin; c < slice.columns.end; ++c)
          out[static_cast<std::size_t>(at++)] =
              static_cast<T>(flat[static_cast<std::size_t>(from.offset + r * from.width + c)]);
    }
  }
  return out;
}

// Adds a member's gradients to those of the whole net, and counts how many members hold each element.
template <class T>
void add_part(const std::vector<parameter>& held, const std::vector<T>& flat,
              std::map<std::string, reals>& sums, std::map<std::string, reals>& holders) {
  for (const parameter& each : held) {
    reals &sum = sums[each.name], &count = holders[each.name];
    sum.resize(static_cast<std::size_t>(each.size()));
    count.resize(sum.size());
    for (const parameter_slice& slice : each.slices()) {
      isize at = slice.offset;
      for (isize r = slice.rows.begin; r < slice.rows.end; ++r)
        for (isize c = slice.columns.begin; c < slice.columns.end; ++c) {
          const auto to = static_cast<std::size_t>(r * each.width + c);
          sum[to] += static_cast<double>(flat[static_cast<std::size_t>(at++)]);
          count[to] += 1;
        }
    }
  }
}

// Rows of all samples of which a member has some.
template <class T, isize Width>
view<T, Width> rows_of_samples(std::vector<T>& all, isize first_row, isize rows) {
  return {all.data() + first_row * Width, rows};
}

// A layer on rows of ragged or equal samples.
template <class L>
struct layer_part {
  using layer_type = L;
  sequences whole;
  std::vector<parameter> parameters(tensor_cut cut) const { return layer::parameters_of<L>({}, cut); }
  static isize size(tensor_cut cut) { return layer::size<L>(cut); }

  template <class N>
  struct memory {
    std::vector<typename N::stream> x, y, dy, dx, inferred;
  };
  template <class N>
  memory<N> allocate() const {
    using stream = typename N::stream;
    const std::size_t rows = static_cast<std::size_t>(whole.rows());
    return {narrowed<stream>(random_reals(whole.rows() * L::in, "x")),
            std::vector<stream>(rows * L::out, stream(not_written)),
            narrowed<stream>(random_reals(whole.rows() * L::out, "dy")),
            std::vector<stream>(rows * L::in, stream(not_written)),
            std::vector<stream>(rows * L::out, stream(not_written))};
  }
  template <class N>
  static std::map<std::string, reals> rows(const memory<N>& m) {
    return {{"y", widened(m.y)}, {"dx", widened(m.dx)}, {"inferred", widened(m.inferred)}};
  }
  // For the samples of `seq`, whose rows begin at first_row.
  template <class C, class N>
  void run(C& ctx, way how, weights<N> w, gradients<N> g, interval, const sequences& seq, isize first_row,
           memory<N>& m) const {
    const auto x = rows_of_samples<typename N::stream, L::in>(m.x, first_row, seq.rows());
    const auto y = rows_of_samples<typename N::stream, L::out>(m.y, first_row, seq.rows());
    const auto dy = rows_of_samples<typename N::stream, L::out>(m.dy, first_row, seq.rows());
    const auto dx = rows_of_samples<typename N::stream, L::in>(m.dx, first_row, seq.rows());
    layer::infer<L>(ctx, w, seq, x,
                    rows_of_samples<typename N::stream, L::out>(m.inferred, first_row, seq.rows()));
    const isize mark = ctx.memory.mark();
    typename L::template saved<N> s;
    layer::reserve<L, N>(ctx, seq, s, w.cut);
    L::forward(ctx, w, seq, x, y, s);
    if (how == way::whole) layer::backward<L>(ctx, w, seq, x, dy, dx, s, g);
    if (how == way::split) {
      L::backward_input(ctx, w, seq, x, dy, dx, s);
      synchronize(ctx);
      layer::backward_weight<L>(ctx, w, seq, x, dy, s, g);
    }
    release(ctx, mark);
  }
};

// A tower in two stages, cut before block `at`; 0: as one.
template <class Net>
struct tower_part {
  using layer_type = Net;
  using stage = typename Net::stage;
  typename Net::input batch;
  std::function<typename Net::input(interval samples, const sequences& own)> take;
  isize at = 0;
  sequences whole = Net::rows(batch);

  std::vector<stage_range> ranges() const {
    if (at == 0) return {Net::whole};
    return {{0, at}, {at, Net::layers}};
  }
  std::vector<parameter> parameters(tensor_cut cut) const {
    std::vector<parameter> all;
    for (const stage_range& range : ranges())
      for (parameter each : stage::parameters_of({}, range, cut)) {
        each.offset += stage::parameter_begin(range, cut);
        all.push_back(each);
      }
    return all;
  }
  static isize size(tensor_cut cut) { return layer::size<Net>(cut); }

  template <class N>
  struct memory {
    std::vector<typename N::stream> features, d_features, inferred, y, dx;
  };
  template <class N>
  memory<N> allocate() const {
    using stream = typename N::stream;
    const auto samples = static_cast<std::size_t>(whole.samples * Net::embedding),
               rows = static_cast<std::size_t>(whole.rows() * Net::width);
    return {std::vector<stream>(samples, stream(not_written)),
            narrowed<stream>(random_reals(whole.samples * Net::embedding, "dy")),
            std::vector<stream>(samples, stream(not_written)),
            std::vector<stream>(at > 0 ? rows : 0, stream(not_written)),
            std::vector<stream>(at > 0 ? rows : 0, stream(not_written))};
  }
  template <class N>
  static std::map<std::string, reals> rows(const memory<N>& m) {
    return {{"features", widened(m.features)},
            {"inferred", widened(m.inferred)},
            {"y of a stage", widened(m.y)},
            {"dx of a stage", widened(m.dx)}};
  }
  template <class C, class N>
  void run(C& ctx, way how, weights<N> w, gradients<N> g, interval samples, const sequences& seq,
           isize first_row, memory<N>& m) const {
    using stream = typename N::stream;
    const auto input = take(samples, seq);
    const auto of_samples = [&](std::vector<stream>& all) {
      return view<stream, Net::embedding>{all.data() + samples.begin * Net::embedding, samples.size()};
    };
    typename stage::template ends<N> ends[2];
    typename stage::template saved<N> saved[2];
    const auto list = ranges();
    const std::size_t last = list.size() - 1;
    ends[last].d_features = of_samples(m.d_features);
    if (last > 0) {
      ends[0].y = rows_of_samples<stream, Net::width>(m.y, first_row, seq.rows());
      ends[1].x = ends[0].y;
      ends[1].dx = rows_of_samples<stream, Net::width>(m.dx, first_row, seq.rows());
      ends[0].dy = ends[1].dx;
    }
    const auto of_stage = [&](auto flat, std::size_t i) {
      return flat + stage::parameter_begin(list[i], flat.cut);
    };
    ends[last].features = of_samples(m.inferred);
    for (std::size_t i = 0; i <= last; ++i) stage::infer(ctx, list[i], of_stage(w, i), input, ends[i]);
    ends[last].features = of_samples(m.features);
    const isize mark = ctx.memory.mark();
    for (std::size_t i = 0; i <= last; ++i) {
      stage::template reserve<N>(ctx, list[i], input, saved[i], w.cut);
      stage::forward(ctx, list[i], of_stage(w, i), input, ends[i], saved[i]);
    }
    for (std::size_t i = last + 1; i-- > 0;) {
      if (how == way::whole)
        stage::backward(ctx, list[i], of_stage(w, i), input, ends[i], saved[i], of_stage(g, i));
      else stage::backward_input(ctx, list[i], of_stage(w, i), input, ends[i], saved[i]);
    }
    synchronize(ctx);
    if (how == way::split)
      for (std::size_t i = last + 1; i-- > 0;)
        stage::backward_weight(ctx, list[i], of_stage(w, i), input, ends[i], saved[i], of_stage(g, i));
    release(ctx, mark);
  }
};

inline pictures take_pictures(const pictures& batch, interval samples, isize size) {
  return {batch.pixels + samples.begin * size, samples.size()};
}
inline tokens take_tokens(const tokens& batch, interval samples, const sequences& own) {
  return {batch.ids + batch.seq.begin(samples.begin), own};
}

// One rank with everything where members is 0, else a tensor group of so many, each with a team of threads,
// in the memory that a dry run asks for. Rows may be exchanged in pieces, each member with a courier.
template <class N, class Subject>
whole_outcome run_spread(const Subject& subject, way how, std::int32_t members, int threads = 1,
                         isize pieces = 1) {
  using master = typename N::master;
  const auto all = subject.parameters({});
  for (const parameter& each : all) {
    REQUIRE_EQ(each.slices().size(), 1);
    REQUIRE_EQ(each.held(), each.size());
  }
  const reals flat = in_bf16(random_weights(all, subject.size({})));
  whole_outcome out;
  std::map<std::string, reals> holders;
  auto memory = subject.template allocate<N>();
  std::mutex mutex;
  // in the order of members
  std::vector<std::function<void()>> sums(static_cast<std::size_t>(members > 0 ? members : 1));

  const auto rank = [&](std::int32_t member, const any_group& group, courier* beside) {
    const tensor_cut cut = members > 0 ? tensor_cut{members, member} : tensor_cut{};
    const interval samples = cut.share(subject.whole.samples);
    const auto held = subject.parameters(cut);
    const isize size = subject.size(cut);
    const auto w = [&] {
      const std::lock_guard lock(mutex);  // doctest counts
      REQUIRE_EQ(held.empty() ? 0 : held.back().offset + parameter_space(held.back().held()), size);
      return held_part<master>(all, flat, held, size);
    }();
    std::vector<master> g(w.size(), master(0));
    spread_rows places({.tensor = cut.shards, .tensor_member = cut.shard, .pieces = pieces, .beside = beside},
                       subject.whole.samples);
    microbatch_spread shared;
    places.fill(subject.whole, shared);
    shared.tensor = group;
    const auto body = [&](cpu::context& ctx) {
      if (members > 0) ctx.shared = &shared;
      subject.template run<cpu::context, N>(ctx, how, weights<N>{w.data(), cut}, gradients<N>{g.data(), cut},
                                            samples, shared.own, subject.whole.begin(samples.begin), memory);
    };
    cpu_run_foretold(threads, body);
    const std::lock_guard lock(mutex);
    sums[static_cast<std::size_t>(member)] = [&out, &holders, held, g] {
      add_part(held, g, out.gradients, holders);
    };
  };
  if (members == 0) rank(0, any_group{}, nullptr);
  else
    run_members(members, [&](std::int32_t member, const any_group& group, local::endpoint& end) {
      if (pieces == 1) return rank(member, group, nullptr);
      courier beside(end);
      rank(member, group, &beside);
    });
  for (const auto& each : sums) each();
  out.rows = Subject::template rows<N>(memory);
  // Every element is held by one member, or, where the parameter is shared, by all.
  for (const parameter& each : all) {
    INFO(each.name);
    const double wanted = each.by == cut_by::nothing && members > 0 ? members : 1;
    for (const double count : holders[each.name]) REQUIRE_EQ(count, wanted);
  }
  return out;
}

inline void check_same(const whole_outcome& got, const whole_outcome& want, double tolerance) {
  for (const auto& [name, rows] : want.rows) {
    INFO(name);
    CHECK_LE(apart(got.rows.at(name), rows), tolerance);
  }
  double total = 0;
  for (const auto& [name, gradient] : want.gradients) total += std::pow(size_of(gradient), 2);
  CHECK(total > 0);
  for (const auto& [name, gradient] : want.gradients) {
    INFO(name);
    CHECK_LE(apart(got.gradients.at(name), gradient, 1e-2 * std::sqrt(total)), tolerance);
  }
}

// Members, one or several, compute what one rank does.
template <class N = fp64, class Subject>
void check_members(const Subject& subject, std::initializer_list<std::int32_t> counts,
                   double tolerance = 1e-12) {
  const whole_outcome want = run_spread<N>(subject, way::whole, 0);
  for (const std::int32_t members : counts)
    for (const way how : {way::whole, way::split}) {
      CAPTURE(members);
      CAPTURE(static_cast<int>(how));
      check_same(run_spread<N>(subject, how, members), want, tolerance);
    }
}

}  // namespace motet::laws
