// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/optimus/pipeline_gaps.hpp>

namespace motet {

// An encoder pipeline's work on each of its devices for a microbatch. Several encoders are one behind the
// other.
struct encoder_work {
  isize stages = 1;
  double forward = 0, backward = 0;                       // of a stage, exchanges and all
  std::vector<double> forward_kernels, backward_kernels;  // of a stage, arithmetic alone
};

// The even deal of microbatches to pipelines, and where those are few all that differ from it by one more
// here and one less there. The pipelines are alike but for where they lie.
template <class Visit>
void each_even_deal(isize microbatches, isize pipelines, Visit visit) {
  std::vector<isize> parts(static_cast<std::size_t>(pipelines), microbatches / pipelines);
  for (isize k = 0; k < microbatches % pipelines; ++k) ++parts[static_cast<std::size_t>(k)];
  visit(parts);
  if (pipelines > 4 || parts.back() < 2) return;
  for (std::size_t a = 0; a < parts.size(); ++a)
    for (std::size_t b = 0; b < parts.size(); ++b) {
      if (a == b) continue;
      std::vector<isize> other = parts;
      ++other[a];
      --other[b];
      visit(other);
    }
}

// What is allowed where encoder work goes into gaps.
struct placement_rules {
  bool slices = false;        // kernels are cut until they are shorter than four of five gaps
  bool goes_on = false;       // where a pipeline's work fits nowhere, the next one is tried
  double slice_costs = 1.03;  // as long as before
};

struct encoder_placement {
  double seconds = 0;                         // of the step
  double coarse_seconds = 0;                  // with whole microbatches in the gaps at both ends alone
  double filled_coarse = 0, filled_fine = 0;  // shares of the encoder's arithmetic in gaps
  std::vector<isize> parts;                   // microbatches of each encoder pipeline
  isize slices = 1;                           // of the kernel that is cut most
};

namespace detail {

class encoder_placer {
 public:
  encoder_placer(const pipeline_gaps& gaps, const encoder_work& work, std::vector<isize> parts,
                 placement_rules rules)
      : gaps_(gaps), work_(work), parts_(std::move(parts)), rules_(rules), lanes_(parts_.size()) {
    const auto own_stages = static_cast<std::size_t>(work.stages);
    const std::size_t rows = gaps.first.size() / own_stages;  // of stages that encoder pipelines cover
    for (std::size_t j = 0; j < lanes_.size(); ++j) {
      lane& own = lanes_[j];
      for (std::size_t e = 0; e < own_stages; ++e) own.devices.push_back(j % rows * own_stages + e);
      own.front = own.behind = parts_[j];
    }
    forward_ = cut(work.forward_kernels);
    backward_ = cut(work.backward_kernels);
  }

  encoder_placement run() {
    encoder_placement out;
    out.parts = parts_;
    out.slices = slices_;
    out.coarse_seconds = gaps_.seconds + over_front() + over_behind();
    out.filled_coarse = filled();
    fill(true);
    fill(false);
    out.filled_fine = filled();
    out.seconds = gaps_.seconds + over_front() + over_behind();
    return out;
  }

 private:
  struct lane {
    std::vector<std::size_t> devices;
    isize front = 0, behind = 0;               // microbatches at both ends
    std::vector<double> ends, starts;          // of forwards and backwards inside
    std::vector<std::vector<time_slot>> free;  // of each stage, once they are asked for
  };

  std::vector<double> cut(const std::vector<double>& kernels) {
    if (!rules_.slices) return kernels;
    std::vector<double> lengths;
    for (const std::vector<time_slot>& each : gaps_.inside)
      for (const time_slot& one : each) lengths.push_back(one.length());
    if (lengths.empty()) return kernels;
    const auto at = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 5);
    std::nth_element(lengths.begin(), at, lengths.end());
    std::vector<double> out;
    for (const double each : kernels) {
      const double pieces = std::ceil(each / *at);
      slices_ = std::max(slices_, static_cast<isize>(pieces));
      for (double k = 0; k < pieces; ++k)
        out.push_back(each / pieces * (pieces > 1 ? rules_.slice_costs : 1));
    }
    return out;
  }

