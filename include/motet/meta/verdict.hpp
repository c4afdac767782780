// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>
#include <motet/meta/error.hpp>
#include <motet/meta/short_text.hpp>

#include <cstdint>
#include <string>
#include <utility>

// Every rule that a type can break. One line a rule: X(reason, code, sentence, cause, remedy). The same rows
// make the enumeration, the compiler's sentences, the run-time errors and docs/errors.md.
#define MOTET_REASONS(X)                                                                                     \
  X(heads_do_not_divide, "MT-N01", "the head count must divide the width, unless head_width is given",       \
    "width / heads is not a whole number, and the config leaves head_width at 0",                            \
    "choose a head count that divides the width, or set .head_width")                                        \
  X(patch_does_not_divide, "MT-N02", "the patch side must divide the picture side",                          \
    "picture side / patch side is not a whole number",                                                       \
    "choose a patch that divides .image, or resize the pictures")                                            \
  X(kv_heads_do_not_divide, "MT-N03", "the key-value head count must divide the head count",                 \
    "grouped-query attention shares each key-value head among the same number of query heads",               \
    "choose .kv_heads that divides .heads")                                                                  \
  X(not_positive, "MT-N04", "sizes of a net must be positive",                                               \
    "a width, depth, head count or context is zero or negative", "give every size of the config")            \
  X(widths_do_not_chain, "MT-N05", "a layer's input width must be the output width of the layer before it",  \
    "two neighbours of a sequential composition disagree",                                                   \
    "match the widths, or put a linear layer between")                                                       \
  X(odd_rotary_width, "MT-N06", "rotary embedding needs an even head width",                                 \
    "rotary embedding turns pairs of columns", "choose an even head width")                                  \
  X(sine_width, "MT-N07", "2-D sine positions need a width that is a multiple of 4",                         \
    "sines and cosines of a patch's row and column take a quarter of the columns each",                      \
    "choose such a width, or learned positions")                                                             \
  X(stage_outside, "MT-N08", "a stage must be a range of its tower's blocks, with one block at least",       \
    "there are more stages than blocks, or the ranges do not add up to the tower's layers",                  \
    "cut the tower's layers into ranges of one block or more")                                               \
  X(experts_do_not_fit, "MT-N09",                                                                            \
    "a row must choose one or more of a mixture's experts, which are 65535 at most",                         \
    "top_k is larger than the number of experts, or the experts are too many",                               \
    "take a smaller .top_k, or other .experts")                                                              \
  X(gate_is_constant, "MT-N10", "a normalised gate needs two chosen experts",                                \
    "with one, the gate is always 1, and the router would learn nothing from it",                            \
    "choose gate_kind::probability, or a larger .top_k")                                                     \
  X(not_an_embedding, "MT-N11", "the embedding of a tower lacks a member",                                   \
    "a type of one's own has not all that a tower asks of it",                                               \
    "add the member that the compiler names; docs/your_tower.md shows a whole one")                          \
  X(config_lacks_field, "MT-N12", "the config of a net lacks a field that its input needs",                  \
    "a tower of one's own has no config, or one without the size of its input",                              \
    "give the net a static constexpr config with the fields that the compiler names")                        \
  X(not_causal, "MT-N13", "only a causal net goes on row by row",                                            \
    "its rows see those behind them, so all would change with each that follows",                            \
    "set .mask = mask_kind::causal and train it so, or run all rows each time")                              \
  X(capacity_of_rows, "MT-N14", "experts of limited capacity do not go on row by row",                       \
    "which rows an expert takes depends on all rows of the sample, also those to come",                      \
    "set .mix.capacity = 0, which needs no other weights, or run all rows each time")                        \
  X(join_widths_differ, "MT-M01", "modules that meet in a join must have equal embedding widths",            \
    "one tower projects to another width than the first",                                                    \
    "set the same .embedding in every config of the join")                                                   \
  X(join_too_small, "MT-M02", "a join needs at least two modules", "a contrastive loss compares modules",    \
    "name two or more modules in the join")                                                                  \
  X(unknown_module, "MT-M03", "no module of the model has this name",                                        \
    "the name is misspelt, or the module is in another model", "use a name that the model declares")         \
  X(duplicate_module, "MT-M04", "two modules of a model have the same name",                                 \
    "names address parameters and strategies, so they must differ", "rename one of them")                    \
  X(own_loss_of_several, "MT-M05", "a loss of each sample by itself takes one module",                       \
    "such a loss compares nothing, so there is nothing that several modules would do in it",                 \
    "name the one module whose samples say what they lose")                                                  \
  X(loss_lacks_head, "MT-M06", "a loss asks for modules that end as it needs them",                          \
    "next_token takes a decoder; losses that compare take modules with features",                            \
    "choose another loss, or a module with the head that it asks for")                                       \
  X(own_loss_frozen, "MT-M07", "a loss of each sample by itself needs a module that learns",                 \
    "the module is frozen, so no gradient would go anywhere", "let the module learn")                        \
  X(not_a_loss, "MT-M08", "a loss lacks a member", "a loss of one's own has not all that a join asks of it", \
    "add the member that the compiler names; docs/your_loss.md says what each does")                         \
  X(no_rows_to_feed, "MT-M09", "an edge joins a module that gives rows to one that takes them",              \
    "features of whole samples cannot enter another module, nor can rows one without a place for them",      \
    "end the first module with rows (rows_out, rows_through), or feed a module that takes them")             \
  X(edge_widths_differ, "MT-M10", "rows enter a module with the width that they left another with",          \
    "the module at the end of an edge takes rows of another width",                                          \
    "put a projector between them, or change a width")                                                       \
  X(edges_in_a_circle, "MT-M11", "modules may not feed each other in a circle",                              \
    "a module would need what comes of its own rows", "leave one of the edges out")                          \
  X(module_unused, "MT-M12", "every module leads to a loss",                                                 \
    "no edge takes the module's rows further, and no loss is said for it",                                   \
    "add an edge from it, or leave the module out")                                                          \
  X(edge_missing, "MT-M13", "a module that takes rows has an edge into it",                                  \
    "its rows would come from nowhere", "add an edge to this module")                                        \
  X(edges_into_one_place, "MT-M14", "this module takes the rows of one other",                               \
    "several edges enter a net that has a place for the rows of one; fed_decoder has places for several",    \
    "give each of the modules that feed it a module of this kind of its own")                                \
  X(duplicate_edge, "MT-M15", "an edge is said once", "two edges join the same two modules",                 \
    "leave one of them out")                                                                                 \
  X(no_stages, "MT-P01", "a schedule needs at least one stage, one chunk and one microbatch",                \
    "a count is zero or negative", "give positive counts")                                                   \
  X(too_few_microbatches, "MT-P02", "this schedule needs more microbatches for so many stages",              \
    "its order is only defined, or only pays, from that count on",                                           \
    "raise the microbatch count, take fewer stages, or choose 1F1B")                                         \
  X(microbatches_do_not_divide, "MT-P03", "the microbatch count must be a multiple of the stage count here", \
    "interleaved stages take microbatches in rounds of one for each device",                                 \
    "choose such a microbatch count, or one chunk")                                                          \
  X(group_does_not_divide, "MT-P04", "the group size must divide the microbatch count",                      \
    "a short last group would compare fewer samples than the others",                                        \
    "choose a group that divides the microbatches")                                                          \
  X(stash_out_of_range, "MT-P05", "the stash must be from 0 to the group size",                              \
    "more or fewer microbatches than a group has were to be kept",                                           \
    "choose .stash from 0 to .group, or leave it out to keep all")                                           \
  X(joins_differ, "MT-P06", "towers that meet in a join must have equally many groups",                      \
    "microbatches / group differs between two towers", "choose microbatches and groups with one quotient")   \
  X(chunks_are_fixed, "MT-P07", "this schedule has a fixed number of chunks on each device",                 \
    "V-shaped placements have two, simple pipelines one", "leave .chunks out, or choose interleaved")        \
  X(odd_stages, "MT-P08", "this schedule needs an even number here",                                         \
    "it pairs devices or microbatches of the two directions", "choose an even number")                       \
  X(more_stages_than_layers, "MT-P09", "a net cannot have more stages than layers",                          \
    "a stage without a layer has nothing to compute", "choose fewer stages or chunks, or a deeper net")      \
  X(too_little_memory, "MT-P10", "this schedule cannot keep so few microbatches",                            \
    "the limit on kept microbatches is too low to start", "allow more microbatches to be kept")              \
  X(too_large, "MT-P11", "a program holds at most 65535 modules, 2^20 stages and 2^20 microbatches",         \
    "a count does not fit an instruction", "use fewer, or several programs")                                 \
  X(not_its_stage, "MT-P20", "a rank may only run stages, microbatches and joins of its own",                \
    "an instruction names a stage that another rank holds, or a microbatch that does not exist",             \
    "move the instruction to the rank of its stage")                                                         \
  X(repeated, "MT-P21", "every instruction may happen once",                                                 \
    "a forward, backward, message or update occurs twice", "remove one of the two")                          \
  X(backward_first, "MT-P22", "backward must come after the forward that keeps what it needs",               \
    "the list has them in the wrong order, or a re_forward is missing",                                      \
    "put the forward or re_forward first")                                                                   \
  X(weight_first, "MT-P23", "the weight part of a backward must come after its input part",                  \
    "the list has them in the wrong order", "put backward_input first")                                      \
  X(join_first, "MT-P24", "a join must come after all forwards of its group",                                \
    "a forward of the group comes later or is missing", "put the join behind the group's last forward")      \
  X(join_order, "MT-P25", "every rank must meet the others in the same order",                               \
    "groups of a join, or reductions, come in different orders", "keep one order on all ranks")              \
  X(left_out, "MT-P26", "nothing may be left out",                                                           \
    "a forward, a backward, a join or an update never happens",                                              \
    "add what is missing, on the rank that holds the stage")                                                 \
  X(not_a_cue, "MT-P27", "a score holds forwards, backwards and joins only",                                 \
    "messages and updates are added when it is compiled", "leave them out of the score")                     \
  X(deadlock, "MT-P28", "ranks would wait for each other for ever", "the orders of some ranks form a cycle", \
    "change the order of one rank of the cycle, or give messages lanes of their own")                        \
  X(unmatched, "MT-P29", "every send needs its receive, and every receive its send",                         \
    "one of the two is missing or names another rank", "add the other one, with the right peer")             \
  X(needs_message, "MT-P30", "an instruction must come after the message that brings its rows",              \
    "the receive is missing or comes later in the list", "put the receive first")                            \
  X(nothing_to_send, "MT-P31", "a send must come after what it sends",                                       \
    "the computation is missing or comes later in the list", "put the computation first")                    \
  X(too_many_kept, "MT-P32", "a stage keeps more microbatches than it has slots",                            \
    "forwards run further ahead of backwards than planned", "raise the stage's slots, or change the order")  \
  X(update_first, "MT-P33", "parameters may be updated only after all their gradients",                      \
    "a backward or a reduction of the stage comes later", "put the update behind them")                      \
  X(not_gathered, "MT-P34", "sharded parameters must be gathered before they are used",                      \
    "they were released, or the gather is missing", "gather them first")                                     \
  X(not_fetched, "MT-P35", "what was offloaded must be fetched before backward",                             \
    "the fetch is missing or comes later in the list", "fetch it first")                                     \
  X(bad_pair, "MT-P36", "what overlaps must be computations of one lane that do not need each other",        \
    "the second of a pair is missing, is a join or a message, or needs the first",                           \
    "pair it with the next computation, or not at all")                                                      \
  X(bad_structure, "MT-P37", "the tables of a program must fit together",                                    \
    "places, slots or starts have the wrong length, or a rank is out of range",                              \
    "build programs with compile(), or fix the file")                                                        \
  X(before_join, "MT-P38", "the backward of a joined module must come after its group's join",               \
    "the order begins a backward before the last forward of its group, so its loss cannot be known yet",     \
    "use batch_sync or gpipe, or groups of one microbatch")                                                  \
  X(degree_not_positive, "MT-S01", "degrees of a strategy must be positive", "a degree is zero or negative", \
    "give 1 where an axis is not used")                                                                      \
  X(degrees_do_not_multiply, "MT-S02", "the degrees of a module must multiply to the number of its ranks",   \
    "stages x data x context x tensor differs from the ranks that it is placed on",                          \
    "change a degree, or the ranks")                                                                         \
  X(rank_outside, "MT-S03", "a module may only be placed on ranks that exist",                               \
    "a rank is negative or beyond the last one", "start more ranks, or choose others")                       \
  X(rank_twice, "MT-S04", "a module may have a rank only once", "the rank list names one rank twice",        \
    "name every rank once")                                                                                  \
  X(tensor_crosses_nodes, "MT-S05", "a tensor group must stay inside a node",                                \
    "tensor parallelism sends rows in every layer, over the slowest wire here",                              \
    "choose ranks of one node, a smaller tensor degree, or allow it with tensor_may_cross_nodes")            \
  X(no_ranks, "MT-S06", "every module needs a rank",                                                         \
    "the plan does not mention the module, or gives it no ranks",                                            \
    "place it, on ranks of its own or on another module's")                                                  \
  X(context_without_attention, "MT-S07", "context parallelism needs a net with attention",                   \
    "rows of a sample meet in attention only, so without it there is nothing to cut",                        \
    "use data parallelism for this module")                                                                  \
  X(frozen_with_optimizer, "MT-S08", "a frozen module has no optimizer to shard",                            \
    "the plan asks for a sharded optimizer of a module that does not learn",                                 \
    "set zero to 0 for it, or let it learn")                                                                 \
  X(too_many_tensor_parts, "MT-S09",                                                                         \
    "a tensor group may have as many ranks as the module has key-value heads",                               \
    "a rank would hold no head of its attention",                                                            \
    "take a smaller tensor degree, and more data, context or stages")                                        \
  X(too_few_samples, "MT-S10", "every microbatch needs a sample",                                            \
    "the batch is cut into more parts than it has samples",                                                  \
    "raise the batch, or take fewer replicas or microbatches")                                               \
  X(groups_do_not_divide_batch, "MT-S11", "the groups of a step must divide its batch",                      \
    "every loss compares as many samples", "choose a batch that is a multiple of the groups")                \
  X(layers_do_not_add_up, "MT-S12", "the layers of a module's stages must add up to its layers",             \
    "the list has another sum, another length, or a stage without a layer",                                  \
    "give every stage a layer or more, or leave the list empty")                                             \
  X(recompute_does_not_fit, "MT-S13", "recomputation is said for every stage or for none",                   \
    "the list has another length than the module has stages",                                                \
    "give one entry for each stage, or leave the list empty")                                                \
  X(unknown_zero_level, "MT-S14", "zero has the levels 0, 1 and 2", "another level was asked for",           \
    "use 0 (every replica has all), 1 (a part of the optimizer's state) or 2 (and of the gradients)")        \
  X(unknown_schedule, "MT-S15", "no schedule has this name", "the plan's schedule is misspelt",              \
    "choose one of the names that schedule_names() tells")                                                   \
  X(only_batch_sync_keeps, "MT-S16", "only batch_sync has a stash and runs forwards ahead",                  \
    "a number of batch_sync was given to another schedule",                                                  \
    "leave stash and ahead out, or choose batch_sync")                                                       \
  X(remade_and_split, "MT-S17", "what backward makes again cannot wait for its weight part",                 \
    "a stage is remade, and its schedule splits backward",                                                   \
    "take a schedule with whole backwards (gpipe, 1f1b, batch_sync), or keep what backward needs")           \
  X(schedule_without_edges, "MT-S18", "this schedule has no order for modules that feed others",             \
    "it plays modules beside one another", "choose 1f1b or gpipe, which lead through all modules")           \
  X(fed_apart, "MT-S19", "modules of an edge have context 1",                                                \
    "rows of one sample would have to change ranks between the modules, which is not there yet",             \
    "give the module context 1")                                                                             \
  X(fed_unevenly, "MT-S20", "modules of an edge that are cut unlike cut the batch in equal parts",           \
    "data x tensor x microbatches does not divide the batch, so a sample could lie between two parts",       \
    "take a batch that it divides, for both modules, or cut both alike")                                     \
  X(nothing_to_fill, "MT-S21", "a module that fills gaps leads to one that leaves them",                     \
    "it ends in the loss itself, so that nobody waits while it computes",                                    \
    "let those that feed others fill, and leave the one with the loss as it is")                             \
  X(filled_and_cut, "MT-S22", "a module that fills gaps has one chunk on each rank, and a room if it likes", \
    "a number was given that only other modules have",                                                       \
    "leave chunks, stash and ahead out, and give room only to modules that fill")

