// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/error.hpp>

// The sentences of the codes MT-J say what goes wrong with traces, times and clusters of jobs.
namespace motet {

inline constexpr message jobs_columns_differ{
    "MT-J01", "a table has the columns that its page names",
    "a column is misspelt, missing, or of another table",
    "docs/jobs/jobs.md lists the columns of traces and of times, docs/plan/order.md those of headers"};
inline constexpr message jobs_bad_cell{"MT-J02", "a cell of a table is a number in its range",
                                       "a unit or a letter stands in it, or it is empty or negative",
                                       "Correct the cell in the line and the column that are named"};
inline constexpr message jobs_row_twice{"MT-J03", "a job and a measured time occur once in their table",
                                        "two files were joined, or an identifier was used again",
                                        "Remove one of the two lines"};
inline constexpr message jobs_unknown_kind{
    "MT-J04", "a job asks for a kind of device that the cluster has",
    "the trace was made for another cluster, or the kind is misspelt",
    "Take the cluster that the trace was made for, or correct the name"};
inline constexpr message jobs_unknown_model{
    "MT-J05", "a job trains a model that the table of times knows",
    "the table was measured for other models, sizes or batches, or the name is misspelt",
    "Measure it and add its rows, or correct the name"};
inline constexpr message jobs_too_large{
    "MT-J06", "a job fits into the cluster while nothing else runs",
    "it asks for more devices of its kind than there are, or for a number "
    "that does not fill nodes",
    "Ask for a power of two, and at most what is named as the largest"};
inline constexpr message jobs_bad_cluster{
    "MT-J07", "a cluster of jobs has kinds of devices, each with nodes of a power of two",
    "a field is missing or misspelt, or a number is zero or not a power of two",
    "docs/jobs/jobs.md shows the file of a cluster"};
inline constexpr message no_such_job_cluster{"MT-J08", "there is no such cluster for jobs",
                                             "the name is misspelt, or it is a file that is not there",
                                             "Take one of the names, or a file that ends with .json"};
inline constexpr message no_such_policy{"MT-J09", "there is no such policy, or no such part of it",
                                        "the name is misspelt", "Take one of the names that are listed"};
inline constexpr message jobs_bad_memory{
    "MT-J10", "a table of memory has, for each model, gigabytes of 1, 2, 4, ... devices",
    "an entry is no list of numbers, or the file is of another kind",
    "docs/jobs/jobs.md shows the file; -1 says that it does not fit"};
inline constexpr message jobs_policy_broke{
    "MT-J11", "a policy keeps running jobs on devices and waiting jobs off them",
    "the policy has an error: it lost the devices of a job, or left some behind",
    "Report the trace and the policy, with the time that is named"};

inline constexpr message jobs_bad_models{
    "MT-J20", "a file of models has a model for each name and size that traces have",
    "a name has no size behind two underscores, or the file is of another kind",
    "docs/jobs/jobs.md shows the file; each model is one of docs/plan/model_file.md"};
inline constexpr message jobs_unknown_device{
    "MT-J21", "the kind of a device whose times are estimated is one that has facts",
    "it has a name of its own, or is not among those that docs/plan/cluster.md describes",
    "Say \"like\" in the cluster's file, with the name of a cluster of such devices"};

inline constexpr message jobs_bad_site{
    "MT-J30", "a file of a site says how a cluster calls what jobs get",
    "a field is misspelt or of another kind, or a name is none that the cluster could have",
    "docs/jobs/emit.md lists the fields and their usual values"};
inline constexpr message jobs_bad_name{
    "MT-J31", "a name of a job or a kind can be written in files that other programs read",
    "it has control characters, is too long, or the kind is called as no node can be",
    "Give the job another name, or say in the site's file how the cluster calls the kind"};

inline constexpr message jobs_bad_line{
    "MT-J40", "a line tells one thing of a job or a node, as JSON",
    "it was cut, a field is missing or misspelt, or something else was sent",
    "docs/jobs/watch.md shows the lines; nothing else was lost, send it again"};
inline constexpr message jobs_line_untrue{
    "MT-J41", "a line tells what can have happened", "it was sent twice, or another line was not sent",
    "Nothing was changed; where it was sent again to be sure, it was taken the first time"};
inline constexpr message jobs_journal_damaged{
    "MT-J42", "a journal is what was written", "the disk or somebody changed it before its end",
    "Put the folder back from a copy, or begin with an empty one and submit the jobs that are there"};
inline constexpr message jobs_journal_differs{
    "MT-J43", "a journal goes on with what it began with",
    "the policy, the cluster, the times or the program changed since",
    "Start it as before, or begin with an empty folder and submit the jobs that are there"};
inline constexpr message jobs_no_socket{
    "MT-J44", "a socket can be made where it is asked for",
    "its path is longer than 107 bytes, its folder is not there, or somebody listens there",
    "Take another path for --socket"};

inline constexpr message jobs_messages[] = {
    jobs_columns_differ, jobs_bad_cell,    jobs_row_twice,       jobs_unknown_kind,    jobs_unknown_model,
    jobs_too_large,      jobs_bad_cluster, no_such_job_cluster,  no_such_policy,       jobs_bad_memory,
    jobs_policy_broke,   jobs_bad_models,  jobs_unknown_device,  jobs_bad_site,        jobs_bad_name,
    jobs_bad_line,       jobs_line_untrue, jobs_journal_damaged, jobs_journal_differs, jobs_no_socket};

}  // namespace motet
