// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/verdict.hpp>

// The rules that the ranks, degrees and schedules of a plan can break.
#define MOTET_STRATEGY_RULES(X)                                                                              \
  X(degree_not_positive, "MT-S01", "degrees of a strategy must be positive", "a degree is zero or negative", \
    "give 1 where an axis is not used")                                                                      \
  X(degrees_do_not_multiply, "MT-S02", "the degrees of a module must multiply to the number of its ranks",   \
    "stages x data x context x tensor differs from the ranks that it is placed on",                          \
    "change a degree, or the ranks", "{where}: got {got} rank{s}, wanted {wanted} by its degrees")           \
  X(rank_outside, "MT-S03", "a module may only be placed on ranks that exist",                               \
    "a rank is negative or beyond the last one", "start more ranks, or choose others",                       \
    "{where}: got rank {got}, wanted ranks below {wanted}")                                                  \
  X(rank_twice, "MT-S04", "a module may have a rank only once", "the rank list names one rank twice",        \
    "name every rank once", "{where}: rank {got}")                                                           \
  X(tensor_crosses_nodes, "MT-S05", "a tensor group must stay inside a node",                                \
    "tensor parallelism sends rows in every layer, over the slowest wire here",                              \
    "choose ranks of one node, a smaller tensor degree, or allow it with tensor_may_cross_nodes",            \
    "{where}: a tensor group lies on the nodes {wanted} and {got}")                                          \
  X(no_ranks, "MT-S06", "every module needs a rank",                                                         \
    "the plan does not mention the module, or gives it no ranks",                                            \
    "place it, on ranks of its own or on another module's")                                                  \
  X(context_without_attention, "MT-S07", "context parallelism needs a net with attention",                   \
    "rows of a sample meet in attention only, so without it there is nothing to cut",                        \
    "use data parallelism for this module", "{where}: context {got}")                                        \
  X(frozen_with_optimizer, "MT-S08", "a frozen module has no optimizer to shard",                            \
    "the plan asks for a sharded optimizer of a module that does not learn",                                 \
    "set zero to 0 for it, or let it learn", "{where}: zero {got}")                                          \
  X(too_many_tensor_parts, "MT-S09",                                                                         \
    "a tensor group may have as many ranks as the module has key-value heads",                               \
    "a rank would hold no head of its attention",                                                            \
    "take a smaller tensor degree, and more data, context or stages",                                        \
    "{where}: tensor {got} for {wanted} key-value head{s}")                                                  \
  X(too_few_samples, "MT-S10", "every microbatch needs a sample",                                            \
    "the batch is cut into more parts than it has samples",                                                  \
    "raise the batch, or take fewer replicas or microbatches",                                               \
    "{where}: a batch of {got} sample{s} in {wanted} part{s}")                                               \
  X(groups_do_not_divide_batch, "MT-S11", "the groups of a step must divide its batch",                      \
    "every loss compares as many samples", "choose a batch that is a multiple of the groups",                \
    "{where}: a batch of {got} in {wanted} group{s}")                                                        \
  X(layers_do_not_add_up, "MT-S12", "the layers of a module's stages must add up to its layers",             \
    "the list has another sum, another length, or a stage without a layer",                                  \
    "give every stage a layer or more, or leave the list empty",                                             \
    "{where}: got {got} layer{s}, wanted {wanted}")                                                          \
  X(recompute_does_not_fit, "MT-S13", "recomputation is said for every stage or for none",                   \
    "the list has another length than the module has stages",                                                \
    "give one entry for each stage, or leave the list empty",                                                \
    "{where}: it is said for {got} stage{s}, wanted {wanted}")                                               \
  X(unknown_zero_level, "MT-S14", "zero has the levels 0 to 3", "another level was asked for",               \
    "use 0 (every replica has all), 1 (a part of the optimizer's state), 2 (of gradients too) or 3 (of "     \
    "weights)",                                                                                              \
    "{where}: zero {got}")                                                                                   \
  X(unknown_schedule, "MT-S15", "no schedule has this name", "the plan's schedule is misspelt",              \
    "choose one of the names that schedule_names() tells")                                                   \
  X(only_batch_sync_keeps, "MT-S16", "only batch_sync has a stash and runs forwards ahead",                  \
    "a number of batch_sync was given to another schedule",                                                  \
    "leave stash and ahead out, or choose batch_sync")                                                       \
  X(remade_and_split, "MT-S17", "what backward makes again cannot wait for its weight part",                 \
    "a stage is remade, and its schedule splits backward",                                                   \
    "take a schedule with whole backwards (gpipe, 1f1b, batch_sync), or keep what backward needs",           \
    "{where}")                                                                                               \
  X(schedule_without_edges, "MT-S18", "this schedule has no order for modules that feed others",             \
    "it plays modules beside one another until they meet",                                                   \
    "choose another one, which all lead through them")                                                       \
  X(nothing_to_fill, "MT-S21", "a module that fills gaps stands before or behind one that leaves them",      \
    "all modules fill, or two end in one loss of which one fills and the other does not",                    \
    "let those fill that feed the longest module or are fed by it, and leave that as it is", "{where}")      \
  X(filled_and_kept, "MT-S22", "a module that fills gaps keeps what its room holds",                         \
    "a number was given that only other modules have",                                                       \
    "leave stash and ahead out, and give room only to modules that fill")                                    \
  X(no_gaps, "MT-S23", "a module fills gaps on ranks that wait for others",                                  \
    "the others keep every rank that it has busy from the start of a step to its end",                       \
    "leave fills out, or cut the others into stages that wait for each other")                               \
  X(bad_lane, "MT-S25", "lanes of a rank share it",                                                          \
    "their shares are more than the whole, leave nothing for a lane without one, or are two of one lane; "   \
    "or "                                                                                                    \
    "there are too many lanes",                                                                              \
    "give all modules of a lane one share, and all lanes together no more than 1")                           \
  X(pieces_without_group, "MT-S24", "rows come in pieces where a tensor group exchanges them",               \
    "the module has no tensor degree above 1, or the number of its pieces is not one of those that there "   \
    "are",                                                                                                   \
    "leave pieces out, or give it a tensor degree of 2 or more and 1 to 64 pieces")                          \
  X(own_schedule_unlike_plan, "MT-S26", "a schedule of one's own orders the stages that a plan gives it",    \
    "write() made another number of stages, chunks, microbatches or ranks, several voices, or a loss",       \
    "write one voice of the shape that is given, on as many ranks as it has stages, without join()")         \
  X(not_in_halves, "MT-S27", "blocks are cut in halves where they are layers one behind the other",          \
    "the net has no blocks, each of them is one layer, or its first layer changes the width",                \
    "leave in_halves out, and let stages of this net end with whole blocks")                                 \
  X(whole_without_context, "MT-S30", "samples stay whole where ranks cut others",                            \
    "the module has no context degree above 1, so all of its samples are whole, or the number is negative",  \
    "leave long_rows out, or give it a context degree of 2 or more", "{where}: long_rows {got}")             \
  X(experts_do_not_divide, "MT-S34", "replicas that share experts are a part of all replicas",               \
    "the number is not positive, or does not divide the data degree",                                        \
    "take a divisor of data, or leave experts out", "{where}: experts {got} for {wanted} replica{s}")        \
  X(too_few_experts, "MT-S35", "replicas share experts of a mixture, each of their ranks at least one",      \
    "the net has no mixture, or one with fewer experts than experts x tensor",                               \
    "take fewer, or give the net's layers .mix with more experts",                                           \
    "{where}: {got} ranks share experts, and its layers have {wanted}")                                      \
  X(nothing_to_offload, "MT-S36", "only what a module keeps for backward can be offloaded",                  \
    "the module keeps nothing: it is frozen, or backward makes again what it needs; or the number is "       \
    "negative",                                                                                              \
    "leave offload_beyond or remade out", "{where}: offload_beyond {got}")                                   \
  X(offload_beyond_too_few, "MT-S37", "what a backward needs at once stays in the device's memory",          \
    "the order has the backwards of more microbatches under way at once than may stay",                      \
    "raise offload_beyond, or take a schedule that does not split backward",                                 \
    "{where}: offload_beyond {got}, wanted {wanted} or more")                                                \
  X(multiplexed_alone, "MT-S31", "a multiplexed module shares each of its ranks with one that is not",       \
    "its computations stand between those of others, and on one of its ranks there are none",                \
    "place it on ranks of the module that it feeds, or leave multiplexed out",                               \
    "{where}: got rank {got} without another module, wanted one that is not multiplexed")                    \
  X(multiplexed_behind, "MT-S32", "a multiplexed module stands before those that are not",                   \
    "it ends in a loss, is fed by a module that is not multiplexed, or feeds none that leaves it a place",   \
    "let modules be multiplexed that feed the longest one, with all that feed these", "{where}")             \
  X(multiplexed_and_kept, "MT-S33", "a multiplexed module keeps what its distance asks for",                 \
    "a number was given that only other modules have, or it fills gaps, too",                                \
    "leave fills, stash, room and chunks out; ahead says how much earlier it comes", "{where}")

MOTET_RULES_OF(MOTET_STRATEGY_RULES, strategy_rules)
