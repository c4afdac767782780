// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/error.hpp>

// These sentences say what goes wrong with plans and the files that describe them.
namespace motet {

inline constexpr message plan_unknown_field{"MT-P70", "a plan, a model or a cluster has no such field",
                                            "it is misspelt, or belongs elsewhere in the file",
                                            "plan.md, model_file.md and cluster.md in docs/plan list all "
                                            "fields; leave out what keeps its usual value"};
inline constexpr message plan_wrong_kind{
    "MT-P71", "a field of a plan, a model or a cluster is missing or of another kind than wanted",
    "a number is quoted, a list is not closed where it should be, or a field was forgotten",
    "plan.md, model_file.md and cluster.md in docs/plan say what each field holds"};
inline constexpr message plan_out_of_range{"MT-P72", "a number of a plan or a model is out of range",
                                           "it is misspelt, or larger than any program can be",
                                           "Correct the number"};
inline constexpr message no_such_plan{"MT-P73", "there is no such plan",
                                      "the name is misspelt, or it is a file that is not there",
                                      "--list-plans tells all names; a file ends with .json"};
inline constexpr message plan_of_other_ranks{"MT-P74", "a plan is for as many ranks as it says",
                                             "another number of ranks was started or asked for",
                                             "Start as many ranks as the plan has, or choose another plan"};

inline constexpr message no_such_cluster{
    "MT-P75", "there is no such cluster", "the name is misspelt, or it is a file that is not there",
    "docs/plan/cluster.md describes those with names and the file that describes another one"};
inline constexpr message cluster_of_no_size{"MT-P76", "a cluster's size is nodes and devices of a node",
                                            "a number is zero, misspelt, or larger than any plan can be",
                                            "Write NAME:NODES or NAME:NODESxDEVICES, as in h100:16x8"};
inline constexpr message cluster_out_of_range{
    "MT-P77", "a rate, a size or a time of a cluster is out of range",
    "a unit is wrong (all are bytes, seconds, operations a second), or nothing would ever arrive",
    "docs/plan/cluster.md tells the unit and the range of each field"};
inline constexpr message model_not_planned{
    "MT-P78", "a model is towers that all meet in one join",
    "a tower feeds another, or some of them meet elsewhere",
    "Plan the towers that meet in the contrastive loss; docs/plan/model_file.md says what a join may be"};
inline constexpr message tower_does_not_fit{"MT-P79", "the numbers of a tower fit each other",
                                            "one of them is misspelt, or of another tower",
                                            "docs/plan/model_file.md says what each number must divide"};
inline constexpr message tower_names_differ{"MT-P80", "the towers of a model have names of their own",
                                            "a name occurs twice, or is misspelt where towers meet",
                                            "Give each tower one name, and use it in joins and edges"};
inline constexpr message no_function_name{
    "MT-P81", "a plan's header needs a name that a function can have",
    "it is a word of C++, or has other characters than letters, digits and single underscores",
    "Begin with a letter: --name clip_on_64"};
inline constexpr message no_such_model{"MT-P82", "there is no such model",
                                       "the name is misspelt, or it is a file that is not there",
                                       "--list-models tells all names; a file ends with .json"};
inline constexpr message pin_not_understood{
    "MT-P83", "a pin is a tower and what is settled for it",
    "a colon or an equals sign is missing, or the tower is not in the model",
    "Write TOWER:FIELD=VALUE,FIELD=VALUE, with ; before the next tower"};
inline constexpr message result_without_plan{"MT-P84", "the result of a search holds at least one plan",
                                             "its list was emptied, or the file is another program's",
                                             "Write it anew with plan_cluster --emit json"};
inline constexpr message model_fits_nowhere{
    "MT-P85", "a model fits into the memory of a cluster",
    "its devices are too few or too small, or pins forbid every plan that fits",
    "Take a larger cluster, fewer bytes for each number, or loosen pins"};
inline constexpr message batch_does_not_divide{
    "MT-P86", "a batch is so many samples for each loss, and each replica has one at least",
    "batch and contrastive batch are not multiples of each other, or a pinned degree asks for more samples",
    "Take one of the batches that are offered"};
inline constexpr message pins_contradict{"MT-P87", "what is pinned of the towers can be so together",
                                         "two numbers ask for different plans",
                                         "Leave out one of the two that are named"};
inline constexpr message no_devices{"MT-P88", "a plan needs a device at least, and towers to put on it",
                                    "the cluster or the model is empty", "Give nodes, devices and towers"};
inline constexpr message no_plan_left{
    "MT-P89", "some plan satisfies everything that is pinned",
    "towers must not share ranks, and there are fewer devices than they need together",
    "Loosen a pin, or let towers share ranks"};
inline constexpr message profile_misfit{
    "MT-P90", "a profile has points of towers, each once",
    "a list is empty or too short, or two entries are of the same",
    "Write it anew with the program profile; docs/plan/profile.md says what each field holds"};
inline constexpr message profile_out_of_range{
    "MT-P91", "a time or a rate of a profile is out of range",
    "a unit is wrong (all are seconds, FLOPs and bytes)",
    "Write it anew with the program profile, or correct the number"};

inline constexpr message comm_group_unknown{
    "MT-P92", "a table of communication has points of every group that a plan asks for",
    "it was measured on fewer devices or nodes than the plan has",
    "Measure the group that is named, or a larger one, or plan for fewer devices"};

inline constexpr message cluster_too_small{
    "MT-P93", "the ranks that are asked for are devices of the cluster",
    "it has fewer, or a batch has too few samples for so many ranks",
    "Ask for fewer ranks, give more samples to a step, or name a larger cluster"};

inline constexpr message pair_misfit{
    "MT-P94", "a pair of a profile is two modules that computed at once, and each two are there once",
    "a name or all points are missing, both names are one, or two entries are of the same",
    "Write it anew with profile --pair; docs/plan/profile.md says what each field holds"};

inline constexpr message profile_unlike_model{
    "MT-P95", "a profile by which a run is planned is of the modules that it trains",
    "a tower of the same name is another model's, or was measured with other numbers",
    "Measure the model in the run's precision with the program profile, or leave --profile out"};

inline constexpr message gaps_misfit{
    "MT-P96", "gaps of a profile are shares of a module's operations, once for the same degrees",
    "a share is missing or not from 0 to 0.99, nobody waits under the degrees, or two entries are of the "
    "same",
    "Write them anew with --record-gaps; docs/plan/profile.md says what each field holds"};

inline constexpr message gaps_unlike_model{
    "MT-P97", "gaps of a profile are of modules that are planned, under degrees that these can have",
    "another model's step was recorded, or a name or a degree is misspelt",
    "Record a step of this model with --record-gaps, or take the gaps out of the profile"};

inline constexpr message quotas_unknown{
    "MT-P100", "it is known into which shares a device splits its multiprocessors",
    "shares were measured on other devices",
    "Name a cluster of such devices, or give a quota_question the numbers of its device"};
inline constexpr message quotas_not_for_this{
    "MT-P101", "quotas are planned for at most 64 modules on at most 64 devices of one kind",
    "there are more, none, or a module stands before one that it comes after",
    "Plan for a part of the cluster, or leave --search quotas out"};

inline constexpr message times_misfit{
    "MT-P102", "times of a profile are of a module whose layers and rows are cut so, each once",
    "a number is missing, no time at all, or two entries are of the same",
    "Write them anew with --record-times; docs/plan/profile.md says what each field holds"};
inline constexpr message times_unlike_model{
    "MT-P103", "times of a profile are of modules that are planned, with their layers and their work",
    "another model's steps were recorded, or a name is misspelt",
    "Record steps of this model with --record-times, or take the times out of the profile"};

inline constexpr message plan_messages[] = {
    plan_unknown_field,    plan_wrong_kind,      plan_out_of_range,   no_such_plan,
    plan_of_other_ranks,   no_such_cluster,      cluster_of_no_size,  cluster_out_of_range,
    model_not_planned,     tower_does_not_fit,   tower_names_differ,  no_function_name,
    no_such_model,         pin_not_understood,   result_without_plan, model_fits_nowhere,
    batch_does_not_divide, pins_contradict,      no_devices,          no_plan_left,
    profile_misfit,        profile_out_of_range, comm_group_unknown,  cluster_too_small,
    pair_misfit,           profile_unlike_model, gaps_misfit,         gaps_unlike_model,
    quotas_unknown,        quotas_not_for_this,  times_misfit,        times_unlike_model};

}  // namespace motet
