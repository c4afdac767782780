// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/stage/rank_state.hpp>
#include <motet/runtime/stage/row_pieces.hpp>
#include <motet/runtime/stage/stage_needs.hpp>

namespace motet {

// The rows that come to a stage and those that leave it, and their gradients: where they lie, who takes them
// on the same rank, and the messages that carry them to another. Kinds are those of messages: forward,
// forward again, backward.
template <class Context, class Numbers, class Endpoint>
class stage_rows {
 public:
  using stream = typename Numbers::stream;
  using home_type = rank_state<Context, Numbers, Endpoint>;
  using piece = row_piece<stage_rows>;

  // All of them stay where they are.
  stage_rows(home_type& home, const net_outline& net, const stage_position& at, const any_microbatches& parts)
      : home_(home), net_(net), at_(at), parts_(parts) {}
  stage_rows(const stage_rows&) = delete;
  stage_rows& operator=(const stage_rows&) = delete;

  // The stage behind this one, of this module or of one that it feeds, is on the same rank: rows pass without
  // a message.
  void connect(stage_rows& after) {
    after_ = &after;
    after.before_ = this;
  }
  // The same in pieces, where the module behind, or before, cuts samples unlike, or is one of several.
  void connect(bool behind, std::int32_t m, const row_piece<stage_rows>& made) {
    pieces_[behind ? 1 : 0].add(parts_.count(), m, made);
  }

  // Rows may come from a stage before and go on to one behind, be they of other modules, and gradients may go
  // back there.
  bool comes_in() const { return net_.comes_in(at_.range); }
  bool goes_out() const { return net_.goes_out(at_.range); }
  bool goes_back() const { return !net_.is_first(at_.range) || (comes_in() && at_.feeds_back); }
  // A microbatch has so many rows at either end.
  isize in(isize m) const { return net_.rows_in(at_.range, parts_, m); }
  isize out(isize m) const { return net_.rows_out(at_.range, parts_, m); }

  // Takes all memory.
  void prepare() {
    kept_.clear();
    const isize from = in(any_microbatches::largest), to = out(any_microbatches::largest);
    // At worst each row is handed out by itself.
    handed_.reserve(std::max(pieces_[0].most(), pieces_[1].most()) +
                    as_size((at_.hands_out ? to * at_.targets : 0) + (at_.brings_in ? from : 0)));
    gathered_.reserve(handed_.capacity());
    cleared_.reserve(as_size(at_.targets));
    if (at_.by_rows()) return seat();
    for (int kind = 0; kind < 3; ++kind) {
      const bool back = kind == 2;
      in_[kind].prepare(at_.in[kind], back ? to * at_.copies_back() : from * at_.copies_in(),
                        back ? width_out() : width_in(), parts_.count(), at_.order(0).turns[kind]);
      for (std::int32_t k = 1; k < at_.scores(); ++k) in_[kind].add(at_.order(k).turns[kind]);
      out_[kind].prepare(at_.out[kind], back ? from * at_.copies_in() : to * at_.copies_out(),
                         back ? width_in() : width_out(), std::max<std::size_t>(1, pieces_[!back].most()));
      keep_for_messages(in_[kind].memory(), false);
      keep_for_messages(out_[kind].memory(), true);
    }
  }
  // Where each step lays its rows out, buffers have no memory of their own,
  void seat() {
    for (int kind = 0; kind < 3; ++kind) {
      in_[kind].prepare(at_.in[kind], at_.order(0).seats.in[kind]);
      for (std::int32_t k = 1; k < at_.scores(); ++k) in_[kind].add(at_.order(k).seats.in[kind]);
      out_[kind].prepare(at_.out[kind], std::max<std::size_t>(1, pieces_[kind != 2].most()));
    }
  }
  // and lie here in a step that is cut.
  void lay_out(arena& room) {
    for (int kind = 0; kind < 3; ++kind) {
      const bool back = kind == 2;
      const auto before = [&](std::int32_t m) { return in(m)*at_.copies_in() * width_in(); };
      const auto behind = [&](std::int32_t m) {
        return out(m) * (back ? at_.copies_back() : at_.copies_out()) * width_out();
      };
      in_[kind].lay_out(room, [&](std::int32_t m) { return back ? behind(m) : before(m); });
      isize most = 0;
      for (std::int32_t m = 0; m < parts_.count(); ++m) most = std::max(most, back ? before(m) : behind(m));
      out_[kind].lay_out(room, most);
    }
  }
  // Called between steps: the next one plays this score.
  void play(std::int32_t score) {
    for (auto& each : in_) each.play(score);
  }
  // All messages of the step before were taken.
  void begin_step() {
    for (auto& each : out_) each.clear();
    for (auto& each : in_) each.begin_step();
    if (at_.brings_in) pieces_[0].count_rows();
    if (at_.hands_out) pieces_[1].count_rows();
  }

