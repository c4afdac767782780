// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/error.hpp>

// The sentences of the codes MT-D say what goes wrong with data.
namespace motet {

inline constexpr message data_unreadable{
    "MT-D01", "the data cannot be read",
    "the path is misspelt, is not a file, or its permissions forbid reading",
    "Check the path and its permissions"};
inline constexpr message no_shards{
    "MT-D02", "the data set has no shards", "the folder holds no .tar file, or the list is empty",
    "Give a folder with .tar files, or a pattern such as train-{000..007}.tar"};
inline constexpr message bad_shard_pattern{
    "MT-D03", "the shard pattern is not understood",
    "a brace is not closed, a range has no whole-number ends, or the list would be enormous",
    "Write ranges as {000..007} and alternatives as {a,b}"};
inline constexpr message damaged_tar{
    "MT-D04", "the shard is damaged", "the tar file was cut short, or its headers were overwritten",
    "Copy or make the shard again, or run without --strict to use what is whole"};
inline constexpr message damaged_picture{"MT-D05", "the picture cannot be decoded",
                                         "the file is cut short, is no picture, or is larger than the limit",
                                         "Replace the picture, or run without --strict to skip it"};
inline constexpr message picture_library_missing{
    "MT-D06", "this build cannot handle this picture format",
    "libspng (PNG) or libjpeg (JPEG) was not there when the program was compiled, or was turned off",
    "Install libspng-dev or libjpeg-dev and configure again; without CMake compile again and link -lspng "
    "-ljpeg (MOTET_HAS_SPNG and MOTET_HAS_JPEG, 1 or 0, force either way); or store the pictures as .ppm"};
inline constexpr message missing_field{
    "MT-D07", "a sample lacks its picture or its caption",
    "its members do not share the name before the first dot, or one of them was not stored",
    "Add the missing member, or run without --strict to skip the sample"};
inline constexpr message picture_not_encoded{"MT-D08", "the picture cannot be encoded",
                                             "it is empty or larger than the format allows",
                                             "Draw a smaller picture, or choose another format"};
inline constexpr message bad_vocabulary{
    "MT-D09", "the vocabulary cannot be used",
    "tokenizer.json is missing, damaged, or of a kind that is not known here",
    "Use the tokenizer.json that was written beside the shards"};
inline constexpr message no_samples{"MT-D10", "the data set has no usable sample",
                                    "every sample lacks a field or is damaged",
                                    "Look at the counts of skipped samples, and make the data again"};
inline constexpr message batch_too_large{"MT-D11", "the batch is larger than the data set",
                                         "a contrastive batch must hold different samples",
                                         "Choose a smaller --batch, or use more data"};
inline constexpr message bad_data_state{
    "MT-D12", "the saved data position does not fit this data set",
    "the shards, the batch or the seed differ from those of the saved run",
    "Resume with the same data, or start again"};
inline constexpr message bad_data_option{"MT-D13", "a data option is out of its range",
                                         "a size, scale or count is zero, negative or reversed",
                                         "Correct the option"};
inline constexpr message bad_classes{"MT-D14", "the class list cannot be used",
                                     "classes.json is missing, damaged, or lists other samples",
                                     "Use the classes.json that was written beside the shards"};

inline constexpr message bad_listing{
    "MT-D15", "a listing of samples is not understood",
    "it has no column or member for pictures, or lines are no rows of it",
    "Name the columns (--picture, --caption, --class), or repair the line named"};
inline constexpr message set_folder_taken{
    "MT-D16", "a data set is written only into an empty folder, or over one that the same program wrote",
    "the folder holds files of someone else", "Choose an empty or a new folder"};
inline constexpr message text_not_utf8{"MT-D17", "a text of a sample is not UTF-8",
                                       "the file is in another encoding, or was cut or overwritten",
                                       "Write the text as UTF-8, or run without --strict to skip the sample"};
inline constexpr message bad_sample_pieces{
    "MT-D18", "the pieces of a sample do not fit together",
    "its JSON is damaged or of another form, a placeholder has no picture, or a picture no placeholder",
    "Write it as docs/data/written_pieces.md shows, or run without --strict to skip it"};
inline constexpr message sample_asks_nothing{
    "MT-D19", "a sample asks for nothing", "it has no text to learn, as a conversation without an answer",
    "Give it an \"asked\" text or a turn of gpt, or run without --strict to skip it"};
inline constexpr message sample_too_long{
    "MT-D20", "a sample is longer than the model takes",
    "its pictures, its sounds and its text have more rows than the model's context, or there are more of "
    "them than it takes (of sounds none, where a model does not hear)",
    "Cut it into several samples, take a model with a longer context, or run without --strict to skip it"};
inline constexpr message damaged_sound{"MT-D21", "the sound cannot be decoded",
                                       "the file is cut short, is no sound, or is longer than the limit",
                                       "Replace the sound, or leave it out"};
inline constexpr message producer_unlike{
    "MT-D22", "a producer serves other steps than this run wants",
    "it is of another version, has other data, or serves a run with another seed or other settings",
    "Start the producer anew with the data of this run, or name another one (--producers)"};
inline constexpr message damaged_step{"MT-D23", "a step came damaged from a producer, again and again",
                                      "bytes were changed on their way, or the memory of a machine is bad",
                                      "Run without that producer, and look at its machine and its network"};
inline constexpr message producers_silent{
    "MT-D24", "no producer answers", "all of them ended, none was started, or the network is cut",
    "Look at the producers' own messages, start one, and go on with --resume"};
inline constexpr message too_few_pictures{
    "MT-D25", "no sample has as many pictures as the model wants",
    "the data have words alone, and the model draws a picture of each sample",
    "Give samples with pictures, or train a model that takes samples without (docs/data.md)"};
inline constexpr message picture_too_long{
    "MT-D26", "a picture is so long that no grid of so few patches has its proportion",
    "one side is more times the other than the model takes patches",
    "Cut the picture into parts, or take a model of more patches (.most_patches)"};
inline constexpr message other_windows{
    "MT-D27", "samples waited for each other in other windows before",
    "the number of steps in a window, the batch or the replicas changed, so some samples would come twice",
    "Go on with the same windows, batch and replicas, or begin a new run"};
inline constexpr message shards_missing{
    "MT-D28", "the pattern names shards that are not there",
    "fewer were made than it names, or some were lost or not copied",
    "Name those that are there, or their folder, which means all of its shards"};
inline constexpr message data_messages[] = {
    data_unreadable,         no_shards,       bad_shard_pattern,   damaged_tar,         damaged_picture,
    picture_library_missing, missing_field,   picture_not_encoded, bad_vocabulary,      no_samples,
    batch_too_large,         bad_data_state,  bad_data_option,     bad_classes,         bad_listing,
    set_folder_taken,        text_not_utf8,   bad_sample_pieces,   sample_asks_nothing, sample_too_long,
    damaged_sound,           producer_unlike, damaged_step,        producers_silent,    too_few_pictures,
    picture_too_long,        other_windows,   shards_missing};

}  // namespace motet
