// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/step_costs.hpp>
#include <motet/runtime/stage/stage_needs.hpp>

#include <string_view>

namespace motet {

// The work of an operation that is no large product: the FLOPs of attention, of operations on single elements
// and the bytes that these move, and of sums of exchanged rows.
struct slower_work {
  double attention = 0, elements = 0, bytes = 0, exchanges = 0;

  void add(const slower_work& other, double times = 1) {
    for (const auto each :
         {&slower_work::attention, &slower_work::elements, &slower_work::bytes, &slower_work::exchanges})
      this->*each += times * other.*each;
  }
};

// What a microbatch takes in an operation of a stage.
struct operation_work {
  double flops = 0;
  slower_work slower{};  // a part of these

  void add(const operation_work& other, double times = 1) {
    flops += times * other.flops;
    slower.add(other.slower, times);
  }
};

// The work is what a rank does and moves for one microbatch at one stage, found without computing.
struct stage_work {
  double forward = 0, backward_input = 0, backward_weight = 0;  // FLOPs
  slower_work of_forward{}, of_input{}, of_weight{};            // parts of these
  double again = 0;  // and of those of backward_input so many of a forward that is made again
  // The part of it within blocks, without what is before and behind them.
  operation_work forward_blocks{}, input_blocks{}, weight_blocks{};
  // of the rows that go on behind the stage, and of the gradients that go back before it
  double boundary_bytes = 0, returned_bytes = 0;
  double kept_bytes = 0;  // from forward to backward
  // About so much comes from the other ranks that hold the stage: rows gathered, summed and exchanged.
  double forward_group_bytes = 0, backward_group_bytes = 0;

  void add(const stage_work& other, double times = 1) {
    for (const auto each :
         {&stage_work::forward, &stage_work::backward_input, &stage_work::backward_weight, &stage_work::again,
          &stage_work::boundary_bytes, &stage_work::returned_bytes, &stage_work::kept_bytes,
          &stage_work::forward_group_bytes, &stage_work::backward_group_bytes})
      this->*each += times * other.*each;
    of_forward.add(other.of_forward, times);
    of_input.add(other.of_input, times);
    of_weight.add(other.of_weight, times);
    for (const auto each :
         {&stage_work::forward_blocks, &stage_work::input_blocks, &stage_work::weight_blocks})
      (this->*each).add(other.*each, times);
  }
};

namespace detail {

// Operations by what bounds them. Of exchanges the bytes that come from others count, by themselves, and what
// is moved and summed here beside them is theirs.
template <class Profile, class Counts>
operation_work work_of(const Profile& costs, Counts&& counts) {
  operation_work sum;
  for (const operation_cost& each : costs.operations()) {
    if (!counts(each)) continue;
    const auto calls = static_cast<double>(each.calls);
    sum.flops += calls * each.flops;
    switch (each.kind) {
      case flops_of::products: break;
      case flops_of::attention: sum.slower.attention += calls * each.flops; break;
      case flops_of::elements:
        sum.slower.elements += calls * each.flops;
        sum.slower.bytes += calls * each.bytes;
        break;
      default: sum.slower.exchanges += calls * each.flops;
    }
  }
  return sum;
}
// Operations within the blocks of a tower (nn/compose/stage.hpp), and of its end all that is no product with
// a vocabulary, which is little.
template <class Profile>
operation_work work_of_blocks(const Profile& costs) {
  return work_of(costs, [&](const operation_cost& each) {
    for (int at = each.section; at >= 0; at = costs.begin()[at].parent) {
      const std::string_view name = costs.begin()[at].name;
      if (name == "vocabulary") return false;
      if (name == "blocks") return true;
    }
    return false;
  });
}
// Exchanges note what they read and write; of that, what came from others.
template <class Profile>
double bytes_of_group(const Profile& costs, const spread_seat& at) {
  const auto tensor = static_cast<double>(at.tensor), context = static_cast<double>(at.context);
  double sum = 0;
  for (const operation_cost& each : costs.operations()) {
    const double bytes = static_cast<double>(each.calls) * each.bytes;
    switch (each.kind) {
      case flops_of::elements:
      case flops_of::products:
      case flops_of::attention: break;
      // own rows, and those of all
      case flops_of::gathers: sum += bytes * (tensor - 1) / (tensor + 1); break;
      // those of all, own rows twice
      case flops_of::summed_rows: sum += bytes * (tensor - 1) / (tensor + 2); break;
      // with the ranks that have experts: what others bring alone
      case flops_of::expert_rows: sum += bytes; break;
      // over context parts: as many before as after
      case flops_of::exchanges: sum += bytes / 2 * (context - 1) / context;
    }
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
  const auto dry = [&](double& group_bytes, slower_work& slower, operation_work& blocks, auto&& body) {
    profile costs;
    Context ctx;
    tell(ctx, at);
    ctx.shared = parts.shared(m);
    ctx.costs = &costs;
    body(ctx);
    group_bytes += detail::bytes_of_group(costs, seat);
    slower = detail::work_of(costs, [](const operation_cost&) { return true; }).slower;
    blocks = detail::work_of_blocks(costs);
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
  found.forward = dry(found.forward_group_bytes, found.of_forward, found.forward_blocks,
                      [&](Context& ctx) { net.infer(ctx, at.range, w, parts, m, ends); });
  if (!at.learns) return found;
  const gradients<Numbers> g{nowhere<master>(), at.cut};
  kept_views kept = net.views();
  double ignored = 0;
  const auto reserve = [&](Context& ctx) { net.reserve(ctx, at.range, parts, m, kept, at.cut); };
  slower_work of_backward;
  operation_work in_blocks;
  const double backward = dry(found.backward_group_bytes, of_backward, in_blocks, [&](Context& ctx) {
    reserve(ctx);
    if (!at.remade) found.kept_bytes = static_cast<double>(ctx.memory.mark());
    run_backward(ctx, net, at, w, parts, m, ends, kept, g);
  });
  // The parts alone may count what the whole does once.
  const double input = dry(ignored, found.of_input, found.input_blocks, [&](Context& ctx) {
    reserve(ctx);
    net.backward_input(ctx, at.range, w, parts, m, ends, kept);
  });
  found.backward_input = input < backward ? input : backward;
  found.backward_weight = backward - found.backward_input;
  found.of_weight = of_backward;
  found.of_weight.add(found.of_input, -1);
  found.weight_blocks = in_blocks;
  found.weight_blocks.add(found.input_blocks, -1);
  if (at.remade) {
    found.again = found.forward;
    found.backward_input += found.forward;
    found.input_blocks.add(found.forward_blocks);
    found.of_input.add(found.of_forward);
    found.backward_group_bytes += found.forward_group_bytes;
  }
  return found;
}

}  // namespace motet
