// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/verdict.hpp>

// The rules that modules, edges and losses of a model can break.
#define MOTET_MODEL_RULES(X)                                                                                 \
  X(join_widths_differ, "MT-M01", "modules that meet in a join must have equal embedding widths",            \
    "one tower projects to another width than the first",                                                    \
    "set the same .embedding in every config of the join",                                                   \
    "{where}: its embedding has {got} column{s}, that of the first {wanted}")                                \
  X(join_too_small, "MT-M02", "a join needs at least two modules", "a contrastive loss compares modules",    \
    "name two or more modules in the join", "{where}: got {got} module{s}, wanted {wanted} or more")         \
  X(unknown_module, "MT-M03", "no module of the model has this name",                                        \
    "the name is misspelt, or the module is in another model", "use a name that the model declares")         \
  X(duplicate_module, "MT-M04", "two modules of a model have the same name",                                 \
    "names address parameters and strategies, so they must differ", "rename one of them", "{where}")         \
  X(own_loss_of_several, "MT-M05", "a loss of each sample by itself takes one module",                       \
    "such a loss compares nothing, so there is nothing that several modules would do in it",                 \
    "name the one module whose samples say what they lose", "{where}: got {got} modules, wanted {wanted}")   \
  X(loss_lacks_head, "MT-M06", "a loss asks for modules that end as it needs them",                          \
    "next_token takes a decoder, denoise a drawer; losses that compare take modules with features",          \
    "choose another loss, or a module with the head that it asks for", "{where}")                            \
  X(own_loss_frozen, "MT-M07", "a loss needs a module that learns from it",                                  \
    "its modules are frozen, so no gradient would go anywhere", "let a module learn", "{where}")             \
  X(not_a_loss, "MT-M08", "a loss lacks a member", "a loss of one's own has not all that a join asks of it", \
    "add the member that the compiler names; docs/your_loss.md says what each does")                         \
  X(no_rows_to_feed, "MT-M09", "an edge joins a module that gives rows to one that takes them",              \
    "features of whole samples cannot enter another module, nor can rows one without a place for them",      \
    "end the first module with rows (rows_out, rows_through), or feed a module that takes them", "{where}")  \
  X(edge_widths_differ, "MT-M10", "rows enter a module with the width that they left another with",          \
    "the module at the end of an edge takes rows of another width",                                          \
    "put a projector between them, or change a width",                                                       \
    "{where}: it takes rows of {got} column{s}, and the edge brings {wanted}")                               \
  X(edges_in_a_circle, "MT-M11", "modules may not feed each other in a circle",                              \
    "a module would need what comes of its own rows", "leave one of the edges out", "{where}")               \
  X(module_unused, "MT-M12", "every module leads to a loss",                                                 \
    "no edge takes the module's rows further, and no loss is said for it",                                   \
    "add an edge from it, or leave the module out", "{where}")                                               \
  X(edge_missing, "MT-M13", "a module that takes rows has an edge into it",                                  \
    "its rows would come from nowhere", "add an edge to this module", "{where}")                             \
  X(edges_into_one_place, "MT-M14", "this module takes the rows of one other",                               \
    "several edges enter a net that has a place for the rows of one; fed_decoder has places for several",    \
    "give each of the modules that feed it a module of this kind of its own",                                \
    "{where}: got {got} edges, wanted {wanted}")                                                             \
  X(duplicate_edge, "MT-M15", "an edge is said once", "two edges join the same two modules",                 \
    "leave one of them out", "{where}")                                                                      \
  X(module_in_two_losses, "MT-M16", "a module ends in one loss",                                             \
    "two losses name the same module, whose features are of one kind",                                       \
    "leave one of them out, or feed a module of its own for the second from what both stand on", "{where}")  \
  X(weight_not_positive, "MT-M17", "a loss weighs more than nothing",                                        \
    "with a weight of zero or less nothing would be learned from it, or the contrary",                       \
    "give it a positive weight, or leave the loss out")

MOTET_RULES_OF(MOTET_MODEL_RULES, model_rules)
