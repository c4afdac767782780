// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/step_costs.hpp>
#include <motet/runtime/stage/stage_needs.hpp>

#include <string_view>

namespace motet {

// Of the work of an operation what is no large product: the FLOPs of attention, and of operations on single
// elements their FLOPs and the bytes that they move.
struct slower_work {
  double attention = 0, elements = 0, bytes = 0;

  void add(const slower_work& other, double times = 1) {
    attention += times * other.attention;
    elements += times * other.elements;
    bytes += times * other.bytes;
  }
};

// The work is what a rank does and moves for one microbatch at one stage, found without computing.
struct stage_work {
  double forward = 0, backward_input = 0, backward_weight = 0;  // FLOPs
  slower_work of_forward{}, of_input{}, of_weight{};            // parts of these
  // of the rows that go on behind the stage, and of the gradients that go back before it
  double boundary_bytes = 0, returned_bytes = 0;
  double kept_bytes = 0;  // from forward to backward
  // About so much comes from the other ranks that hold the stage: rows gathered, summed and exchanged.
  double forward_group_bytes = 0, backward_group_bytes = 0;

  void add(const stage_work& other, double times = 1) {
    for (const auto each : {&stage_work::forward, &stage_work::backward_input, &stage_work::backward_weight,
                            &stage_work::boundary_bytes, &stage_work::returned_bytes, &stage_work::kept_bytes,
                            &stage_work::forward_group_bytes, &stage_work::backward_group_bytes})
      this->*each += times * other.*each;
    of_forward.add(other.of_forward, times);
    of_input.add(other.of_input, times);
    of_weight.add(other.of_weight, times);
  }
};

namespace detail {

// These exchange rows, of which the bytes are counted by themselves.
inline bool is_exchange(std::string_view name) {
  return name == "gather rows" || name == "sum rows" || name == "swap rows with experts" ||
         name.starts_with("exchange ");
}
// Operations by what bounds them.
template <class Profile>
slower_work slower_of(const Profile& costs) {
  slower_work sum;
  for (const operation_cost& each : costs.operations()) {
    const auto calls = static_cast<double>(each.calls);
    const std::string_view name = each.name;
    if (name.starts_with("attention") || name.starts_with("ring_attention")) {
      sum.attention += calls * each.flops;
    } else if (each.kind == flops_of::elements && !is_exchange(name)) {
      sum.elements += calls * each.flops;
      sum.bytes += calls * each.bytes;
    }
  }
  return sum;
}
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
  const auto dry = [&](double& group_bytes, slower_work& slower, auto&& body) {
    profile costs;
    Context ctx;
    tell(ctx, at);
    ctx.shared = parts.shared(m);
    ctx.costs = &costs;
    body(ctx);
    group_bytes += detail::bytes_of_group(costs, seat);
    slower = detail::slower_of(costs);
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
  found.forward = dry(found.forward_group_bytes, found.of_forward,
                      [&](Context& ctx) { net.infer(ctx, at.range, w, parts, m, ends); });
  if (!at.learns) return found;
  const gradients<Numbers> g{nowhere<master>(), at.cut};
  kept_views kept = net.views();
  double ignored = 0;
  const auto reserve = [&](Context& ctx) { net.reserve(ctx, at.range, parts, m, kept, at.cut); };
  slower_work of_backward;
  const double backward = dry(found.backward_group_bytes, of_backward, [&](Context& ctx) {
    reserve(ctx);
    if (!at.remade) found.kept_bytes = static_cast<double>(ctx.memory.mark());
    run_backward(ctx, net, at, w, parts, m, ends, kept, g);
  });
  // The parts alone may count what the whole does once.
  const double input = dry(ignored, found.of_input, [&](Context& ctx) {
    reserve(ctx);
    net.backward_input(ctx, at.range, w, parts, m, ends, kept);
  });
  found.backward_input = input < backward ? input : backward;
  found.backward_weight = backward - found.backward_input;
  found.of_weight = of_backward;
  found.of_weight.add(found.of_input, -1);
  if (at.remade) {
    found.backward_input += found.forward;
    found.of_input.add(found.of_forward);
    found.backward_group_bytes += found.forward_group_bytes;
  }
  return found;
}

}  // namespace motet
