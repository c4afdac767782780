// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/verdict.hpp>

#include <algorithm>
#include <initializer_list>

// The rules that the type or the config of a net can break.
#define MOTET_NN_RULES(X)                                                                                   \
  X(heads_do_not_divide, "MT-N01", "the head count must divide the width, unless head_width is given",      \
    "width / heads is not a whole number, and the config leaves head_width at 0",                           \
    "choose a head count that divides the width, or set .head_width",                                       \
    "{got} heads do not divide a width of {wanted}")                                                        \
  X(patch_does_not_divide, "MT-N02", "the patch side must divide the picture side",                         \
    "picture side / patch side is not a whole number",                                                      \
    "choose a patch that divides .image, or resize the pictures",                                           \
    "patches of {got} do not divide pictures of {wanted}")                                                  \
  X(kv_heads_do_not_divide, "MT-N03", "the key-value head count must divide the head count",                \
    "grouped-query attention shares each key-value head among the same number of query heads",              \
    "choose .kv_heads that divides .heads", "{got} key-value heads do not divide {wanted} heads")           \
  X(not_positive, "MT-N04", "sizes of a net must be positive",                                              \
    "a width, depth, head count or context is zero or negative", "give every size of the config",           \
    "the least of them is {got}, wanted {wanted} or more")                                                  \
  X(widths_do_not_chain, "MT-N05", "a layer's input width must be the output width of the layer before it", \
    "two neighbours of a sequential composition disagree",                                                  \
    "match the widths, or put a linear layer between",                                                      \
    "a layer takes {got} column{s}, and the one before gives {wanted}")                                     \
  X(odd_rotary_width, "MT-N06", "rotary embedding needs an even head width",                                \
    "rotary embedding turns pairs of columns", "choose an even head width",                                 \
    "head width {got}, {wanted} would do")                                                                  \
  X(sine_width, "MT-N07", "2-D sine positions need a width that is a multiple of 4",                        \
    "sines and cosines of a patch's row and column take a quarter of the columns each",                     \
    "choose such a width, or learned positions", "width {got}, {wanted} would do")                          \
  X(stage_outside, "MT-N08", "a stage must be a range of its tower's blocks, with one block at least",      \
    "there are more stages than blocks, or the ranges do not add up to the tower's layers",                 \
    "cut the tower's layers into ranges of one block or more",                                              \
    "the {where/first/last} block is {got}, wanted {wanted}")                                               \
  X(experts_do_not_fit, "MT-N09",                                                                           \
    "a row must choose one or more of a mixture's experts, which are 65535 at most",                        \
    "top_k is larger than the number of experts, or the experts are too many",                              \
    "take a smaller .top_k, or other .experts", "got {got} expert{s}, wanted {wanted}")                     \
  X(gate_is_constant, "MT-N10", "a normalised gate needs two chosen experts",                               \
    "with one, the gate is always 1, and the router would learn nothing from it",                           \
    "choose gate_kind::probability, or a larger .top_k", "each row chooses {got}, wanted {wanted} or more") \
  X(not_an_embedding, "MT-N11", "the embedding of a tower lacks a member",                                  \
    "a type of one's own has not all that a tower asks of it",                                              \
    "add the member that the compiler names; docs/your_tower.md shows a whole one")                         \
  X(config_lacks_field, "MT-N12", "the config of a net lacks a field that its input needs",                 \
    "a tower of one's own has no config, or one without the size of its input",                             \
    "give the net a static constexpr config with the fields that the compiler names")                       \
  X(not_causal, "MT-N13", "only a causal net goes on row by row",                                           \
    "its rows see those behind them, so all would change with each that follows",                           \
    "set .mask = mask_kind::causal and train it so, or run all rows each time", "")                         \
  X(capacity_of_rows, "MT-N14", "experts of limited capacity do not go on row by row",                      \
    "which rows an expert takes depends on all rows of the sample, also those to come",                     \
    "set .mix.capacity = 0, which needs no other weights, or run all rows each time", "")                   \
  X(time_width, "MT-N15", "sine positions in time need an even width of 4 or more",                         \
    "sines take one half of the columns, cosines the other, and their speeds fall from first to last",      \
    "choose such a width", "width {got}, {wanted} would do")                                                \
  X(z_loss_weight, "MT-N16", "a z loss weighs 0 or more",                                                   \
    "the weight in the config is negative, or no number; it is told in millionths",                         \
    "choose .z_loss = 0 for none, or a small weight such as 1e-4", "{got} millionths")                      \
  X(adapters_do_not_fit, "MT-N17", "adapters need a rank of one or more, and products that the net has",    \
    "no product is chosen, a number is negative, or the net has no gated mlp, or is no decoder",            \
    "choose products of a decoder's attention or gated mlp; an eye is a module that feeds a fed_decoder",   \
    "{where/.rank is negative/.alpha is negative/no product is chosen/the net has no gated mlp/the net "    \
    "sees}")                                                                                                \
  X(adapters_row_by_row, "MT-N18", "a net with adapters does not go on row by row",                         \
    "merged weights make the same rows at less cost",                                                       \
    "merge the adapters (merged_weights), and take the net without .adapters", "")                          \
  X(not_a_part, "MT-N19", "the part of pictures whose class is not told is between 0 and 1",                \
    "it is a share of all pictures, not a percentage", "give .forgotten from 0 to 1; 0.1 is usual")         \
  X(no_drawing_here, "MT-N20", "this device has no operations for nets that draw",                          \
    "they are written for processors, and not yet for GPUs", "train and paint on cpu::device", "")          \
  X(upper_half_places, "MT-N21", "the upper half of a language model has rotary positions",                 \
    "it reads rows of other modules, and has no table of places to add to them",                            \
    "give .rotary a base, such as 10000; the lower half may have learned positions", "")                    \
  X(no_looking_here, "MT-N24", "this device has not been tried with attention to rows of another module",   \
    "it is written for processors, and not yet for GPUs", "run on cpu::device", "")                         \
  X(adapters_drop, "MT-N25", "the dropout of adapters lies in [0, 1)",                                      \
    "it is the part that falls out, not the part that stays, and not a percentage",                         \
    "give .dropout from 0 to below 1; 0.05 is usual", "{got} thousandths")                                  \
  X(squares_do_not_divide, "MT-N26", "squares of rows must tile the grid of a picture's patches",           \
    "the side of the grid, image / patch, is not a multiple of the side of a square",                       \
    "choose another side of squares, or another image or patch; 1 joins nothing",                           \
    "squares of {got} do not divide a grid of {wanted}")                                                    \
  X(tied_table_is_cut, "MT-N27", "a table of tokens that is the last product, too, is whole everywhere",    \
    "the product needs all tokens' rows, and a member would have some of them",                             \
    "leave out .tied or .cut_vocabulary", "")                                                               \
  X(no_resizing_here, "MT-N28", "this device has no operations that interpolate positions",                 \
    "they are written for processors, and not yet for GPUs",                                                \
    "run on cpu::device, or take .image = .learned_image", "")                                              \
  X(grid_of_positions, "MT-N29", "interpolated positions are learned, for a grid of whole patches",         \
    "positions are sines, which have any grid anyhow, or .learned_image is no multiple of .patch",          \
    "give .learned_image the side of the pictures that the table was learned with, or leave it out",        \
    ".learned_image {got}, and .image {wanted}")                                                            \
  X(beside_in_parts, "MT-N30", "blocks that look at rows of another module have their samples whole",       \
    "context parallelism cuts samples, and the rows come to whoever has a sample whole",                    \
    "take context = 1 for this module; what gives the rows may be cut", "context = {got}")                  \
  X(looking_blocks, "MT-N31", "of blocks that look at rows of another module every so many one does",       \
    "the number of layers is no multiple of how many blocks one of them looks for",                         \
    "choose .layers a multiple of it, or look in every block",                                              \
    "one of {got} blocks looks, and there are {wanted}")                                                    \
  X(any_shape, "MT-N32", "pictures of any shape have some patches each, four channels at most, no squares", \
    "a number is negative, there are more channels than bytes of pictures have, or rows are to be joined",  \
    "give .most_patches above zero, .channels up to 4, and one row for each patch", "")                     \
  X(no_shapes_here, "MT-N33", "this device has no operations for pictures of any shape",                    \
    "they are written for processors, and not yet for GPUs",                                                \
    "run on cpu::device, or leave out .most_patches", "")

MOTET_RULES_OF(MOTET_NN_RULES, nn_rules)

namespace motet {

// Sizes that a net must have, each at least so large; the least of them is told.
constexpr verdict at_least(isize wanted, std::initializer_list<isize> sizes) {
  const isize least = std::min(sizes);
  return least < wanted ? verdict{reason::not_positive, 0, least, wanted} : verdict{};
}

}  // namespace motet
