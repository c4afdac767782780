// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/csv/csv_cells.hpp>

#include <algorithm>
#include <vector>

namespace motet {

// A file holds the order of computations, from which compile() makes the rest, or every instruction.
enum class csv_form : std::uint8_t { shortest, computations, everything };

struct csv_config {
  csv_form form = csv_form::shortest;  // computations where they say it all
  // for the sends, as torch 2.15 demands of files that it does not lower itself; older versions refuse them
  bool waits = true;
};

namespace detail {

class csv_writer {
 public:
  csv_writer(const program& of, csv_config config)
      : of_(of), waits_(config.waits), everything_(config.form == csv_form::everything) {}

  std::string write() {
    plain_ = is_plain();
    if (!plain_) write_header();
    csv_lanes lanes(of_.places.size());
    sent_.resize(of_.cells(), 0);
    for (std::int32_t r = 0; r < of_.ranks(); ++r) {
      lanes.begin_rank();
      write_rank(r, lanes);
      out_ += "\r\n";
    }
    return std::move(out_);
  }

 private:
  bool holds(const instruction& it) const { return everything_ || is_compute(it.what); }

  // A file without header may say the same.
  bool is_plain() const {
    if (of_.voices.size() != 1 || of_.joins > 0) return false;
    const voice& only = of_.voices[0];
    voice inferred;
    inferred.stages = only.stages;
    inferred.microbatches = only.microbatches;
    inferred.learns = false;
    std::vector<std::int32_t> held(as_size(of_.ranks()), 0);
    bool crosses = false;
    for (std::int32_t s = 0; s < only.stages; ++s) {
      inferred.chunks = std::max(inferred.chunks, ++held[as_size(of_.place(only, s))]);
      crosses = crosses || of_.place(only, s) != of_.place(only, 0);
    }
    bool has_messages = false, has_others = false;
    csv_lanes lanes(of_.places.size());
    for (std::int32_t r = 0; r < of_.ranks(); ++r) {
      lanes.begin_rank();
      bool idle = true;
      for (const instruction& it : of_.role(r)) {
        inferred.learns = inferred.learns || is_backward(it.what);
        if (!holds(it)) continue;
        idle = false;
        if (!csv_word_of(it.what).torch || lanes.of(it, of_.voices.data()) != it.lane) return false;
        has_messages = has_messages || is_transfer(it.what);
        has_others = has_others || !is_compute(it.what);
      }
      if (idle) return false;
    }
    return only == inferred && slots_follow() && (!everything_ || has_messages || (has_others && !crosses));
  }
  bool slots_follow() const { return of_.slots == live_of_stages(of_); }

  void write_header() {
    out_ += everything_ ? "motet,1,everything\r\n" : "motet,1,computations\r\n";
    const bool slots = !slots_follow();
    for (const voice& each : of_.voices) {
      const auto field = [&](const char* key, std::int32_t value, std::int32_t usual) {
        if (value != usual) out_ += sentence({",", key, "=", value});
      };
      out_ += "voice";
      if (!each.name.view().empty()) out_ += "," + quoted("name=" + std::string(each.name.view()));
      field("module", each.module, 0);
      field("replica", each.replica, 0);
      field("shard", each.shard, 0);
      field("shards", each.shards, 1);
      field("stages", each.stages, 0);
      field("chunks", each.chunks, 1);
      field("microbatches", each.microbatches, 0);
      field("join", each.join, -1);
      field("group", each.group, 1);
      field("offload_beyond", each.offload_beyond, 0);
      field("lane", each.lane, 0);
      if (!each.learns) out_ += ",frozen";
      if (each.fixed) out_ += ",fixed";
      if (each.sums_each) out_ += each.meets_each ? ",gathers_each" : ",sums_each";
      else if (each.meets_each) out_ += ",meets_each";
      for (std::int32_t s = 0; slots && s < each.stages; ++s)
        out_ += (s == 0 ? ",slots=" : ";") + std::to_string(of_.slots[each.first_place + s]);
      out_ += "\r\n";
    }
    for (const fed_cell& each : of_.feeds)
      out_ += sentence(
          {"feed,", each.from, ",", each.from_microbatch, ",", each.to, ",", each.to_microbatch, "\r\n"});
  }
  static std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) out.append(c == '"' ? 2 : 1, c);
    return out + '"';
  }

