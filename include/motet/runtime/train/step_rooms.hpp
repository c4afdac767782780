// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/messages.hpp>
#include <motet/runtime/state/held_memory.hpp>
#include <motet/runtime/state/rank_memory.hpp>
#include <motet/schedule/core/instruction.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace motet {

// The rooms of the ranks that live here, where they follow the rows of a step: each is one piece of memory,
// in which a step's microbatches lie one behind the other. A step with the same rows as the one before finds
// all where it was.
template <class Context>
class step_rooms {
 public:
  // MT-R61 where a limit cannot hold.
  step_rooms(const room_options& how, std::size_t ranks) : how_(how), rooms_(ranks) {
    if (how.most < 0 || (how.most > 0 && !how.by_rows))
      fail(bad_room, sentence({"a limit of ", how.most, " bytes, rooms ",
                               how.by_rows ? "by rows" : "for the longest step there can be"}));
  }
  bool by_rows() const { return how_.by_rows; }
  // Gives all memory back; from now on each rank holds this beside its room.
  void prepare(const std::vector<rank_memory>& planned) {
    for (std::size_t r = 0; r < rooms_.size(); ++r) {
      rooms_[r].memory = {};
      rooms_[r].beside = planned[r].total() - planned[r].stages.slots - planned[r].stages.boundaries;
    }
    laid_out_ = false;
  }
  // Called before a step that is cut: MT-R60 where it finds no room. of.each_stage(visit) visits the stages
  // that live here.
  template <class Stages>
  void lay_out(const Stages& of) {
    shape_.swap(before_);
    shape_.clear();
    of.each_stage([&](const auto& each) { each.stage->step_shape(shape_); });
    if (std::exchange(laid_out_, false) && shape_ == before_) {
      laid_out_ = true;
      return;
    }
    measure(of);
    for (std::size_t r = 0; r < rooms_.size(); ++r) require(r);
    for (room& each : rooms_) {
      if (each.memory.size() >= each.wanted()) continue;
      each.memory = {};
      each.memory = buffer_for<Context, std::byte>(each.wanted());
    }
    put([](const room& own) { return arena_of(own.memory); }, of);
    laid_out_ = true;
    ++layouts_;
  }
  // The rooms of these ranks become the largest over the steps. cut(step) comes before each.
  template <class Steps, class Cut, class Stages>
  void forecast(std::vector<rank_memory>& found, const Steps& steps, Cut&& cut, const Stages& of) {
    if (!by_rows() || steps.empty()) return;
    laid_out_ = false;
    for (rank_memory& each : found) each.stages.slots = each.stages.boundaries = 0;
    for (const auto& step : steps) {
      cut(step);
      measure(of);
      for (std::size_t r = 0; r < rooms_.size(); ++r)
        if (stage_memory& most = found[r].stages; rooms_[r].wanted() > most.slots + most.boundaries)
          most.slots = rooms_[r].slots, most.boundaries = rooms_[r].boundaries;
    }
  }
  // Each rank's room has grown to so much; and so many steps were not like the one before.
  std::vector<isize> held() const {
    std::vector<isize> found;
    for (const room& each : rooms_) found.push_back(each.memory.size());
    return found;
  }
  isize layouts() const { return layouts_; }

 private:
  struct room {
    buffer_for<Context, std::byte> memory;
    isize beside = 0;
    // What the step wants, and the module with most of it in one stage.
    isize slots = 0, boundaries = 0, of_largest = 0;
    const char* largest = "";
    std::array<isize, lane::most_computing> of_lanes{};
    arena at;
    isize wanted() const { return slots + boundaries; }
  };

  template <class Stages>
  void measure(const Stages& of) {
    of.each_stage([](const auto& each) { each.stage->measure_step(); });
    put([](const room&) { return arena(); }, of);
  }
  // Every stage gets its place in memory(room), behind those before it.
  template <class Memory, class Stages>
  void put(Memory&& memory, const Stages& of) {
    for (room& each : rooms_) {
      each.at = memory(each);
      each.slots = each.boundaries = 0;
      each.of_largest = -1;
      each.of_lanes = {};
    }
    of.each_stage([&](const auto& each) {
      auto& stage = *each.stage;
      room& own = rooms_[as_size(stage.at().rank)];
      const isize begin = own.at.mark();
      stage.lay_out_slots(own.at);
      const isize middle = own.at.mark();
      stage.rows().lay_out(own.at);
      const isize end = own.at.mark();
      own.slots += middle - begin;
      own.boundaries += end - middle;
      own.of_lanes[as_size(stage.home().lane)] += end - begin;
      if (end - begin <= own.of_largest) return;
      own.of_largest = end - begin;
      own.largest = stage.at().name;
    });
  }
  // "; lane 0 wants 192 of them, lane 1 768", where several lanes want some.
  static std::string lanes_of(const room& of) {
    std::string out;
    int lanes = 0;
    for (std::size_t l = 0; l < of.of_lanes.size(); ++l) {
      if (of.of_lanes[l] == 0) continue;
      out += sentence({lanes++ == 0 ? "; lane " : ", lane ", l, lanes == 1 ? " wants " : " ", of.of_lanes[l],
                       lanes == 1 ? " of them" : ""});
    }
    return lanes > 1 ? out : "";
  }
  void require(std::size_t r) const {
    const room& own = rooms_[r];
    const isize free = std::max<isize>(0, how_.most - own.beside);
    if (how_.most == 0 || own.wanted() <= free) return;
    fail(step_beyond_room,
         sentence({"rank ", r, " wants ", own.wanted(), " bytes for the rows of this step, ", own.of_largest,
                   " of them for a stage of ", own.largest, lanes_of(own), "; free are ", free, " of ",
                   how_.most}));
  }

  room_options how_;
  std::vector<room> rooms_;  // of each rank; those elsewhere want nothing
  std::vector<isize> shape_, before_;
  bool laid_out_ = false;  // as the last shape wants it
  isize layouts_ = 0;
};

}  // namespace motet
