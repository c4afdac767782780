// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/wait_for.hpp>
#include <motet/schedule/draw/draw_bars.hpp>
#include <motet/schedule/draw/draw_names.hpp>

namespace motet {

struct trace_style {
  double seconds = 1;  // of one unit of the timeline
};

namespace detail {

class trace_writer {
 public:
  explicit trace_writer(const program& of) : of_(of), names_(of, 0) {}

  // Viewers read names in the order of the file, so all groups' names come before their events.
  void put_names(int group, int groups, std::string_view prefix) {
    for (std::int32_t r = 0; r < of_.ranks(); ++r) {
      const std::int64_t process = group * std::int64_t{of_.ranks()} + r;
      std::string name(prefix);
      name += "rank " + std::to_string(r);
      if (!names_.head(r).empty()) name += ": " + names_.head(r);
      put_name("process_name", process, -1, name);
      put_sort("process_sort_index", process, -1, r * std::int64_t{groups} + group);
      std::int32_t first[256], last[256];
      for (std::int32_t& each : first) each = -1;
      for (std::int32_t i = of_.starts[r]; i < of_.starts[r + 1]; ++i) {
        const std::uint8_t lane = of_.instructions[i].lane;
        if (first[lane] < 0) first[lane] = i;
        last[lane] = i;
      }
      for (int l = 0; l < 256; ++l) {
        if (first[l] < 0) continue;
        put_name("thread_name", process, l,
                 lane_name(l, of_.instructions[first[l]], of_.instructions[last[l]]));
        put_sort("thread_sort_index", process, l, l);
      }
    }
  }

  void put_events(int group, const timeline& when, const trace_style& style) {
    const double scale = 1e6 * style.seconds;
    if (!(scale >= 0)) return;
    for (std::int32_t r = 0; r < of_.ranks(); ++r) {
      const std::int64_t process = group * std::int64_t{of_.ranks()} + r;
      for (std::int32_t i = of_.starts[r]; i < of_.starts[r + 1]; ++i)
        if (has_times(when, i))
          put_event(process, of_.instructions[i], when.start[i] * scale, when.finish[i] * scale);
    }
    put_gaps(group, when, scale);
    put_flows(group, when, scale);
  }
  std::string finish() { return "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [" + out_ + "\n]}\n"; }

 private:
  // Viewers cut times to whole nanoseconds, each start and each duration for itself, and drop what then
  // overlaps. With sixty-fourths of a microsecond all sums are exact, and nothing does.
  static double rounded(double microseconds) {
    return std::fabs(microseconds) < 1e12 ? std::floor(microseconds * 64 + 0.5) / 64 : microseconds;
  }
  void put_number(double value) {
    char text[32];
    out_.append(text, std::to_chars(text, text + sizeof text, value == 0 ? 0 : value).ptr);
  }
  void put_text(std::string_view text) {
    out_ += '"';
    for (const char c : text) {
      if (c == '"' || c == '\\') out_ += '\\';
      out_ += c;
    }
    out_ += '"';
  }
  void begin(const char* phase, std::int64_t process, std::int64_t thread) {
    out_ += any_ ? ",\n{\"ph\": \"" : "\n{\"ph\": \"";
    any_ = true;
    out_ += phase;
    out_ += "\", \"pid\": " + std::to_string(process);
    if (thread >= 0) out_ += ", \"tid\": " + std::to_string(thread);
  }
  void put_name(const char* kind, std::int64_t process, std::int64_t thread, std::string_view name) {
    begin("M", process, thread);
    out_ += std::string(", \"name\": \"") + kind + "\", \"args\": {\"name\": ";
    put_text(name);
    out_ += "}}";
  }
  void put_sort(const char* kind, std::int64_t process, std::int64_t thread, std::int64_t position) {
    begin("M", process, thread);
    out_ +=
        sentence({std::string(", \"name\": \""), kind, "\", \"args\": {\"sort_index\": ", position, "}}"});
  }