  void write_rank(std::int32_t rank, csv_lanes& lanes) {
    const std::size_t start = out_.size();
    const auto begin_cell = [&] {
      if (out_.size() > start) out_ += ',';
    };
    bool in_pair = false;
    unwaited_.clear();
    for (const instruction& it : of_.role(rank)) {
      const std::uint8_t usual = lanes.of(it, of_.voices.data());
      if (!holds(it)) continue;
      if (in_pair) {
        out_ += ';';
      } else {
        begin_cell();
        if (it.paired) out_ += '(';
      }
      put(it, false);
      if (!plain_ && it.lane != usual) out_ += "@" + std::to_string(it.lane);
      if (in_pair && !it.paired) out_ += ")" + std::string(csv_pair_word);
      in_pair = it.paired;
      if (!plain_ || !everything_ || !waits_) continue;
      if (it.what == op::send_forward || it.what == op::send_backward) unwaited_.push_back(&it);
      if (it.what == op::send_forward) sent_[cell(it)] = static_cast<std::int32_t>(unwaited_.size());
      if (it.what == op::backward || it.what == op::backward_input) due_.push_back(&it);
      if (!in_pair) put_due_waits(begin_cell);
      if (it.what == op::reduce_gradient) {
        begin_cell();
        put(it, true);
      }
    }
    for (const instruction* each : unwaited_) {
      if (each == nullptr) continue;
      begin_cell();
      put(*each, true);
    }
  }
  // As torch places them: a forward send is waited for behind its backward on the same rank, by which time it
  // must have arrived; the others at the end.
  template <class Begin>
  void put_due_waits(Begin begin_cell) {
    for (const instruction* backward : due_) {
      const std::int32_t position = sent_[cell(*backward)];
      if (position == 0) continue;
      begin_cell();
      put(*std::exchange(unwaited_[as_size(position - 1)], nullptr), true);
      sent_[cell(*backward)] = 0;
    }
    due_.clear();
  }
  isize cell(const instruction& it) const { return of_.voices[it.voice].cell(it.stage, it.microbatch); }
  void put(const instruction& it, bool wait) {
    const csv_word& word = csv_word_of(it.what, wait);
    if (of_.voices.size() > 1 && it.what != op::join) out_ += std::to_string(it.voice) + ":";
    out_ += std::to_string(it.what == op::join ? it.voice : it.stage);
    out_ += word.text;
    if (word.has_microbatch()) out_ += std::to_string(it.microbatch);
    if (it.part > 0) out_ += "." + std::to_string(it.part);
  }

  const program& of_;
  bool waits_, everything_, plain_ = true;
  std::string out_;
  std::vector<const instruction*> unwaited_, due_;
  // of each cell the position of its forward send among those that nobody waited for, from 1
  list<std::int32_t> sent_;
};

}  // namespace detail

// The CSV form of a program: as torch.distributed.pipelining writes it where that says it all, else with a
// header that torch refuses and read_csv() reads. Every legal program is read back as it was. Form
// `computations` leaves out what compile() would not add.
// Asks for: a program.
// Memory: the text.
// Errors: none of its own.
// Example:
//   #include <motet/schedule/write/one_f_one_b.hpp>
//   const std::string text = write_csv(compile(one_f_one_b::write({.stages = 4, .microbatches = 8})));
inline std::string write_csv(const program& of, csv_config config = {}) {
  if (config.form == csv_form::shortest)
    config.form = of == compile(score_of(of)) ? csv_form::computations : csv_form::everything;
  return detail::csv_writer(of, config).write();
}

}  // namespace motet
