// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/error.hpp>

// The sentences of the codes MT-F say what goes wrong with bytes from outside.
namespace motet {

inline constexpr message json_malformed{
    "MT-F01", "this is not JSON",
    "the file is damaged, cut, or written by a program that does not keep to RFC 8259",
    "Write the file again, or repair it at the place named"};
inline constexpr message json_wrong_kind{"MT-F02", "a JSON value is missing or of another kind than wanted",
                                         "the file was written by another program or another version",
                                         "Compare the file with the documentation of its format"};
inline constexpr message json_not_text{"MT-F03", "a string to be written as JSON must be UTF-8",
                                       "a name or a path holds bytes of another encoding",
                                       "Rename what the message quotes"};
inline constexpr message file_unreadable{"MT-F04", "a file cannot be read",
                                         "the path is wrong, or the file's permissions forbid it",
                                         "Check the path and its permissions"};
inline constexpr message file_unwritable{"MT-F05", "a file cannot be written",
                                         "the folder does not exist, or its permissions forbid it",
                                         "Check the folder and its permissions; nothing was replaced"};
inline constexpr message disk_full{
    "MT-F06", "there is no room to write a file", "the disk, the quota or the allowed file size is used up",
    "Make room and write again; the temporary file was removed and nothing was replaced"};
inline constexpr message safetensors_malformed{"MT-F07", "this is not a safetensors file",
                                               "the file is damaged or of another format",
                                               "Fetch or write the file again"};
inline constexpr message safetensors_cut{"MT-F08", "a safetensors file is shorter than its header says",
                                         "a copy or a download stopped early",
                                         "Fetch or write the file again"};
inline constexpr message tensor_missing{"MT-F09", "a tensor is not in the file",
                                        "the file belongs to another model, or names differ",
                                        "Compare the names with the list of tensors in the file"};
inline constexpr message tensor_mismatch{
    "MT-F10", "a tensor is stored with another type or shape than wanted",
    "the file belongs to another model", "Compare the file with the model's configuration"};
inline constexpr message tensor_set_incomplete{"MT-F11", "a set of safetensors files is incomplete",
                                               "a shard was not copied, or the index belongs to another set",
                                               "Fetch the files named again"};
inline constexpr message safetensors_misuse{
    "MT-F12", "tensors are written as they were declared, each once",
    "a call of the writer names another tensor, size or type than the header",
    "Declare every tensor first, then write each of them"};
inline constexpr message hf_config_unsupported{
    "MT-F13", "a Hugging Face configuration asks for what is not offered here",
    "the model is of another kind than CLIP, Llama, Qwen2 and Qwen3, or a variant that no net here computes",
    "Convert another model; docs/weights.md lists what is read"};
inline constexpr message hf_not_expressible{
    "MT-F14", "a model has no form as a Hugging Face CLIP model",
    "it uses a net or a setting that CLIPModel of the transformers package lacks",
    "Train a vit with pre_norm and a class token beside a causal text_tower read at its last token"};
inline constexpr message csv_malformed{
    "MT-F15", "a table of separated values cannot be read",
    "a quote is not closed, or rows have unequal numbers of cells",
    "Repair the line named; text with the separator in it stands in quotes"};
inline constexpr message number_too_large{
    "MT-F16", "a number does not fit the type that it is to be stored as",
    "half precision ends at 65504, and weights that diverged or were made in bf16 go beyond",
    "Store them as bf16, which ends where floats do, or as fp32"};
inline constexpr message adapters_unsupported{
    "MT-F17", "adapters ask for what is not offered here",
    "they are of another kind than LoRA, or a variant that does more than add a product to weights",
    "Merge them by the package that made them (merge_and_unload), and read the model that it saves"};
inline constexpr message hf_command_line{"MT-X30", "the command line is not understood",
                                         "an option is misspelt or its value is missing",
                                         "Run the program with --help"};
inline constexpr message embed_input{
    "MT-X31", "what is to be embedded does not fit the model", "it was prepared for another model",
    "Prepare pixel_values and input_ids with the size and the vocabulary of this model"};
inline constexpr message embed_model{"MT-X32", "this program was built for another model",
                                     "embed holds one model, and the folder holds another",
                                     "Build it again with -DMOTET_EMBED_HF naming that folder"};
inline constexpr message checkpoint_absent{
    "MT-R50", "there is no checkpoint", "the folder is wrong, or the run stopped before its first checkpoint",
    "Check the folder, or start without resuming"};
inline constexpr message checkpoint_of_another_version{
    "MT-R51", "a checkpoint is of a version that this program does not read",
    "another version of the library wrote it", "Read it with the version that wrote it"};
inline constexpr message checkpoint_damaged{
    "MT-R52", "a checkpoint is damaged", "a copy stopped early, or the disk lost bytes",
    "Resume from an older checkpoint of the same folder, by its path"};
inline constexpr message checkpoint_mismatch{
    "MT-R53", "a checkpoint does not fit the model", "it belongs to another model or another configuration",
    "Build the model that the checkpoint names, or choose another checkpoint"};
inline constexpr message checkpoint_parts_differ{
    "MT-R54", "the parts of a checkpoint do not make whole tensors",
    "two ranks say that they own the same numbers, none does, or they hold different models",
    "Let each element be written by exactly one rank; nothing was replaced"};
inline constexpr message checkpoint_part_absent{
    "MT-R55", "a part of a checkpoint was not written",
    "a rank stopped before it was done, its disk is not the one of the others, or nobody waited for it",
    "Put the checkpoints on a disk that all ranks share; nothing was replaced"};
inline constexpr message checkpoint_of_another_optimizer{
    "MT-R56", "a checkpoint was made by another optimizer", "its state would mean something else",
    "Go on with the optimizer that made it, or begin a new run from its weights"};
inline constexpr message checkpoint_without_averages{
    "MT-R57", "a checkpoint has no averages of weights", "its run followed none",
    "Take the weights themselves, or train with an average of them"};
inline constexpr message weights_not_given{
    "MT-R58", "a checkpoint has not the weights that a run is to begin with",
    "it is of a model with other modules, or with modules of other sizes",
    "Name the module and what it is called there, MODULE=RUN:NAME, or choose another checkpoint"};

inline constexpr message format_messages[] = {json_malformed,
                                              json_wrong_kind,
                                              json_not_text,
                                              file_unreadable,
                                              file_unwritable,
                                              disk_full,
                                              safetensors_malformed,
                                              safetensors_cut,
                                              tensor_missing,
                                              tensor_mismatch,
                                              tensor_set_incomplete,
                                              safetensors_misuse,
                                              hf_config_unsupported,
                                              hf_not_expressible,
                                              csv_malformed,
                                              number_too_large,
                                              adapters_unsupported,
                                              hf_command_line,
                                              embed_input,
                                              embed_model,
                                              checkpoint_absent,
                                              checkpoint_of_another_version,
                                              checkpoint_damaged,
                                              checkpoint_mismatch,
                                              checkpoint_parts_differ,
                                              checkpoint_part_absent,
                                              checkpoint_of_another_optimizer,
                                              checkpoint_without_averages,
                                              weights_not_given};

}  // namespace motet