  // "out: forward to rank 2"; a lane that carries several things: "messages".
  std::string lane_name(int lane, const instruction& first, const instruction& last) const {
    constexpr const char* own[] = {"compute", "sync", "reduce", "copy"};
    if (lane < lane::first_channel) return own[lane];
    if (lane::computes(lane)) return "compute " + std::to_string(lane::which_computing(lane));
    if (!is_transfer(first.what) || first.what != last.what || first.peer != last.peer) return "messages";
    const bool sends = is_send(first.what);
    std::string text = sends ? "out: " : "in: ";
    text += first.what >= op::send_backward ? "gradients"
            : first.what >= op::send_replay ? "rows again"
                                            : "rows";
    if (!names_.mark(first).empty() && names_.place(first) == names_.place(last))
      text += " of stage " + std::to_string(first.stage);
    return sentence({text, (sends ? " to rank " : " from rank "), first.peer});
  }
  static const char* category(op what) {
    return is_compute(what) ? "compute" : is_transfer(what) ? "message" : "other";
  }
  std::string module_of(const instruction& it) const {
    if (names_.place(it) < 0) return {};
    const std::string name = names_.module(it.voice);
    return name.empty() ? "module " + std::to_string(of_.voices[it.voice].module) : name;
  }

  void put_event(std::int64_t process, const instruction& it, double start, double finish) {
    const double from = rounded(start), time = rounded(finish) - from;
    if (!(std::fabs(from) < 1e300 && time < 1e300)) return;
    const std::string module = module_of(it);
    begin("X", process, it.lane);
    out_ += ", \"ts\": ";
    put_number(from);
    out_ += ", \"dur\": ";
    put_number(time);
    out_ += std::string(", \"cat\": \"") + category(it.what) + "\", \"name\": ";
    put_text((of_.voices.size() > 1 && !module.empty() ? module + " " : "") + name_of(it.what) +
             (it.microbatch >= 0 ? " " + std::to_string(it.microbatch) : ""));
    out_ += ", \"args\": {";
    if (it.what == op::join) {
      out_ += sentence({"\"join\": ", it.voice, ", \"group\": ", it.microbatch});
    } else {
      out_ += "\"module\": ";
      put_text(module);
      out_ += ", \"stage\": " + std::to_string(it.stage);
      if (it.microbatch >= 0) out_ += ", \"microbatch\": " + std::to_string(it.microbatch);
      out_ += ", \"voice\": " + std::to_string(it.voice);
      if (is_transfer(it.what)) out_ += ", \"peer\": " + std::to_string(it.peer);
    }
    out_ += "}}";
  }

  // Gaps lie inside the event of their instruction, in its thread; viewers draw them below it.
  void put_gaps(int group, const timeline& when, double scale) {
    for (const timeline::gap& each : when.gaps) {
      if (each.instruction < 0 || each.instruction >= of_.instructions.size() ||
          !has_times(when, each.instruction))
        continue;
      const double low = rounded(when.start[each.instruction] * scale),
                   high = rounded(when.finish[each.instruction] * scale);
      const auto inside = [&](double time) { return std::fmin(std::fmax(rounded(time * scale), low), high); };
      const double from = inside(each.start), time = inside(each.finish) - from;
      if (!(std::fabs(from) < 1e300 && time >= 0 && time < 1e300)) continue;
      begin("X", group * std::int64_t{of_.ranks()} + of_.rank_of(each.instruction),
            of_.instructions[each.instruction].lane);
      out_ += ", \"ts\": ";
      put_number(from);
      out_ += ", \"dur\": ";
      put_number(time);
      out_ += std::string(", \"cat\": \"gap\", \"name\": \"waits for ") + name_of(each.what) +
              "\", \"args\": {\"free\": \"compute\"}}";
    }
  }

