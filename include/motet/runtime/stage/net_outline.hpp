// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/model/module.hpp>
#include <motet/nn/compose/frozen.hpp>
#include <motet/nn/compose/stage.hpp>
#include <motet/runtime/stage/replica_microbatches.hpp>
#include <motet/runtime/stage/sharing_rule.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace motet {

// An outline says what a net is, whatever its type: sizes, parameters, and what its input may be. The
// compiler makes one for each type.
struct net_outline {
  isize layers = 0, width = 0, embedding = 0;
  isize blocks = 0;  // layers may be halves of these
  std::vector<parameter> (*parameters_of)(std::string_view prefix, stage_range range,
                                          tensor_cut cut) = nullptr;
  // A stage's part of the flat buffer.
  interval (*span_of)(stage_range range, tensor_cut cut) = nullptr;
  std::vector<interval> (*gradient_parts)(stage_range range, tensor_cut cut) = nullptr;
  // Each of these asks for its weights by itself; none where a stage reads all where they lie.
  std::vector<interval> (*weight_parts)(stage_range range, tensor_cut cut) = nullptr;

  using make_microbatches = std::unique_ptr<any_microbatches> (*)(const sample_split& split, isize replica,
                                                                  const spread_seat& at,
                                                                  const any_group& tensor,
                                                                  const any_group& context, isize most);
  make_microbatches microbatches = nullptr;
  // These tell of an input of the net: its samples, whether it has no more than these and none is too long,
  // how long one may be, and where the first number lies that is not finite (a sample, or -1).
  isize (*samples)(const void* input) = nullptr;
  bool (*fits)(const void* input, isize samples) = nullptr;
  isize (*longest)() = nullptr;
  isize (*first_bad_sample)(const void* input) = nullptr;
  std::string (*unknown_tokens)(const void* input) = nullptr;  // in words; nothing where all are known
  // The last stage may read the input, too: what is asked of each row, where samples have losses.
  bool tail_reads_input = false;
  // It may end with rows for another module, and take rows of this width from one; 0: none.
  bool gives_rows = false;
  isize takes_rows = 0;
  // It gives, and takes from one of those that feed it, so many rows before a sample of an input; none where
  // it does not.
  isize (*rows_given)(const void* input, isize sample) = nullptr;
  isize (*rows_taken)(const void* input, isize source, isize sample) = nullptr;
  // Where ranks cut its samples, each takes the rows that enter its part; else they come where a sample is
  // whole.
  bool takes_parts = false;
  // visit(self, rows): of the rows that a source brings to a sample, the intervals that one of the parts
  // takes.
  using visit_rows = void (*)(void* self, interval rows);
  void (*rows_of_part)(const void* input, isize source, isize sample, const row_parts& cut, isize part,
                       void* self, visit_rows visit) = nullptr;
  // Likewise each gives the rows that it has made, and visit() is told which these are of a sample's.
  bool gives_parts = false;
  void (*rows_made_by_part)(const void* input, isize sample, const row_parts& cut, isize part, void* self,
                            visit_rows visit) = nullptr;
  // Where a net learns by adapters, its parameters are these. Its weights rest; a stage's buffer has so many
  // of them, behind its parameters.
  std::vector<parameter> (*resting_of)(std::string_view prefix, stage_range range, tensor_cut cut) = nullptr;
  isize (*resting_size)(stage_range range, tensor_cut cut) = nullptr;
  bool drops_by_rows = false;     // it draws what it drops by the numbers of rows in the step
  bool ends_share_table = false;  // one stage has both of its ends
  bool looks_beside = false;      // each of its blocks looks at the rows that enter
  // The sequences of the samples of an input, or, of none, those of one sample that is as long as any.
  counted_sequences (*counted)(const void* input) = nullptr;

