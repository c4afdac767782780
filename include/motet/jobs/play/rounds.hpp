// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/jobs/play/change_cost.hpp>
#include <motet/jobs/play/outcome.hpp>
#include <motet/jobs/world/world.hpp>
#include <motet/meta/config.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace motet {

// Progress is counted in one of these ways. `artifact`: all time that a job ever ran at its speed of now,
// whole iterations, as the artifact of Crius does, so that its numbers come out. `uncharged`: the integral of
// its speed, but changes that take less than a round cost throughput alone, as there. `correct`: the
// integral, with all that changes take.
enum class progress_count : std::uint8_t { correct, uncharged, artifact };

struct round_rules {
  progress_count count = progress_count::correct;
  double seconds = 300;       // of a round
  isize rounds = 0;           // 0: until all is done
  double work_scale = 5;      // iterations of the trace for one that is simulated
  double deadline_scale = 5;  // of the time that the trace gives
  double far_deadline = 0;    // seconds from the submission, for all; 0: those of the trace
  change_costs costs;
  bool record = false;  // who had which devices, and when
};

namespace detail {

// As Python divides: the whole part of a quotient, from its remainder.
inline double whole_quotient(double a, double b) {
  const double quotient = (a - std::fmod(a, b)) / b, floor = std::floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}

}  // namespace detail

// Plays a trace in rounds, as the artifact of Crius does: what was submitted within a round is there at its
// beginning, and who ends within a round leaves at the beginning of the next.
class round_player {
 public:
  round_player(job_world& world, const round_rules& rules) : world_(world), rules_(rules) {
    world_.round = rules.seconds;
    world_.now = world_.traced.empty() ? 0 : world_.traced[0].submitted;
    begin_ = world_.now;
    outcome_.began = begin_;
  }

  template <job_policy Policy>
  job_outcome play(Policy& policy) {
    while (goes_on()) {
      const job_events events = begin();
      policy.on_events(world_, events);
      end();
    }
    return finish();
  }

 private:
  bool goes_on() const {
    if (rules_.rounds > 0) return round_ < rules_.rounds;
    if (next_ < world_.jobs.size() || idle_ < idle_limit)
      return next_ < world_.jobs.size() || !world_.running.empty() || !world_.waiting.empty();
    // A job that waits then waits for ever, and so does one that runs nowhere.
    return std::any_of(world_.running.begin(), world_.running.end(), [&](std::int32_t job) {
      return world_.actual().best(world_.of(job).shape, world_.of(job).has).runs;
    });
  }
  bool arrives(std::size_t job) const {
    const double since = world_.traced[job].submitted - begin_;
    return std::max(0.0, std::ceil(since / rules_.seconds) - 1) <= static_cast<double>(round_);
  }

  job_events begin() {
    job_events out;
    for (; next_ < world_.jobs.size() && arrives(next_); ++next_) {
      job_state& job = world_.jobs[next_];
      const traced_job& from = world_.traced[next_];
      job.submitted = world_.now;
      job.deadline =
          world_.now + (rules_.far_deadline > 0 ? rules_.far_deadline
                                                : (from.deadline - world_.now) * rules_.deadline_scale);
      job.work = job.left = std::floor(from.iterations / rules_.work_scale);
      out.arrived.push_back(static_cast<std::int32_t>(next_));
      ++outcome_.submitted;
    }
    mark_ = world_.places.mark();
    for (const std::int32_t job : world_.running) {
      if (progress(world_.of(job))) out.ended.push_back(job);
      if (!world_.of(job).paused) world_.learn(world_.of(job));
    }
    for (const std::int32_t job : out.ended) {
      const job_state& of = world_.of(job);
      world_.finish(job, world_.now);
      outcome_.finished.push_back(world_.now - of.submitted);
      outcome_.ended.push_back(job);
      outcome_.waited.push_back(of.waited);
      outcome_.in_time += world_.now <= of.deadline ? 1 : 0;
      world_.places.release(job);
    }
    idle_ = out.ended.empty() && out.arrived.empty() ? idle_ + 1 : 0;
    return out;
  }
  // Returns true when the job is done.
  bool progress(job_state& job) const {
    const double seconds = world_.actual().best_seconds(job.shape, job.has);
    if (rules_.count == progress_count::correct) {
      const double lost = std::min(job.pause, rules_.seconds);
      job.ran += rules_.seconds;
      job.pause -= lost;
      job.left -= (rules_.seconds - lost) / seconds;
      return job.left <= 1e-9;
    }
    if (job.paused) return false;
    job.ran += rules_.seconds;
    if (rules_.count == progress_count::artifact) {
      job.left = job.work - detail::whole_quotient(job.ran, seconds);
      if (job.left == job.work) job.deadline = 0;
    } else {
      job.left -= rules_.seconds / seconds;
    }
    return job.left <= (rules_.count == progress_count::artifact ? 0 : 1e-9);
  }