  // An arrow leads from each send to its receive. The start comes first in the file, because messages may
  // take no time.
  void put_flows(int group, const timeline& when, double scale) {
    list<std::int32_t> received(3 * isize{of_.cells()}, -1), rank(of_.instructions.size(), 0);
    for (std::int32_t r = 0; r < of_.ranks(); ++r)
      for (std::int32_t i = of_.starts[r]; i < of_.starts[r + 1]; ++i) rank[i] = r;
    for (isize i = 0; i < of_.instructions.size(); ++i) {
      const instruction& it = of_.instructions[i];
      if (const isize at = message(it, it.stage); is_receive(it.what) && at >= 0)
        received[at] = static_cast<std::int32_t>(i);
    }
    for (isize i = 0; i < of_.instructions.size(); ++i) {
      const instruction& it = of_.instructions[i];
      if (!is_send(it.what)) continue;
      const isize at = message(it, it.stage + (it.what == op::send_backward ? -1 : 1));
      const std::int32_t other = at < 0 ? -1 : received[at];
      if (other < 0 || !has_times(when, i) || !has_times(when, other)) continue;
      const double from = rounded(when.start[i] * scale), low = rounded(when.start[other] * scale),
                   high = rounded(when.finish[other] * scale);
      const double to = from <= low ? low : from < high ? from : high;
      if (!(std::fabs(from) < 1e300 && std::fabs(to) < 1e300)) continue;
      put_flow("s", group * std::int64_t{of_.ranks()} + rank[i], it, from);
      put_flow("f", group * std::int64_t{of_.ranks()} + rank[other], of_.instructions[other], to);
      ++flows_;
    }
  }
  // The position of a message that arrives at `stage`; -1: there is no such stage.
  isize message(const instruction& it, std::int32_t stage) const {
    if (!is_transfer(it.what) || names_.place(it) < 0) return -1;
    const voice& of = of_.voices[it.voice];
    if (stage < 0 || stage >= of.stages || it.microbatch < 0 || it.microbatch >= of.microbatches) return -1;
    const int kind = (static_cast<int>(it.what) - static_cast<int>(op::send_forward)) / 2;
    return isize{3} * of.cell(stage, it.microbatch) + kind;
  }
  void put_flow(const char* phase, std::int64_t process, const instruction& it, double when) {
    begin(phase, process, it.lane);
    out_ += ", \"ts\": ";
    put_number(when);
    out_ += sentence({", \"id\": ", flows_, ", \"cat\": \"message\", \"name\": \"message\"",
                      (*phase == 'f' ? ", \"bp\": \"e\"}" : "}")});
  }

  const program& of_;
  drawn_names names_;
  std::string out_;
  bool any_ = false;
  std::int64_t flows_ = 0;
};

}  // namespace detail

// A trace in the event format of Chrome, for Perfetto (ui.perfetto.dev) and chrome://tracing: a process for
// each rank, a thread for each lane, arrows from sends to receives. Stages and microbatches are counted from
// 0, as in the program.
// Asks for: a program, and when its instructions ran: from simulate(), or measured.
// Memory: the trace's text: an event for each instruction.
// Errors: none of its own.
// Example:
//   std::string in_milliseconds(const program& steps, const timeline& when) {
//     return draw_trace(steps, when, {.seconds = 1e-3});
//   }
inline std::string draw_trace(const program& of, const timeline& when, const trace_style& style = {}) {
  detail::trace_writer out(of);
  out.put_names(0, 1, "");
  out.put_events(0, when, style);
  return out.finish();
}

// Plan and run in one file: two processes for each rank, the plan's above.
inline std::string draw_trace_overlay(const program& of, const timeline& plan, const timeline& run,
                                      const trace_style& plan_style = {}, const trace_style& run_style = {}) {
  detail::trace_writer out(of);
  out.put_names(0, 2, "plan, ");
  out.put_names(1, 2, "run, ");
  out.put_events(0, plan, plan_style);
  out.put_events(1, run, run_style);
  return out.finish();
}

}  // namespace motet
