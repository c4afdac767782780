// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/messages.hpp>
#include <motet/strategy/feed.hpp>
#include <motet/strategy/mesh.hpp>

#include <span>
#include <string>
#include <vector>

namespace motet {

// A module at one end of an edge: its ranks, the stage that the edge leaves or enters, and how a step's
// samples are its own.
struct feed_module {
  mesh ranks;
  std::int32_t stage = 0;
  index groups = 1;
  index microbatches = 1;  // of one replica in one group
  list<index> weights{};   // of the replicas; empty: even

  feed_side side(index samples) const {
    const degrees& by = ranks.split();
    const sample_split even{samples, groups, by.data, microbatches};
    return {weights.empty() ? even : even.weighted(weights), by.context, by.tensor};
  }
  std::int32_t rank(const feed_end& at) const {
    return ranks.rank({stage, static_cast<std::int32_t>(at.replica), static_cast<std::int32_t>(at.context),
                       static_cast<std::int32_t>(at.tensor)});
  }
};

// An edge between two modules, whatever their degrees and ranks, and its list of messages: made once, alike
// on all ranks, or once for those of a process.
struct feed_edge {
  feed_edge(feed_module source, feed_module target, index all_samples, index columns)
      : from(std::move(source)), to(std::move(target)), samples(all_samples), width(columns) {
    for (const feed_module* each : {&from, &to}) {
      const degrees& by = each->ranks.split();
      if (by.size() != each->ranks.ranks().size() || each->stage < 0 || each->stage >= by.stages)
        fail(feed_misfit, sentence({"stage ", each->stage, " of ", by.stages, ", on ",
                                    each->ranks.ranks().size(), " ranks where ", by.size(), " are needed"}));
      if (each->groups < 1 || each->microbatches < 1)
        fail(feed_misfit, sentence({each->groups, " groups of ", each->microbatches, " microbatches"}));
      if (!each->weights.empty() && each->weights.size() != by.data)
        fail(feed_misfit, sentence({each->weights.size(), " weights for ", by.data, " replicas"}));
      for (const index weight : each->weights)
        if (weight < 0) fail(feed_misfit, "a replica of weight " + std::to_string(weight));
    }
    messages = make_feed(from.side(samples), to.side(samples), width);
  }
  // One for each message and way.
  std::int32_t tags() const { return 2 * static_cast<std::int32_t>(messages.size()); }

  feed_module from, to;
  index samples, width;
  list<feed_message> messages;
};

// What a rank has at one side of a feed: of the list its own messages, those of a microbatch one behind the
// other, and where in the rows of a microbatch each has its rows. The same for both ways: what arrives here
// forward leaves from here backward.
class feed_seat {
 public:
  struct parcel {
    feed_message what;
    std::int32_t number = 0;  // in the list
    std::int32_t peer = 0;    // the rank at its other end
  };

  feed_seat(const feed_edge& edge, bool sender, std::int32_t rank)
      : from_(edge.from.side(edge.samples)),
        to_(edge.to.side(edge.samples)),
        width_(edge.width),
        sender_(sender) {
    const feed_module& own = sender ? edge.from : edge.to;
    const index which = own.ranks.find(rank);
    if (which < 0 || own.ranks.position(which).stage != own.stage) return;
    at_ = own.ranks.position(which);
    seated_ = true;
    firsts_.push_back(0);
    for (std::int32_t i = 0; i < edge.messages.size(); ++i) {
      const feed_message& each = edge.messages[i];
      const feed_end& end = sender ? each.from : each.to;
      if (end.replica != at_.replica || end.context != at_.context || end.tensor != at_.tensor) continue;
      // Of the other microbatches before this one nothing is in the list any more.
      firsts_.resize(as_size(number(end) + 1), static_cast<index>(parcels_.size()));
      parcels_.push_back({each, i, sender ? edge.to.rank(each.to) : edge.from.rank(each.from)});
    }
    firsts_.resize(as_size(microbatches() + 1), static_cast<index>(parcels_.size()));
  }

  // A rank without a seat has no microbatches.
  bool seated() const { return seated_; }
  index microbatches() const { return seated_ ? side().split.groups * side().split.microbatches : 0; }
  index samples() const { return side().split.samples; }
  index width() const { return width_; }
  index tensor() const { return side().tensor; }
  index tensor_member() const { return at_.tensor; }
  interval columns(index member) const { return share(width_, side().tensor, member); }

  const std::vector<parcel>& parcels() const { return parcels_; }
  // Of microbatch m of this rank's replica, counted through all groups: their places in parcels().
  interval parcels_of(index m) const { return {firsts_[as_size(m)], firsts_[as_size(m + 1)]}; }
  interval samples_of(index m) const {
    const sample_split& split = side().split;
    return split.of(m / split.microbatches, at_.replica, m % split.microbatches);
  }
  // Rows of microbatch m: of each sample those of the own context part.
  index rows_of(index m, const sequences& all) const {
    const interval samples = samples_of(m);
    index sum = 0;
    for (index s = samples.begin; s < samples.end; ++s) sum += part_of(all.rows_of(s)).size();
    return sum;
  }
  // Where each sample of microbatch m begins in them, and the end.
  void starts(index m, const sequences& all, std::vector<index>& into) const {
    const interval samples = samples_of(m);
    into.assign(1, 0);
    for (index s = samples.begin; s < samples.end; ++s)
      into.push_back(into.back() + part_of(all.rows_of(s)).size());
  }
  // Calls each(first, count) for the rows of a message, in order: intervals of the rows of microbatch m,
  // whose samples begin at `starts`.
  template <class Each>
  void each_run(const parcel& it, index m, const sequences& all, const std::vector<index>& starts,
                Each each) const {
    const index first = samples_of(m).begin;
    interval run;
    for (index s = it.what.samples.begin; s < it.what.samples.end; ++s) {
      const interval rows = motet::rows_of(it.what, from_, to_, all.rows_of(s));
      if (rows.size() == 0) continue;
      const index begin = starts[as_size(s - first)] + rows.begin - part_of(all.rows_of(s)).begin;
      if (begin != run.end || run.size() == 0) {
        if (run.size() > 0) each(run.begin, run.size());
        run.begin = begin;
      }
      run.end = begin + rows.size();
    }
    if (run.size() > 0) each(run.begin, run.size());
  }

 private:
  const feed_side& side() const { return sender_ ? from_ : to_; }
  index number(const feed_end& end) const { return end.group * side().split.microbatches + end.microbatch; }
  interval part_of(index rows) const { return share(rows, side().context, at_.context); }

  feed_side from_, to_;
  index width_;
  bool sender_, seated_ = false;
  mesh_position at_;
  std::vector<parcel> parcels_;
  std::vector<index> firsts_;  // of each microbatch, and the end
};

}  // namespace motet
