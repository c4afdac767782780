// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/stage/stage_needs.hpp>

#include <string_view>

namespace motet {

// The work is what a rank does and moves for one microbatch at one stage, found without computing.
struct stage_work {
  double forward = 0, backward_input = 0, backward_weight = 0;  // FLOPs
  // of the rows that go on behind the stage, and of the gradients that go back before it
  double boundary_bytes = 0, returned_bytes = 0;
  double kept_bytes = 0;  // from forward to backward
  // About so much comes from the other ranks that hold the stage: rows gathered, summed and exchanged.
  double forward_group_bytes = 0, backward_group_bytes = 0;

  void add(const stage_work& other, double times = 1) {
    for (const auto each : {&stage_work::forward, &stage_work::backward_input, &stage_work::backward_weight,
                            &stage_work::boundary_bytes, &stage_work::returned_bytes,
                            &stage_work::forward_group_bytes, &stage_work::backward_group_bytes})
      this->*each += times * other.*each;
  }
};

namespace detail {

// Operations note what they read and write; of that, what came from others.
template <class Profile>
double bytes_of_group(const Profile& costs, const spread_seat& at) {
  const auto tensor = static_cast<double>(at.tensor), context = static_cast<double>(at.context);
  double sum = 0;
  for (const auto& each : costs) {
    const std::string_view name = each.name;
    // own rows, and those of all
    if (name == "gather rows") sum += each.bytes * (tensor - 1) / (tensor + 1);
    // those of all, own rows twice
    if (name == "sum rows") sum += each.bytes * (tensor - 1) / (tensor + 2);
    if (name == "swap rows with experts") sum += each.bytes;
    // as many before as after
    if (name.starts_with("exchange ")) sum += each.bytes / 2 * (context - 1) / context;
  }
  return sum;
}

}  // namespace detail

// Dry runs over a microbatch count it, over the largest one where none is named. A backward that makes again
// what it needs has the forward in its input part.
template <class Context, class Numbers>
stage_work work_of_stage(const net_table<Context, Numbers>& net, const stage_position& at,
                         const any_microbatches& parts, const spread_seat& seat = {},
                         isize m = any_microbatches::largest) {
  using master = typename Numbers::master;
  using profile = std::remove_pointer_t<decltype(Context{}.costs)>;
  const stage_ends<Numbers> ends = dry_ends(net, at, parts, m);
  const auto dry = [&](double& group_bytes, auto&& body) {
    profile costs;
    Context ctx;
    tell(ctx, at);
    ctx.shared = parts.shared(m);
    ctx.costs = &costs;
    body(ctx);
    group_bytes += detail::bytes_of_group(costs, seat);
    return costs.flops();
  };

  stage_work found;
  const auto bytes = [](isize numbers) {
    return static_cast<double>(numbers) * sizeof(typename Numbers::stream);
  };
  found.boundary_bytes = bytes(net.of->rows_out(at.range, parts, m) * net.of->width_out(at.range));
  found.returned_bytes = net.of->comes_in(at.range)
                             ? bytes(net.of->rows_in(at.range, parts, m) * net.of->width_in(at.range))
                             : found.boundary_bytes;
  const weights<Numbers> w{nowhere<master>(), at.cut};
  found.forward =
      dry(found.forward_group_bytes, [&](Context& ctx) { net.infer(ctx, at.range, w, parts, m, ends); });
  if (!at.learns) return found;
  const gradients<Numbers> g{nowhere<master>(), at.cut};
  kept_views kept = net.views();
  double ignored = 0;
  const auto reserve = [&](Context& ctx) { net.reserve(ctx, at.range, parts, m, kept, at.cut); };
  const double backward = dry(found.backward_group_bytes, [&](Context& ctx) {
    reserve(ctx);
    if (!at.remade) found.kept_bytes = static_cast<double>(ctx.memory.mark());
    run_backward(ctx, net, at, w, parts, m, ends, kept, g);
  });
  // The parts alone may count what the whole does once.
  const double input = dry(ignored, [&](Context& ctx) {
    reserve(ctx);
    net.backward_input(ctx, at.range, w, parts, m, ends, kept);
  });
  found.backward_input = input < backward ? input : backward;
  found.backward_weight = backward - found.backward_input;
  if (at.remade) {
    found.backward_input += found.forward;
    found.backward_group_bytes += found.forward_group_bytes;
  }
  return found;
}

}  // namespace motet