  void end() {
    world_.require_places(begin_);
    world_.now += rules_.seconds;
    for (const std::int32_t job : world_.waiting) world_.of(job).waited += rules_.seconds;
    touched_.resize(world_.jobs.size(), -1);
    for (const occupancy::change& each : world_.places.changes(mark_)) {
      const occupancy::owner who = world_.places.owner_of(each.device);
      if (rules_.record) record(each.device, who);
      if (!job_world::is_job(who) || touched_[as_size(who)] == round_) continue;
      touched_[as_size(who)] = round_;
      ++world_.of(who).changes;
      ++outcome_.reschedules;
    }
    world_.places.settle();
    double samples = 0;
    std::int32_t busy = 0;
    for (const std::int32_t job : world_.running) {
      samples += speed_of(job);
      busy += world_.of(job).has.devices;
    }
    outcome_.throughput.push_back(to_thousandths(samples));
    outcome_.queue.push_back(static_cast<double>(world_.waiting.size()));
    outcome_.busy.push_back(static_cast<double>(busy) / static_cast<double>(world_.places.devices()));
    ++round_;
  }
  // An owner at the end of a call was there from its beginning: a round earlier than now.
  void record(std::int32_t device, occupancy::owner who) {
    open_.resize(as_size(world_.places.devices()), -1);
    const double at = world_.now - rules_.seconds - begin_;
    std::int32_t& open = open_[as_size(device)];
    if (open >= 0) outcome_.spans[as_size(open)].to = at;
    open = -1;
    if (who == occupancy::nobody) return;
    open = static_cast<std::int32_t>(outcome_.spans.size());
    outcome_.spans.push_back({who, device, at, -1});
  }
  // Samples a second in this round, less what a change costs.
  double speed_of(std::int32_t number) {
    job_state& job = world_.of(number);
    double samples =
        world_.actual().best(job.shape, job.has).runs ? world_.actual().best(job.shape, job.has).samples : 0;
    const double cost = touched_[as_size(number)] == round_ ? rules_.costs.seconds(job.has.devices) : 0;
    if (rules_.count == progress_count::correct) {
      if (cost > 0) job.pause = cost;
      job.paused = job.pause > 0;
      return samples * (1 - std::min(job.pause, rules_.seconds) / rules_.seconds);
    }
    if (cost > 0) {
      if (cost <= rules_.seconds) {
        samples *= (rules_.seconds - cost) / rules_.seconds;
        job.paused = false;
      } else {
        job.pause = cost;
        job.paused = true;
      }
    }
    if (!job.paused) return samples;
    if (job.pause <= rules_.seconds) {
      samples *= (rules_.seconds - job.pause) / rules_.seconds;
      job.paused = false;
      return samples;
    }
    job.pause -= rules_.seconds;
    return 0;
  }

  job_outcome finish() {
    for (const auto* queue : {&world_.running, &world_.waiting})
      for (const std::int32_t job : *queue) {
        outcome_.waited.push_back(world_.of(job).waited);
        outcome_.unfinished.push_back(world_.now - world_.of(job).submitted);
      }
    outcome_.lasted = world_.now - begin_;
    outcome_.bin = rules_.seconds;
    for (device_span& each : outcome_.spans)
      if (each.to < 0) each.to = outcome_.lasted;
    return outcome_;
  }

  static constexpr isize idle_limit = 2000;  // rounds in which nothing happens
  job_world& world_;
  round_rules rules_;
  job_outcome outcome_;
  std::size_t next_ = 0, mark_ = 0;
  isize round_ = 0, idle_ = 0;
  double begin_ = 0;
  std::vector<std::int32_t> open_;  // of each device, the span that has not ended
  std::vector<isize> touched_;      // the last round in which a job was given devices
};

}  // namespace motet