namespace motet {

enum class reason : std::uint8_t {
  none,
#define MOTET_REASON_NAME(name, code, sentence, cause, remedy) name,
  MOTET_REASONS(MOTET_REASON_NAME)
#undef MOTET_REASON_NAME
};

inline constexpr message reason_messages[] = {{"MT-N00", "nothing is wrong", "", ""},
#define MOTET_REASON_ROW(name, code, sentence, cause, remedy) {code, sentence, cause, remedy},
                                              MOTET_REASONS(MOTET_REASON_ROW)
#undef MOTET_REASON_ROW
};

// The answer of a rule. `where` is the position (layer, module, field) that broke it.
struct verdict {
  reason why = reason::none;
  index where = 0;
  index got = 0;
  index wanted = 0;
  constexpr bool ok() const { return why == reason::none; }
};

// What a broken rule says beside its sentence, at run time and to the compiler: "at 1: got 768, wanted 512";
// with the name of what is there, "at caption: got 768, wanted 512".
constexpr short_text numbers_of(const verdict& found, std::string_view name = {}) {
  short_text out("at ");
  if (name.empty()) out += found.where;
  else out += name;
  out += ": got ";
  out += found.got;
  out += ", wanted ";
  out += found.wanted;
  return out;
}

// The whole message of a rule, the same words as an error's.
constexpr short_text message_of(reason why, std::string_view detail) {
  short_text out;
  put_message(out, reason_messages[static_cast<int>(why)], detail);
  return out;
}

// Instantiated with the words of the failure, a few to an argument, so that compilers which cannot say a
// computed text print them beside the sentence.
template <reason Why, fixed_string... Words>
struct the_rule_is_broken {
#define MOTET_REASON_ASSERT(name, code, sentence, cause, remedy) \
  static_assert(Why != reason::name, "motet: " sentence "; see the words of the_rule_is_broken [" code "]");
  MOTET_REASONS(MOTET_REASON_ASSERT)
#undef MOTET_REASON_ASSERT
  static constexpr bool value = true;
};

namespace detail {

template <reason Why, class Text, std::size_t... Piece>
constexpr bool is_broken(std::index_sequence<Piece...>) {
  return the_rule_is_broken<Why, piece_of<Text, Piece>()...>::value;
}

template <verdict Verdict>
struct numbers_text {
  static constexpr short_text value = numbers_of(Verdict);
};

}  // namespace detail

// One funnel for typed code that has words of its own for what is wrong: Text::value is what an error would
// have as its detail.
template <reason Why, class Text>
constexpr bool require_said() {
  if constexpr (Why == reason::none) return true;
  else {
#if MOTET_SAYS_COMPUTED_TEXT
    static_assert(Why == reason::none, message_of(Why, Text::value.view()));
    return false;
#else
    return detail::is_broken<Why, Text>(std::make_index_sequence<pieces(Text::value.view())>());
#endif
  }
}

// The same for numbers alone: `static_assert(require<check(config)>);`
template <verdict Verdict>
inline constexpr bool require = require_said<Verdict.why, detail::numbers_text<Verdict>>();

// The same rule for values that arrive at run time.
inline void enforce(const verdict& found, const std::string& what) {
  if (found.ok()) return;
  fail(reason_messages[static_cast<int>(found.why)],
       what + " (" + std::string(numbers_of(found).view()) + ")");
}

}  // namespace motet