  // These rows came; those of several ranks, and gradients of rows that were handed out, are in their order
  // once gather() is done, which `again` says of rows that an operation before had.
  matrix<const stream> incoming(int kind, std::int32_t m, bool again = false) {
    stream* const data = in_[kind].of(m);
    if constexpr (receives_ahead)
      if (pieces_[comes_at(kind)].of(m) == nullptr) home_.end->await(static_cast<const stream*>(data));
    if (!again && (kind == 2 ? at_.hands_out : at_.brings_in)) plan_gathering(kind, m, data);
    return rows_between(data, m, kind != 2);
  }
  // The gradients that came from each of several modules, the first copy; none where there is one.
  matrix<stream> copies(std::int32_t m) const {
    return at_.targets > 1 ? rows_between(in_[2].of(m), m, false) : matrix<stream>{};
  }
  // Nobody here reads them any more.
  void give(int kind, std::int32_t m) {
    if constexpr (receives_ahead)
      if (pieces_[comes_at(kind)].of(m) == nullptr || lanes_write_) home_.end->freed(in_[kind].of(m));
    in_[kind].give(m);
  }
  // The outgoing rows of microbatch m go to the neighbour here, or to a buffer that messages empty. The
  // result is false where none is free.
  bool outgoing(int kind, std::int32_t m, matrix<stream>& to) {
    stage_rows* const neighbour = kind == 2 ? before_ : after_;
    const auto* const pieces = pieces_[goes_at(kind)].of(m);
    stream* const data = pieces != nullptr      ? outgoing_pieces(kind, m, *pieces)
                         : neighbour != nullptr ? neighbour->in_[kind].take(m)
                                                : out_[kind].take(m, *home_.end);
    if (data == nullptr) return false;
    to = rows_between(data, m, kind == 2);
    return true;
  }
  // Brings what came for the operation that runs into the order of its rows, on each thread before it. Rows
  // that nobody took have no gradient.
  void gather(Context& ctx) const {
    if (gathered_.empty() && cleared_.empty()) return;
    for (const auto& each : cleared_) zero(ctx, each.to, each.count);
    for (const auto& each : gathered_) copy(ctx, each.from, each.to, each.count);
    synchronize(ctx);
  }
  // Hands over what the operation made, to stages here and into the order of messages, on each thread behind
  // it; handed_over() comes once, when all are done.
  void hand_over(Context& ctx) const {
    if (handed_.empty()) return;
    synchronize(ctx);
    for (const auto& each : handed_) copy(ctx, each.from, each.to, each.count);
  }
  void handed_over() {
    handed_.clear();
    gathered_.clear();
    cleared_.clear();
  }
  // That which both do, as data.
  void shape(std::vector<isize>& into) const {
    for (const auto* all : {&cleared_, &gathered_, &handed_})
      for (const auto& each : *all)
        into.insert(into.end(),
                    {reinterpret_cast<isize>(each.from), reinterpret_cast<isize>(each.to), each.count});
  }

  // The action of a message; none for what is none.
  action action_of(op what) {
    switch (what) {
      case op::send_forward: return {&run<&stage_rows::template send<0>>, this};
      case op::send_replay: return {&run<&stage_rows::template send<1>>, this};
      case op::send_backward: return {&run<&stage_rows::template send<2>>, this};
      case op::receive_forward: return {&run<&stage_rows::template receive<0>>, this};
      case op::receive_replay: return {&run<&stage_rows::template receive<1>>, this};
      case op::receive_backward: return {&run<&stage_rows::template receive<2>>, this};
      default: return {};
    }
  }

 private:
  // Rows may come beside a rank's computations where it only begins these: await() and freed() tell when they
  // are read.
  static constexpr bool receives_ahead = requires(Endpoint& end, std::byte* to) {
    end.receive_ahead(0, 0, to, isize{0});
    end.await(to);
    end.freed(to);
  };

