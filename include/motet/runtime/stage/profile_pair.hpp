// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/dealt_by_shares.hpp>
#include <motet/plan/cost/module_pair.hpp>
#include <motet/runtime/ranks/lane_threads.hpp>
#include <motet/runtime/stage/profile_module.hpp>

#include <atomic>
#include <exception>
#include <optional>
#include <thread>
#include <vector>

namespace motet {

// The options say how two modules are measured beside each other.
struct pair_options {
  isize samples = 16;                              // of a microbatch of each
  int threads = 2;                                 // of the rank
  std::vector<double> shares = {0.25, 0.5, 0.75};  // of the first
  isize repeats = 5;     // alone and beside the other, at least, in each of the rounds; medians count
  double seconds = 0.1;  // likewise
};

namespace detail {

// A block of a module, forward and backward, which is computed again and again with threads of its own.
template <class Module, class Device, class Numbers>
class repeated_block {
 public:
  using net = typename Module::net;
  using context = typename Device::context;

  explicit repeated_block(isize samples)
      : input_(samples), parts_({samples, 1, 1, 1}, 0, spread_seat{1, 0}, any_group(alone_)) {
    parts_.cut(input_.all());
    block_.emplace(parts_, tensor_cut{1, 0});
  }
  void take(int threads) {
    device_.reset();
    device_.emplace(threads);
    device_->prepare(device_->dry_run([this](context& ctx) { block_->once(ctx, !Module::frozen); }));
    once();  // what comes first is slower
  }
  void once() {
    device_->run([this](context& ctx) { block_->once(ctx, !Module::frozen); });
  }
  double timed() {
    const double since = thread_seconds();
    once();
    return thread_seconds() - since;
  }

 private:
  silent_group alone_{1, 0};
  random_input<net> input_;
  replica_microbatches<net> parts_;
  std::optional<timed_part<tower_part::block, net, context, Numbers>> block_;
  std::optional<Device> device_;
};

// Says whether a list of times is long enough.
inline bool enough(const list<double>& times, isize before, double seconds, const pair_options& how) {
  return times.size() - before >= how.repeats && seconds >= how.seconds;
}

template <class Work>
void time_alone(Work& work, const pair_options& how, list<double>& times) {
  const isize before = times.size();
  for (double spent = 0; !enough(times, before, spent, how); spent += times.back()) times.push(work.timed());
}

// Each goes on until the other has enough, so that none is ever alone while it counts.
template <class First, class Second>
void time_together(First& first, Second& second, const pair_options& how, list<double>& of_first,
                   list<double>& of_second) {
  std::atomic<int> ready{0}, through{0};
  std::exception_ptr failure[2];
  const auto play = [&](auto& work, list<double>& times) {
    const isize before = times.size();
    double spent = 0;
    bool done = false;
    for (++ready; ready < 2;) std::this_thread::yield();
    while (through < 2) {
      const double own = work.timed();
      spent += own;
      if (through < 2) times.push(own);
      if (done || !enough(times, before, spent, how)) continue;
      done = true;
      ++through;
    }
  };
  lane_threads(2).run([&](int lane) {
    try {
      lane == 0 ? play(first, of_first) : play(second, of_second);
    } catch (...) {
      failure[lane] = std::current_exception();
      ready = through = 2;
    }
  });
  for (const std::exception_ptr& each : failure)
    if (each) std::rethrow_exception(each);
}

}  // namespace detail

// Measures how much longer a block of each module takes while the other computes in another lane of the rank,
// on the threads that each has by its share. Times are of the lanes' own threads, so it does not count that
// lanes share processors where a rank has fewer threads than lanes; that follows from their shares.
// Asks for: a device that is made of a number of threads, and modules whose nets have blocks.
// Memory: one block of each with its gradients, and a microbatch.
// Errors: MT-R02
// Example:
//   #include <motet/backend/cpu/device.hpp>
//   #include <motet/model/module.hpp>
//   using eye = vit<vit_config{.image = 16, .patch = 4, .width = 32, .layers = 2, .heads = 2}>;
//   using left = module<"left", eye>;
//   using right = module<"right", eye>;
//   double slowed() { return profile_pair<left, right, cpu::device, fp32>({}).points[0].first; }
template <class First, class Second, class Device, class Numbers>
module_pair profile_pair(const pair_options& how) {
  constexpr int rounds = 3;  // alone, together, and again, as a machine is not always as fast
  if (how.samples < 1 || how.threads < 1)
    fail(bad_training_option,
         sentence({how.samples, " samples on ", how.threads, " threads, wanted at least 1 of each"}));
  detail::repeated_block<First, Device, Numbers> first(how.samples);
  detail::repeated_block<Second, Device, Numbers> second(how.samples);
  module_pair found{label(First::name), label(Second::name), static_cast<double>(how.samples), {}};
  for (const double share : how.shares) {
    if (!(share > 0 && share < 1))
      fail(bad_training_option,
           sentence({"a share of ", share, " of a rank, wanted more than 0, less than 1"}));
    const std::vector<int> threads = dealt_by_shares({share, 1 - share}, how.threads);
    first.take(threads[0]);
    second.take(threads[1]);
    list<double> alone[2], together[2];
    for (int round = 0; round < rounds; ++round) {
      detail::time_alone(first, how, alone[0]);
      detail::time_alone(second, how, alone[1]);
      detail::time_together(first, second, how, together[0], together[1]);
    }
    add_point(found, {share, threads[0], threads[1], median(together[0]) / median(alone[0]),
                      median(together[1]) / median(alone[1])});
  }
  return found;
}

}  // namespace motet
