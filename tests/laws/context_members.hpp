// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "spread_ranks.hpp"
#include "tensor_members.hpp"

// A tower on one rank, and on ranks that share heads and hidden units (tensor) and the rows of each sample
// (context), must do the same.
namespace motet::laws {

template <class N, class Net>
whole_outcome run_places(const tower_part<Net>& subject, way how, isize tensor, isize context,
                         int threads = 1, isize long_rows = 0) {
  using master = typename N::master;
  using stream = typename N::stream;
  const auto all = subject.parameters({});
  const reals flat = in_bf16(random_weights(all, subject.size({})));
  whole_outcome out;
  std::map<std::string, reals> holders;
  auto memory = subject.template allocate<N>();
  std::mutex mutex;
  // in the order of ranks
  std::vector<std::function<void()>> sums(static_cast<std::size_t>(tensor * context));

  const auto copy_rows = [](const std::vector<stream>& from, isize row, std::vector<stream>& to, isize to_row,
                            isize count, isize width) {
    if (!to.empty()) std::copy_n(from.begin() + row * width, count * width, to.begin() + to_row * width);
  };
  const std::string thrown = run_shards(
      tensor, context, Net::balanced_rows, subject.whole,
      [&](microbatch_spread& is, const spread_seat& at) {
        const tensor_cut cut{static_cast<std::int32_t>(tensor), static_cast<std::int32_t>(at.tensor_member)};
        const auto held = subject.parameters(cut);
        std::vector<master> w, g(static_cast<std::size_t>(subject.size(cut)), master(0));
        tower_part<Net> own = subject;
        auto here = subject.template allocate<N>();
        {
          const std::lock_guard lock(mutex);  // doctest counts
          w = held_part<master>(all, flat, held, subject.size(cut));
        }
        own.take = [&](interval samples, const sequences&) { return subject.take(samples, is.mine); };
        const interval members = share(subject.whole.samples, tensor, at.tensor_member),
                       few = share(members.size(), context, at.context_member);
        const interval mine{members.begin + few.begin, members.begin + few.end};
        cpu_run_foretold(threads, [&](cpu::context& ctx) {
          ctx.shared = &is;
          own.template run<cpu::context, N>(ctx, how, weights<N>{w.data(), cut}, gradients<N>{g.data(), cut},
                                            mine, is.own, 0, here);
        });
        const std::lock_guard lock(mutex);
        copy_rows(here.features, mine.begin, memory.features, mine.begin, mine.size(), Net::embedding);
        copy_rows(here.inferred, mine.begin, memory.inferred, mine.begin, mine.size(), Net::embedding);
        for (isize s = 0; s < is.own.samples; ++s)
          for (isize r = 0; r < is.own.rows_of(s); ++r) {
            const isize sample = members.begin + s,
                        row = is.whole.begin(sample) +
                              is.cut_of(sample).position(is.whole.rows_of(sample), at.context_member, r);
            copy_rows(here.y, is.own.begin(s) + r, memory.y, row, 1, Net::width);
            copy_rows(here.dx, is.own.begin(s) + r, memory.dx, row, 1, Net::width);
          }
        sums[static_cast<std::size_t>(at.context_member * tensor + at.tensor_member)] =
            [&out, &holders, held, g] { add_part(held, g, out.gradients, holders); };
      },
      long_rows);
  REQUIRE_EQ(thrown, "");
  for (const auto& each : sums) each();
  out.rows = tower_part<Net>::template rows<N>(memory);
  // Context parallelism cuts no parameter.
  for (const parameter& each : all) {
    INFO(each.name);
    for (const double count : holders[each.name])
      REQUIRE_EQ(count, static_cast<double>(each.by == cut_by::nothing ? tensor * context : context));
  }
  return out;
}

struct degrees {
  isize tensor, context, long_rows = 0;
};

template <class N = fp64, class Net>
void check_places(const tower_part<Net>& subject, std::initializer_list<degrees> places,
                  double tolerance = 1e-12) {
  const whole_outcome want = run_spread<N>(subject, way::whole, 0);
  for (const degrees& at : places)
    for (const way how : {way::whole, way::split}) {
      CAPTURE(at.tensor);
      CAPTURE(at.context);
      CAPTURE(at.long_rows);
      CAPTURE(static_cast<int>(how));
      check_same(run_places<N>(subject, how, at.tensor, at.context, 1, at.long_rows), want, tolerance);
    }
}

}  // namespace motet::laws