  template <bool (stage_rows::*Operation)(const instruction&, std::int32_t)>
  static bool run(void* self, const instruction& it, std::int32_t number) {
    return (static_cast<stage_rows*>(self)->*Operation)(it, number);
  }

  // Tells the transport, where it likes to know.
  template <class Buffer>
  void keep_for_messages([[maybe_unused]] const Buffer& memory, [[maybe_unused]] bool leaving) {
    if constexpr (requires { home_.end->keep(leaving, memory.data(), isize{0}); })
      for (auto& each :
           home_.end->keep(leaving, memory.data(), memory.size() * static_cast<isize>(sizeof(stream))))
        kept_.push_back(std::move(each));
  }

  isize width_in() const { return net_.width_in(at_.range); }
  isize width_out() const { return net_.width_out(at_.range); }
  // The rows between this stage and the one before, or behind.
  matrix<stream> rows_between(stream* data, std::int32_t m, bool before) const {
    const isize width = before ? width_in() : width_out();
    return {data, before ? in(m) : out(m), width, width};
  }

  // Rows and gradients come at one end and go at the other: behind, where this says 1.
  static constexpr int goes_at(int kind) { return kind == 2 ? 0 : 1; }
  static constexpr int comes_at(int kind) { return kind == 2 ? 1 : 0; }
  // A piece has these of the numbers of a microbatch's rows, or of their gradients. Each module that was fed
  // has a copy of its own of the gradients that come back. What is sorted for messages, or comes from them
  // so, lies behind all that, piece by piece, of what leaves for each module.
  interval numbers(int kind, bool behind, std::int32_t m, const piece& of) const {
    const isize rows = behind ? out(m) : in(m), width = behind ? width_out() : width_in();
    const isize copies = behind && kind == 2 ? at_.targets : 1;
    if (!of.crossing.sorted(behind)) {
      if (!behind) return numbers_taken(net_, parts_, m, of.samples, of.door);
      const interval own = numbers_given(net_, parts_, m, of.samples);
      const isize copy = kind == 2 ? of.door * rows * width : 0;
      return {copy + own.begin, copy + own.end};
    }
    isize first = (copies + (behind ? of.door : 0)) * rows;
    for (const piece& each : *pieces_[behind ? 1 : 0].of(m)) {
      if (&each == &of) break;
      if (each.crossing.sorted(behind) && (!behind || each.door == of.door)) first += each.rows;
    }
    return {first * width, (first + of.rows) * width};
  }
  // visit(number, count): where the rows of a piece that is sorted lie among those of its microbatch, one run
  // behind the other.
  template <class Visit>
  void each_run(bool behind, std::int32_t m, const piece& of, Visit&& visit) const {
    const isize width = behind ? width_out() : width_in();
    of.crossing.each(behind, of.samples, [&](isize sample, isize at, isize count) {
      const isize first = behind ? first_row_given(net_, parts_, m, sample) * width
                                 : numbers_taken(net_, parts_, m, {sample, sample}, of.door).begin;
      visit(first + at * width, count * width);
    });
  }
  // Rows, or the gradients of each module's copy, from where they came to where the operation looks for them.
  void plan_gathering(int kind, std::int32_t m, stream* data) {
    gathered_.clear();
    cleared_.clear();
    const bool behind = kind == 2;
    const auto* const all = pieces_[behind ? 1 : 0].of(m);
    if (all == nullptr) return;
    const isize size = out(m) * width_out();
    for (const piece& of : *all) {
      if (!of.crossing.sorted(behind) || (behind && !of.learns)) continue;
      stream* const copy = data + (behind ? of.door * size : 0);
      if (behind && (cleared_.empty() || cleared_.back().to != copy))
        cleared_.push_back({nullptr, copy, size});
      const stream* from = data + numbers(kind, behind, m, of).begin;
      each_run(behind, m, of, [&](isize first, isize count) {
        gathered_.push_back({from, copy + first, count});
        from += count;
      });
    }
  }