  double over_front(const lane& of, isize count) const {
    double most = 0;
    for (std::size_t e = 0; count > 0 && e < of.devices.size(); ++e)
      most = std::max(most, static_cast<double>(static_cast<isize>(e) + count) * work_.forward -
                                gaps_.first[of.devices[e]]);
    return most;
  }
  double over_front() const {
    double most = 0;
    for (const lane& each : lanes_) most = std::max(most, over_front(each, each.front));
    return most;
  }
  isize placed_backwards() const {
    std::size_t count = 0;
    for (const lane& each : lanes_) count += each.starts.size();
    return static_cast<isize>(count);
  }
  // Those behind take the gradients that are left in turn, last stage first.
  double over_behind(const lane& of, std::size_t j, isize count) const {
    const double end = gaps_.seconds;
    double most = 0;
    std::vector<double> ready(of.devices.size());
    for (std::size_t e = 0; e < ready.size(); ++e) ready[e] = gaps_.last[of.devices[e]];
    const auto all = static_cast<isize>(gaps_.given.size());
    for (isize k = 0; k < count; ++k) {
      const isize which = std::min(
          all - 1, placed_backwards() + k * static_cast<isize>(lanes_.size()) + static_cast<isize>(j));
      double time = gaps_.given[static_cast<std::size_t>(which)];
      for (std::size_t e = ready.size(); e-- > 0;)
        time = ready[e] = std::max(time, ready[e]) + work_.backward;
      most = std::max(most, time - end);
    }
    return most;
  }
  double over_behind() const {
    double most = 0;
    for (std::size_t j = 0; j < lanes_.size(); ++j)
      most = std::max(most, over_behind(lanes_[j], j, lanes_[j].behind));
    return most;
  }
  // The share of the encoder's time that makes the step no longer.
  double filled() const {
    double inside = 0, all = 0;
    for (std::size_t j = 0; j < lanes_.size(); ++j) {
      const lane& own = lanes_[j];
      isize front = own.front, behind = own.behind;
      while (front > 0 && over_front(own, front) > 0) --front;
      while (behind > 0 && over_behind(own, j, behind) > 0) --behind;
      const auto of = static_cast<double>(parts_[j]);
      all += of * (work_.forward + work_.backward);
      inside += static_cast<double>(front + static_cast<isize>(own.ends.size())) * work_.forward +
                static_cast<double>(behind + static_cast<isize>(own.starts.size())) * work_.backward;
    }
    return inside / all;
  }

  void fill(bool forward) {
    std::vector<std::uint8_t> failed(lanes_.size(), 0);
    while (true) {
      std::size_t critical = lanes_.size();
      double most = 0;
      for (std::size_t j = 0; j < lanes_.size(); ++j) {
        const double over =
            forward ? over_front(lanes_[j], lanes_[j].front) : over_behind(lanes_[j], j, lanes_[j].behind);
        if (failed[j] == 0 && over > most) most = over, critical = j;
      }
      if (critical == lanes_.size()) return;
      if (forward ? move_forward(lanes_[critical]) : move_backward(lanes_[critical])) continue;
      if (!rules_.goes_on) return;
      failed[critical] = 1;
    }
  }
  std::vector<std::vector<time_slot>>& free_of(lane& of) {
    if (of.free.empty())
      for (const std::size_t device : of.devices) of.free.push_back(gaps_.inside[device]);
    return of.free;
  }
  // Puts kernels one behind the other into gaps from `time` on; none: they do not fit. Returns when they are
  // done.
  static double put(std::vector<time_slot>& into, const std::vector<double>& kernels, double time,
                    double* began = nullptr) {
    auto at = std::lower_bound(into.begin(), into.end(), time,
                               [](const time_slot& a, double t) { return a.end <= t; });
    bool first = true;
    for (const double each : kernels) {
      while (at != into.end() && at->end - std::max(at->start, time) < each) ++at;
      if (at == into.end()) return -1;
      const double start = std::max(at->start, time);
      if (first && began != nullptr) *began = start;
      first = false;
      time = at->start = start + each;
    }
    return time;
  }
  bool move_forward(lane& of) {
    std::vector<std::vector<time_slot>> trial = free_of(of);
    double time = 0;
    for (std::vector<time_slot>& each : trial)
      if (time = put(each, forward_, time); time < 0) return false;
    --of.front;
    of.ends.push_back(time);
    if (!forwards_in_time()) {
      ++of.front;
      of.ends.pop_back();
      return false;
    }
    of.free = std::move(trial);
    return true;
  }
  // The i-th that is done feeds the i-th that is needed.
  bool forwards_in_time() const {
    const double over = over_front();
    std::vector<double> ends;
    for (const lane& each : lanes_) {
      for (isize k = 0; k < each.front; ++k)
        ends.push_back(static_cast<double>(work_.stages + k) * work_.forward - over);
      ends.insert(ends.end(), each.ends.begin(), each.ends.end());
    }
    std::sort(ends.begin(), ends.end());
    for (std::size_t i = 0; i < ends.size(); ++i)
      if (ends[i] > gaps_.needed[i] + 1e-9) return false;
    return true;
  }
  bool move_backward(lane& of) {
    std::vector<std::vector<time_slot>> trial = free_of(of);
    double time = gaps_.given[static_cast<std::size_t>(placed_backwards())], began = 0;
    for (std::size_t e = trial.size(); e-- > 0;)
      if (time = put(trial[e], backward_, time, e + 1 == trial.size() ? &began : nullptr); time < 0)
        return false;
    --of.behind;
    of.starts.push_back(began);
    of.free = std::move(trial);
    return true;
  }

  const pipeline_gaps& gaps_;
  const encoder_work& work_;
  std::vector<isize> parts_;
  placement_rules rules_;
  std::vector<lane> lanes_;
  std::vector<double> forward_, backward_;
  isize slices_ = 1;
};

}  // namespace detail

// Encoder pipelines beside a language model's, on its devices: whole microbatches before its first work and
// behind its last, then one by one, kernel by kernel, into what is idle between. `parts`: microbatches of
// each pipeline.
inline encoder_placement place_encoders(const pipeline_gaps& gaps, const encoder_work& work,
                                        std::vector<isize> parts, placement_rules rules = {}) {
  return detail::encoder_placer(gaps, work, std::move(parts), rules).run();
}

}  // namespace motet
