// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/verdict.hpp>

// The rules that a schedule, a score or a program can break.
#define MOTET_SCHEDULE_RULES(X)                                                                              \
  X(no_stages, "MT-P01", "a schedule needs at least one stage, one chunk and one microbatch",                \
    "a count is zero or negative", "give positive counts", "{where}: got {got}, wanted at least {wanted}")   \
  X(too_few_microbatches, "MT-P02", "this schedule needs more microbatches for so many stages",              \
    "its order is only defined, or only pays, from that count on",                                           \
    "raise the microbatch count, take fewer stages, or choose 1F1B",                                         \
    "{where}: got {got} microbatch{es}, wanted {wanted} or more")                                            \
  X(microbatches_do_not_divide, "MT-P03", "the microbatch count must be a multiple of the stage count here", \
    "interleaved stages take microbatches in rounds of one for each device",                                 \
    "choose such a microbatch count, or one chunk",                                                          \
    "{where}: got {got} microbatch{es}, wanted a multiple of {wanted}")                                      \
  X(group_does_not_divide, "MT-P04", "the group size must divide the microbatch count",                      \
    "a short last group would compare fewer samples than the others",                                        \
    "choose a group that divides the microbatches",                                                          \
    "{where}: groups of {got} among {wanted} microbatch{es}")                                                \
  X(stash_out_of_range, "MT-P05", "the stash must be from 0 to the group size",                              \
    "more or fewer microbatches than a group has were to be kept",                                           \
    "choose .stash from 0 to .group, or leave it out to keep all",                                           \
    "{where}: got a stash of {got}, wanted 0 to {wanted}")                                                   \
  X(joins_differ, "MT-P06", "towers that meet in a join must have equally many groups",                      \
    "microbatches / group differs between two towers", "choose microbatches and groups with one quotient",   \
    "{where}: got {got} loss{es}, wanted {wanted} as the first module has")                                  \
  X(chunks_are_fixed, "MT-P07", "this schedule has a fixed number of chunks on each device",                 \
    "V-shaped placements have two, simple pipelines one", "leave .chunks out, or choose interleaved",        \
    "{where}: got {got} chunk{s}, wanted {wanted}")                                                          \
  X(odd_stages, "MT-P08", "this schedule needs an even number here",                                         \
    "it pairs devices or microbatches of the two directions", "choose an even number")                       \
  X(more_stages_than_layers, "MT-P09", "a net cannot have more stages than layers",                          \
    "a stage without a layer has nothing to compute", "choose fewer stages or chunks, or a deeper net",      \
    "{where}: got {got} stage{s}, wanted at most {wanted} for as many layers")                               \
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
    "use batch_sync or gpipe, or groups of one microbatch",                                                  \
    "{where}: groups of {got} microbatches, wanted groups of {wanted}")                                      \
  X(feeds_in_a_circle, "MT-P39", "modules of a schedule may not wait for each other in a circle",            \
    "a module is fed by one that waits for its own rows", "leave one of the feeds out")

MOTET_RULES_OF(MOTET_SCHEDULE_RULES, schedule_rules)