  // The outgoing rows of a microbatch in pieces go to the one stage here that takes them, or to a buffer,
  // from which messages take them and stages here are handed theirs.
  stream* outgoing_pieces(int kind, std::int32_t m, const typename row_pieces<stage_rows>::all& all) {
    const bool behind = kind != 2;
    std::size_t sent = 0, here = 0;
    const auto is_taken = [&](const piece& each) { return kind != 2 || each.learns; };
    for (const auto& each : all) {
      if (!is_taken(each)) continue;
      ++(each.here == nullptr ? sent : here);
      if (each.here != nullptr && !each.here->taken_by(home_, kind, each.microbatch)) return nullptr;
    }
    const auto place_of = [&](const piece& each) {
      return each.here->in_[kind].of(each.microbatch) +
             each.here
                 ->numbers(kind, !behind, each.microbatch,
                           each.here->pieces_[behind ? 0 : 1].find(each.microbatch, each.their_part))
                 .begin;
    };
    if (all.size() == 1 && here == 1 && (!all[0].crossing.sorted(behind) || all[0].samples.size() == 0))
      return place_of(all[0]);
    stream* const data = out_[kind].take(m, *home_.end, sent);
    if (data == nullptr) return nullptr;
    for (const auto& each : all) {
      if (!is_taken(each)) continue;
      const interval own = numbers(kind, behind, m, each);
      if (each.crossing.sorted(behind)) {
        stream* to = each.here != nullptr ? place_of(each) : data + own.begin;
        each_run(behind, m, each, [&](isize first, isize count) {
          handed_.push_back({data + first, to, count});
          to += count;
        });
      } else if (each.here != nullptr) {
        handed_.push_back({data + own.begin, place_of(each), own.size()});
      }
    }
    return data;
  }

  // A stage of `writer`'s rank has the buffer of a microbatch's rows to write them, perhaps in another lane:
  // it comes behind those here who read what lay there.
  bool taken_by([[maybe_unused]] const home_type& writer, int kind, std::int32_t m) {
    stream* const data = in_[kind].take(m);
    if constexpr (receives_ahead && stream_lanes<Endpoint>)
      if (data != nullptr && writer.lane != home_.lane) {
        lanes_write_ = true;
        home_.end->follow_freed(data);
      }
    return data != nullptr;
  }

  // The part of a microbatch's rows, in bytes, that a message takes along at this end.
  interval bytes_of(int kind, int behind, const instruction& it) const {
    const std::int32_t m = it.microbatch;
    interval of{0, behind != 0 ? out(m) * width_out() : in(m)*width_in()};
    if (pieces_[behind].of(m) != nullptr)
      of = numbers(kind, behind != 0, m, pieces_[behind].find(m, it.part));
    return {of.begin * isize{sizeof(stream)}, of.end * isize{sizeof(stream)}};
  }
  template <int Kind>
  bool send(const instruction& it, std::int32_t number) {
    const interval own = bytes_of(Kind, goes_at(Kind), it);
    out_[Kind].send(it.microbatch, *home_.end, home_.sheet->tags[number], it.peer, own.size(), own.begin);
    return true;
  }
  template <int Kind>
  bool receive(const instruction& it, std::int32_t number) {
    stream* const to = in_[Kind].take(it.microbatch);
    if (to == nullptr) return false;
    const interval bytes = bytes_of(Kind, comes_at(Kind), it);
    auto* const data = reinterpret_cast<std::byte*>(to) + bytes.begin;
    const std::int32_t tag = home_.sheet->tags[number];
    if constexpr (receives_ahead)
      if (pieces_[comes_at(Kind)].of(it.microbatch) == nullptr)
        return home_.end->receive_ahead(tag, it.peer, data, bytes.size());
    return home_.end->receive(tag, it.peer, data, bytes.size());
  }

  home_type& home_;
  const net_outline& net_;
  const stage_position& at_;
  const any_microbatches& parts_;
  stage_rows *before_ = nullptr, *after_ = nullptr;
  row_pieces<stage_rows> pieces_[2];  // before, and behind
  // behind the operation that runs, and before it
  std::vector<handed_rows<stream>> handed_, gathered_, cleared_;
  boundary_pool<stream, buffer_for<Context, stream>> in_[3];
  boundary_ring<stream, buffer_for<Context, stream>> out_[3];
  bool lanes_write_ = false;                 // stages in other lanes of the rank do so where rows come
  std::vector<std::shared_ptr<void>> kept_;  // last: a transport forgets memory before it goes away
};

}  // namespace motet
