// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/error.hpp>

// The sentences of the codes MT-R say what goes wrong in training and with checkpoints.
namespace motet {

inline constexpr message not_finite{
    "MT-R01", "training stopped before an update, as a number is not finite",
    "the learning rate is too high, the data holds NaN or infinity, or the precision is too low",
    "Lower --lr, look at the data, or resume from the last checkpoint; the weights are as before this step"};
inline constexpr message bad_training_option{"MT-R02", "a training option is out of its range",
                                             "a count is zero or does not fit the others",
                                             "Correct the option"};
inline constexpr message step_too_large{"MT-R03", "a batch does not fit the trainer",
                                        "step() got other samples or longer ones than planned",
                                        "Give what the trainer was made for, or make it for what it gets"};
inline constexpr message ranks_too_late{"MT-R07", "the ranks did not end their step in time",
                                        "one of them hangs or is much slower than planned",
                                        "See who waits for whom, or give a longer deadline"};
inline constexpr message ranks_failed_before{"MT-R08", "these ranks failed in an earlier step",
                                             "their memory is in an unknown state",
                                             "Make them again, from the last checkpoint"};
inline constexpr message program_does_not_fit{
    "MT-R09", "the program does not fit the model", "modules, stages or layers differ",
    "Write the score for this model's modules, and give every stage its layers"};
inline constexpr message reduction_misused{
    "MT-R10", "gradients were reduced out of turn",
    "an interval was ready twice in a step, a step began before the last one was through, or the groups are "
    "not those planned",
    "Call begin_step(), ready() once for each element, finish() and gather_weights() until they say true"};
inline constexpr message join_misfit{
    "MT-R11", "what ranks bring to a join does not fit",
    "a sample of a module comes from no rank, or from two",
    "Cut the samples of each module over its ranks so that each has exactly one"};
inline constexpr message gradients_not_owned{
    "MT-R12", "gradients are not summed once over exactly the ranks that hold them",
    "groups or buckets were not made from the program, or tensors are cut in two ways",
    "Make groups by stage_groups and buckets by lay_out_reduction, alike on all ranks"};
inline constexpr message run_folder_in_use{"MT-R14", "the folder of a run belongs to another process",
                                           "the same run was started twice",
                                           "End that process, or save into another folder"};

inline constexpr message unknown_token{
    "MT-R15", "a batch has tokens, classes, times or shapes that the model does not know",
    "they were made for another vocabulary, pictures among them were "
    "given other rows than the model makes of "
    "them, or have other grids than its eye takes, times were given to a net that draws its own while it "
    "learns, or "
    "something wrote over them",
    "Encode text by the model's own tokenizer, keep a row without a token "
    "for each row of a picture that is to "
    "be seen, or give the model a vocabulary, or as many classes, as large as that; leave times to the net"};

inline constexpr message text_does_not_fit{
    "MT-R16", "a language model cannot go on from this text",
    "the text is empty, or with what is to follow it is longer than the context",
    "Give one token at least; shorten the text, or train with a longer .context"};
inline constexpr message bad_saying{"MT-R17", "how tokens are chosen is out of its range",
                                    "a temperature, a count or a share of probability is none",
                                    "Give temperature >= 0, top_k >= 0, 0 < top_p <= 1 and most >= 0"};
inline constexpr message logits_not_finite{"MT-R18", "no next token can be chosen, as a logit is not finite",
                                           "weights hold NaN or infinity, or are not those of this net",
                                           "Look at the weights, or take an older checkpoint"};

inline constexpr message fed_rows_differ{
    "MT-R19", "a module makes other rows than the one that it feeds has places for",
    "the pictures of a sample and the places of their rows were put together from different data",
    "Put both together from one list of pieces (pictured_text)"};

inline constexpr message optimizer_does_not_fit{
    "MT-R29", "this optimizer does not go with this plan or device",
    "it needs whole matrices where a plan cuts them, or operations that the device does not have",
    "Take tensor = 1 and zero = 0 for the module, train on CPUs, or take another optimizer"};

inline constexpr message session_without_inputs{
    "MT-R30", "a session does not say what its modules get of a batch",
    "inputs(batch) is missing or not public, or returns something else than the model's batch",
    "Write `net::batch inputs(const step_input& batch) const`, with one input for each module in its order"};

inline constexpr message bad_sample_order{
    "MT-R37", "an order of samples does not fit its step",
    "it leaves samples out, names one twice, or takes one out of its group, of the loss or of ranks",
    "Return each sample's number once (in_turn(of.samples) is where to begin), as many as the batch has"};

inline constexpr message dropout_is_cut{
    "MT-R38", "a module whose adapters drop numbers is cut by tensor or context parallelism",
    "what they drop is drawn by rows of whole samples and columns of whole products",
    "Take tensor = 1 and context = 1 for the module, or no .dropout; or cut it by data or stages"};

inline constexpr message bad_painting{"MT-R39", "how pictures are painted is out of its range",
                                      "there is no step to take, or guidance is no number",
                                      "Give steps >= 1 and a finite guidance; 50 and 1 are those without"};

inline constexpr message table_is_parted{
    "MT-R59", "a plan parts a table of tokens that is the last product, too",
    "both ends of the net read it and add to its gradient, and they are in two stages, or summed one by one",
    "Take stages = 1, and zero = 0 or 1, for the module; or a net that is not .tied"};

inline constexpr message step_beyond_room{
    "MT-R60", "the rows of a step find no room on a rank",
    "its samples are longer, or more of them, than the memory that a rank may hold has room for",
    "Let a rank hold more, give a step fewer samples or shorter ones, or take recompute or more ranks; the "
    "weights are as before this step"};
inline constexpr message bad_room{
    "MT-R61", "a limit of a rank's memory cannot hold",
    "it is below zero, or memory is that of the longest step there can be, whatever the rows of a step",
    "Give a limit above zero, or 0 for none, together with rooms by rows"};

inline constexpr message lanes_not_there{
    "MT-R62", "a plan has several lanes on a rank, and ranks of this device compute in one",
    "their end of the transport is for one thread alone, and has no stream for each lane",
    "Leave lane and share out of the plan; or give the transport turns (groups/turns.hpp), or streams for "
    "lanes (groups/stream_lanes.hpp)"};

inline constexpr message pieces_not_there{
    "MT-R64", "a plan exchanges rows in pieces, and ranks of this device exchange them as a whole",
    "on processors a courier carries rows, and a transport of one's own may be for one thread alone",
    "Leave pieces out of the plan, or give the transport turns"};

inline constexpr message whole_samples_not_there{
    "MT-R69", "a plan keeps short samples whole, and ranks of this device cut all samples alike",
    "operations of GPUs find the parts of a sample by its rows alone",
    "Leave long_rows out of the plan, or train on CPUs"};

inline constexpr message far_memory_missing{
    "MT-R70", "there is no room for what backward needs outside of the device's memory",
    "the folder is missing, may not be written to, or its disk is full",
    "Name another folder, or none to keep it in the process's own memory; or let more microbatches stay"};
inline constexpr message offload_not_there{
    "MT-R71", "a plan offloads what backward needs, and ranks of this device keep it",
    "work of GPUs is recorded with the memory that it reads",
    "Leave offload_beyond out of the plan, or train on CPUs"};

inline constexpr message scores_differ{
    "MT-R72", "ranks do not play the same score in a step",
    "a conductor is no function of what all ranks know, or their samples differ",
    "Let a conductor use nothing but the scores, their times and the headers that it is given, and give all "
    "ranks "
    "the same data; the weights are as before this step"};
inline constexpr message no_such_score{"MT-R73", "a run has no such score",
                                       "a step plays one of the scores that were proven before the first one",
                                       "Pick one of them, counted from 0, or give the run more of them"};
inline constexpr message other_cast{"MT-R75", "scores that take turns have one cast",
                                    "one of them has other stages, microbatches, ranks, lanes, losses or "
                                    "feeds than the first, so that ranks would "
                                    "hold and send something else",
                                    "Let them differ in the order of computations alone"};
inline constexpr message scores_stay{
    "MT-R74", "the scores of a run take turns, and ranks of this device keep to one",
    "work of GPUs is recorded with the memory that it reads, and NCCL matches messages by their order",
    "Leave other scores out, or train on CPUs"};

inline constexpr message weights_not_lent{
    "MT-R66", "a plan keeps weights in shares, and ranks of this device have them whole",
    "copies of weights that products of GPUs read lie where these do",
    "Give the module zero = 0, 1 or 2, or train on CPUs"};

inline constexpr message weights_without_layers{
    "MT-R67", "a plan keeps weights in shares that do not come together layer by layer",
    "a module that learns by adapters has little to share, and a stage of one's own may read all weights at "
    "once",
    "Give the module zero = 0, 1 or 2; or its stage weight_parts, as motet::stage_parameters has them"};

inline constexpr message bad_lane_shares{
    "MT-R63", "shares of lanes do not fit the ranks", "there is not one above zero for each lane of the plan",
    "Give as many numbers above zero as the plan has lanes; they count by their proportions"};

inline constexpr message lane_shares_stay{
    "MT-R65", "shares of lanes do not change between steps here",
    "lanes are streams, and their end of the transport cannot move them to others",
    "Say the shares in the plan (share), or give the transport move_lanes(), as the library's own have it"};

inline constexpr message runtime_messages[] = {not_finite,
                                               bad_training_option,
                                               step_too_large,
                                               ranks_too_late,
                                               ranks_failed_before,
                                               program_does_not_fit,
                                               reduction_misused,
                                               join_misfit,
                                               gradients_not_owned,
                                               run_folder_in_use,
                                               unknown_token,
                                               text_does_not_fit,
                                               bad_saying,
                                               logits_not_finite,
                                               fed_rows_differ,
                                               optimizer_does_not_fit,
                                               session_without_inputs,
                                               bad_sample_order,
                                               dropout_is_cut,
                                               bad_painting,
                                               table_is_parted,
                                               step_beyond_room,
                                               bad_room,
                                               lanes_not_there,
                                               weights_not_lent,
                                               weights_without_layers,
                                               bad_lane_shares,
                                               lane_shares_stay,
                                               pieces_not_there,
                                               whole_samples_not_there,
                                               far_memory_missing,
                                               offload_not_there,
                                               scores_differ,
                                               no_such_score,
                                               other_cast,
                                               scores_stay};

inline constexpr message launch_not_a_number{"MT-R20", "a launcher's variable is not a number in its range",
                                             "it was set by hand, or by a tool that means something else",
                                             "Unset the variable, or start with mpirun -n RANKS PROGRAM"};
inline constexpr message launchers_disagree{
    "MT-R21", "two launchers disagree about the ranks",
    "one was started by the other for each rank, or variables of an older run are still set",
    "Use one launcher, or unset the other's variables"};
inline constexpr message launch_incomplete{"MT-R22", "a launcher said only half of what is needed",
                                           "a variable was set by hand, or not passed on",
                                           "Start processes by the launcher itself (srun, mpirun, torchrun), "
                                           "or set all that it sets, or nothing"};
inline constexpr message launcher_missing{
    "MT-R23", "processes were asked for, but no launcher started this one",
    "the program was started by itself; mpirun may not be installed",
    "Start with mpirun -n RANKS PROGRAM (Debian: openmpi-bin), or take threads: --ranks RANKS"};
inline constexpr message launch_without_mpi{
    "MT-R24", "several processes were started, but this program cannot connect them",
    "it was built without MPI",
    "Build with MOTET_MPI=ON (Debian: libopenmpi-dev), or start one process with --ranks RANKS"};

inline constexpr message rank_waits_in_vain{
    "MT-R25", "a rank waits for others in vain",
    "a process is dead, stopped or cut off from the network, or the ranks do not run the same program",
    "Start again from the last checkpoint; where ranks only are slow to answer, give a larger bound"};
inline constexpr message ranks_do_not_match{
    "MT-R26", "the ranks do not run the same thing",
    "other files, options, builds or processors on some machines",
    "Start all ranks from the same program, with the same options and the same files; on unlike processors, "
    "set MOTET_KERNELS to kernels that all of them have"};
inline constexpr message rank_elsewhere{"MT-R27", "a rank does not live in this process",
                                        "a process has the memory of its own rank alone",
                                        "Ask for local_ranks() only"};

inline constexpr message checkpoint_failed_elsewhere{
    "MT-R28", "another rank could not write or read its part of a checkpoint",
    "its disk is full, its files differ, or it died", "See what that rank says"};

inline constexpr message launch_messages[] = {
    launch_not_a_number, launchers_disagree, launch_incomplete,
    launcher_missing,    launch_without_mpi, rank_waits_in_vain,
    ranks_do_not_match,  rank_elsewhere,     checkpoint_failed_elsewhere};

}  // namespace motet