  bool is_first(stage_range r) const { return r.first == 0; }
  bool is_last(stage_range r) const { return r.last == layers; }
  // Rows may come to a stage from another one, be it of another module, and go on to one; these say whether,
  // and how wide they are.
  bool comes_in(stage_range r) const { return !is_first(r) || takes_rows > 0; }
  bool goes_out(stage_range r) const { return !is_last(r) || gives_rows; }
  isize width_in(stage_range r) const { return is_first(r) ? takes_rows : width; }
  isize width_out(stage_range r) const { return is_last(r) ? embedding : width; }
  // A microbatch has so many of them. Modules that ranks share hand over rows of whole samples.
  isize rows_out(stage_range r, const any_microbatches& parts, isize m) const {
    if (!is_last(r)) return parts.rows(m).rows() + rows_along(parts.entering(m));
    return gives_rows ? parts.rows_that_go_on(m) : parts.rows(m).rows();
  }
  isize rows_in(stage_range r, const any_microbatches& parts, isize m) const {
    return is_first(r) ? parts.entering(m) : parts.rows(m).rows() + rows_along(parts.entering(m));
  }
  // Rows that blocks look at go along from stage to stage, behind those of the stage: their numbers take as
  // many rows more. So do their gradients, back.
  isize rows_along(isize entering) const {
    return looks_beside ? (entering * takes_rows + width - 1) / width : 0;
  }
};

// A trainer asks of a net that ranks can hold it in stages, as towers can be held.
template <class Net>
concept staged_net = requires {
  typename Net::input;
  typename Net::stage;
  Net::stage::layers;
  Net::stage::width;
  Net::stage::embedding;
};

namespace detail {

template <class Stage>
inline constexpr bool tail_reads =
    requires(const typename Stage::input& of) { Stage::tail::rows_of(of, of.seq); };

template <class Net>
isize rows_given(const typename Net::input& of, isize sample) {
  if constexpr (requires { input_traits<Net>::first_row(of, sample); })
    return input_traits<Net>::first_row(of, sample);
  else return Net::rows(of).begin(sample);
}
template <class Input>
isize rows_taken(const Input& of, isize source, isize sample) {
  if constexpr (requires { of.rows_that_enter(source); }) return of.rows_that_enter(source).begin(sample);
  else return 0;
}

template <class Net>
counted_sequences counted(const typename Net::input& of) {
  const sequences rows = Net::rows(of);
  if constexpr (requires { input_traits<Net>::bounds(of); }) return {rows, input_traits<Net>::bounds(of)};
  else return {rows, {rows.samples, nullptr}};
}

// Visits the sequences of a sample, one behind the other.
template <class Net, class Visit>
void rows_made_by_part(const typename Net::input& of, isize sample, const row_parts& cut, isize part,
                       Visit&& visit) {
  const sequences rows = Net::rows(of);
  interval own{sample, sample + 1};
  if constexpr (requires { input_traits<Net>::bounds(of); }) own = input_traits<Net>::bounds(of).of(own);
  isize before = 0;
  for (isize k = own.begin; k < own.end; before += rows.rows_of(k++))
    for (isize p = 0; p < cut.pieces(); ++p) {
      const interval piece = cut.piece(rows.rows_of(k), part, p);
      if (piece.size() > 0) visit(interval{before + piece.begin, before + piece.end});
    }
}

template <class Stage>
inline constexpr isize blocks_of = [] {
  if constexpr (requires { Stage::whole_blocks; }) return Stage::whole_blocks;
  else return Stage::layers;
}();

// What tells of a net are functions by name: of a lambda that becomes a pointer a compiler makes three.
template <class Net>
struct net_outlines {
  static_assert(
      staged_net<Net>,
      "motet: a trainer's nets have stages (Net::stage), as motet::tower and what is made of it have");
  using stage = typename Net::stage;
  using input = typename Net::input;
  using traits = input_traits<Net>;
  static constexpr bool adapted = adapters_of<Net> > 0;

