// SPDX-License-Identifier: Apache-2.0
// Three steps of AdamW on adapters beside a Hugging Face language model, whose config import_hf printed and
// whose adapters the peft package wrote. tests/tools/hf_adapters.py compiles it for each model.
//   peft_steps MODEL ADAPTERS TEXT OUTPUT RUN
// TEXT has a sample in each line: its tokens, the last of which are asked for. OUTPUT becomes a folder of
// adapters, RUN a run with a checkpoint; loss and gradient norm of each step go to standard output.
#include <adapted_model.hpp>

#include <motet/format/hf/hf_decoder_tensors.hpp>
#include <motet/format/hf/peft_adapters.hpp>
#include <motet/front/trainer.hpp>
#include <motet/model/describe.hpp>

#include <cstdio>
#include <fstream>
#include <sstream>

using namespace motet;

using talk = model<join<next_token, module<"talk", decoder<adapted_model>>>>;

namespace {

// A program owns what a batch views.
struct text {
  std::vector<std::int32_t> ids, targets;
  std::vector<isize> offsets{0};
  isize asked = 0;
  explicit text(const char* path) {
    std::ifstream lines(path);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      const std::size_t begin = ids.size();
      for (std::int32_t id = 0; words >> id;) ids.push_back(id);
      for (std::size_t i = begin; i < ids.size(); ++i)
        targets.push_back(i + 1 < ids.size() ? ids[i + 1] : -1);
      asked += static_cast<isize>(ids.size() - begin) - 1;
      offsets.push_back(static_cast<isize>(ids.size()));
    }
  }
  isize samples() const { return static_cast<isize>(offsets.size()) - 1; }
  labelled_tokens get() const {
    return {{ids.data(), {samples(), 0, offsets.data()}}, targets.data(), 1 / static_cast<double>(asked)};
  }
};

}  // namespace

int main(int, char** words) try {
  const char* const alone[] = {"peft_steps", "--threads", "2"};
  const auto world = launch(3, alone);
  const text data(words[3]);
  trainer<talk> train(world, {.batch = data.samples(),
                              .optimizer = {.beta2 = 0.95, .epsilon = 1e-2, .decay = 0.1, .clip = 0}});
  flat_state<float> state = train.state();
  std::vector<loaded_tensor> weights, adapters;
  for (const parameter& each : talk::parameters())
    (each.offset < talk::trainable_size ? adapters : weights)
        .push_back({each.name,
                    each.vector ? std::vector<isize>{each.width} : std::vector<isize>{each.rows, each.width},
                    state.weights.data() + each.offset});
  const auto map = hf_decoder_tensors(read_hf_decoder_config(std::filesystem::path(words[1])), "talk");
  const peft_adapters of =
      describe_as_peft(describe<talk>().at("modules").items()[0].at("net").at("adapters"));
  load_hf_tensors(tensor_set(words[1]), map, weights);
  load_peft_adapters(words[2], map, of, adapters);
  train.set_state(state);
  for (int step = 0; step < 3; ++step) {
    const step_result done = train.step({data.get()}, 1e-2);
    std::printf("%.9g %.9g\n", done.loss, done.gradient_norm);
  }
  const std::vector<float> learned = train.weights();
  std::vector<saved_tensor> written;
  for (const parameter& each : talk::parameters())
    if (each.offset < talk::trainable_size)
      written.push_back({each.name, {each.rows, each.width}, learned.data() + each.offset});
  save_peft_adapters(words[4], map, of, written, words[1]);
  train.save(words[5], "adapted");
} catch (const std::exception& problem) {
  return report_failure(problem);
}
