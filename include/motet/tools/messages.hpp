// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/error.hpp>

// The sentences of the codes MT-X say what goes wrong in programs, and with what they train and test on.
namespace motet {

inline constexpr message unknown_option{"MT-X01", "there is no such option",
                                        "it is misspelt or belongs to another program",
                                        "--help lists all options"};
inline constexpr message option_without_value{"MT-X02", "an option lacks its value",
                                              "the command line ends, or the next word is an option",
                                              "Write the value after the option"};
inline constexpr message bad_option_value{"MT-X03", "the value of an option is not understood",
                                          "it is no number, out of range or not among the choices",
                                          "--help says what is possible"};
inline constexpr message option_missing{"MT-X04", "a required option is missing",
                                        "the program cannot choose it", "Add the option"};
inline constexpr message unexpected_word{"MT-X05", "a word on the command line belongs to no option",
                                         "a dash is missing, or a value has spaces",
                                         "Quote values with spaces; options begin with --"};
inline constexpr message word_without_reader{
    "MT-X06", "nobody reads this word of the command line",
    "it is misspelt, or one of the program's own that launch() was not told of",
    "launch() reads --ranks, --threads and --plan; a program names its own: launch(argc, argv, "
    "{\"--data\"})"};
inline constexpr message drawing_without_form{
    "MT-X07", "the name of a drawing does not say its form", "it has no ending, or one that is no drawing's",
    "End it in .svg for a picture, .json for a trace, .txt for lines of text, or .csv for the order alone"};
inline constexpr message bad_environment{"MT-X08", "a variable of the environment is not understood",
                                         "it is no number, or out of range",
                                         "Set it as docs/train.md says, or unset it"};

inline constexpr message vocabulary_mismatch{
    "MT-R04", "the vocabulary does not fit the model",
    "tokenizer.json has more tokens than the model, or differs from the one it was trained with",
    "Use the data's own vocabulary with a model made for it"};
inline constexpr message resume_mismatch{
    "MT-R05", "the saved run does not fit this command line", "a setting that decides the result was changed",
    "Give the saved run's settings, or start a new run in another --checkpoint folder"};
inline constexpr message no_held_out{"MT-R06", "there is nothing to test on",
                                     "no held-out picture has a class",
                                     "Make the data again, or train without --eval-every"};

inline constexpr message tools_messages[] = {unknown_option,       option_without_value, bad_option_value,
                                             option_missing,       unexpected_word,      word_without_reader,
                                             vocabulary_mismatch,  resume_mismatch,      no_held_out,
                                             drawing_without_form, bad_environment};

}  // namespace motet