  static const input& input_at(const void* of) { return *static_cast<const input*>(of); }
  static interval weights_of(stage_range range, tensor_cut cut) {
    return {stage::parameter_begin(range, cut), stage::parameter_end(range, cut)};
  }
  static std::vector<parameter> parameters_of(std::string_view prefix, stage_range range, tensor_cut cut) {
    if constexpr (adapted) return stage::parameters_of(prefix, range, cut, listed::adapters);
    else return stage::parameters_of(prefix, range, cut);
  }
  static interval span_of(stage_range range, tensor_cut cut) {
    if constexpr (adapted) return stage::adapters_of(range, cut);
    else return weights_of(range, cut);
  }
  static std::vector<interval> gradient_parts(stage_range range, tensor_cut cut) {
    return stage::gradient_parts(range, cut);
  }
  static std::vector<interval> weight_parts(stage_range range, tensor_cut cut) {
    if constexpr (requires { stage::weight_parts(range, cut); }) return stage::weight_parts(range, cut);
    else return {};
  }
  static std::unique_ptr<any_microbatches> microbatches(const sample_split& split, isize replica,
                                                        const spread_seat& at, const any_group& tensor,
                                                        const any_group& context, isize most) {
    // std::make_unique would have a pointer to each net's own type compiled as well.
    return std::unique_ptr<any_microbatches>(
        new replica_microbatches<Net>(split, replica, at, tensor, context, most));
  }
  static isize samples(const void* of) { return traits::samples(input_at(of)); }
  static bool fits(const void* of, isize samples) { return traits::fits(input_at(of), samples); }
  static isize longest() { return traits::longest(); }
  static isize first_bad_sample(const void* of) { return motet::first_bad_sample<Net>(input_at(of)); }
  static std::string unknown_tokens(const void* of) { return motet::unknown_tokens<Net>(input_at(of)); }
  static isize rows_given(const void* of, isize sample) {
    return detail::rows_given<Net>(input_at(of), sample);
  }
  static isize rows_taken(const void* of, isize source, isize sample) {
    return detail::rows_taken(input_at(of), source, sample);
  }
  static void rows_of_part(const void* of, isize source, isize sample, const row_parts& cut, isize part,
                           void* self, net_outline::visit_rows visit) {
    if constexpr (takes_parts<Net>)
      traits::rows_of_part(input_at(of), source, sample, cut, part,
                           [&](interval rows) { visit(self, rows); });
  }
  static void rows_made_by_part(const void* of, isize sample, const row_parts& cut, isize part, void* self,
                                net_outline::visit_rows visit) {
    if constexpr (gives_parts<Net>)
      detail::rows_made_by_part<Net>(input_at(of), sample, cut, part,
                                     [&](interval rows) { visit(self, rows); });
  }
  static std::vector<parameter> resting_of(std::string_view prefix, stage_range range, tensor_cut cut) {
    return adapted ? stage::parameters_of(prefix, range, cut) : std::vector<parameter>{};
  }
  static isize resting_size(stage_range range, tensor_cut cut) {
    return adapted ? weights_of(range, cut).size() : 0;
  }
  static counted_sequences counted(const void* of) {
    return detail::counted<Net>(of == nullptr ? traits::largest(1) : input_at(of));
  }

  static constexpr bool drops_by_rows = [] {
    if constexpr (requires { Net::drops_by_rows; }) return Net::drops_by_rows;
    else return false;
  }();
  static constexpr bool ends_share_table = [] {
    if constexpr (requires { stage::ends_share_table; }) return stage::ends_share_table;
    else return false;
  }();

  static constexpr net_outline all{.layers = stage::layers,
                                   .width = stage::width,
                                   .embedding = stage::embedding,
                                   .blocks = blocks_of<stage>,
                                   .parameters_of = parameters_of,
                                   .span_of = span_of,
                                   .gradient_parts = gradient_parts,
                                   .weight_parts = weight_parts,
                                   .microbatches = microbatches,
                                   .samples = samples,
                                   .fits = fits,
                                   .longest = longest,
                                   .first_bad_sample = first_bad_sample,
                                   .unknown_tokens = unknown_tokens,
                                   .tail_reads_input = tail_reads<stage>,
                                   .gives_rows = gives_rows<Net>,
                                   .takes_rows = takes_rows<Net>,
                                   .rows_given = rows_given,
                                   .rows_taken = rows_taken,
                                   .takes_parts = takes_parts<Net>,
                                   .rows_of_part = rows_of_part,
                                   .gives_parts = gives_parts<Net>,
                                   .rows_made_by_part = rows_made_by_part,
                                   .resting_of = resting_of,
                                   .resting_size = resting_size,
                                   .drops_by_rows = drops_by_rows,
                                   .ends_share_table = ends_share_table,
                                   .looks_beside = looks_beside<Net>,
                                   .counted = counted};
};

}  // namespace detail

template <class Net>
inline constexpr const net_outline& outline_of_net = detail::net_outlines<Net>::all;

}  // namespace motet
