// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "listen.hpp"

#include <motet/tools/data_uri.hpp>
#include <motet/tools/progress.hpp>
#include <motet/tools/report.hpp>

// What goes onto the report's page.
namespace motet::train_clip {

inline std::vector<section_share> shares(const step_costs& costs) {
  std::vector<section_share> out;
  for (const section_cost& each : costs)
    if (each.seconds > 0) out.push_back({costs.path(each), each.seconds});
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  return out;
}

// What the loss multiplies similarities by; all processes ask.
inline double scale_of(session& model) {
  const std::vector<float> weights = model.weights();
  for (const parameter& each : model.parameters())
    if (each.name == "join.log_scale")
      return std::exp(static_cast<double>(weights[static_cast<std::size_t>(each.offset)]));
  return 1 / 0.07;
}

// Probabilities of all captions for one picture, as the loss sees them.
inline std::vector<report_guess> best_captions(const held_out_pairs& test, index at, double scale,
                                               std::size_t count) {
  const float* const own = test.picture_features(at);
  std::vector<std::pair<double, index>> all;
  double most = -1e30, sum = 0;
  for (index c = 0; c < test.answers(); ++c) {
    const float* const other = test.answer_features(c);
    double product = 0;
    for (index k = 0; k < test.width(); ++k)
      product += static_cast<double>(own[k]) * static_cast<double>(other[k]);
    all.emplace_back(scale * product, c);
    most = std::max(most, scale * product);
  }
  for (auto& [score, which] : all) sum += std::exp(score - most);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::vector<report_guess> out;
  for (std::size_t i = 0; i < std::min(count, all.size()); ++i)
    out.push_back(
        {test.answer(all[i].second), std::exp(all[i].first - most) / sum, test.is_right(at, all[i].second)});
  return out;
}

inline double number_of(const json& line, const char* name) {
  const json* found = line.find(name);
  return found != nullptr && found->is_number() ? found->number() : std::numeric_limits<double>::quiet_NaN();
}

inline void write_report(const std::filesystem::path& path, const settings& s, session& model,
                         const held_out* test, const test_result& found, double scale,
                         const std::vector<section_share>& split, const std::vector<json>& metrics) {
  const model_facts& facts = model.facts();
  report_page page;
  page.title = "Training " + facts.name;
  page.subtitle = std::to_string(model.updates()) + " steps of " + std::to_string(s.batch) +
                  (facts.speaks ? " samples, loss " : " pairs, loss ") + facts.loss + ", precision " +
                  facts.precision;

  report_curve loss{{"Loss", "loss"}, {}}, accuracy{{"Zero-shot accuracy", "accuracy"}, {}},
      retrieved{{"Own captions found first", "retrieval"}, {}},
      told{{"Held-out pictures that are called what they are", "captions"}, {}},
      norm{{"Gradient norm", "norm"}, {}}, rate{{"Learning rate", "rate"}, {}},
      speed{{"Samples a second", "speed"}, {}};
  loss.config.smooth = norm.config.smooth = speed.config.smooth = true;
  accuracy.config.low = 0;
  accuracy.config.high = 1;
  accuracy.config.dots = accuracy.config.percent = true;
  retrieved.config = accuracy.config;
  retrieved.config.title = "Held-out pictures whose own caption comes first";
  told.config = retrieved.config;
  told.config.title = "Held-out pictures that are called what they are";
  rate.config.low = norm.config.low = speed.config.low = 0;
  double seconds = 0, samples_per_second = 0, last_loss = NAN;
  for (const json& line : metrics) {
    const double step = number_of(line, "step");
    const auto add = [&](report_curve& to, const char* name) {
      const double value = number_of(line, name);
      if (std::isfinite(value) && (to.points.empty() || to.points.back().first < step))
        to.points.emplace_back(step, value);
    };
    add(loss, "loss");
    add(norm, "gradient_norm");
    add(rate, "learning_rate");
    add(speed, "samples_per_second");
    add(accuracy, "zero_shot_accuracy");
    add(retrieved, "caption_within_1");
    add(told, "caption_accuracy");
    if (line.find("loss") != nullptr) {
      seconds += number_of(line, "seconds");
      last_loss = number_of(line, "loss");
    }
  }
  if (seconds > 0)
    samples_per_second = static_cast<double>(loss.points.size()) * static_cast<double>(s.batch) / seconds;
  char text[64];
  const auto headline = [&](const char* format, double value, const char* label) {
    std::snprintf(text, sizeof text, format, value);
    page.headline.push_back({text, label});
  };
  if (found.classes.pictures > 0) headline("%.1f %%", 100 * found.classes.accuracy(), "zero-shot accuracy");
  if (found.pairs.samples > 0) headline("%.1f %%", 100 * found.pairs.picture_share(0), "own caption first");
  if (found.captions.pictures > 0) headline("%.1f %%", 100 * found.captions.accuracy(), "caption accuracy");
  if (found.several.pictures > 0)
    headline("%.1f %%", 100 * found.several.exact_share(), "of several pictures, to the word");
  headline("%.4f", last_loss, "last loss");
  headline("%.0f", samples_per_second, "samples a second");
  page.headline.push_back({clock_text(seconds), "in steps"});
  headline("%.2f M", static_cast<double>(facts.parameters) / 1e6, "parameters");
  page.headline.push_back({bytes_text(static_cast<double>(peak_memory())), "peak memory"});
  page.curves = {std::move(loss), std::move(accuracy), std::move(retrieved), std::move(told),
                 std::move(norm), std::move(rate),     std::move(speed)};
  // Accuracy is there where classes are.
  std::erase_if(page.curves, [](const report_curve& each) { return each.points.empty(); });
  page.sections = split;

  constexpr index most = 60;
  if (const auto* const said = dynamic_cast<const held_out_samples*>(test); said != nullptr) {
    const index all = said->told(), shown = std::min(most, all);
    for (index i = 0; i < shown; ++i) {
      const index at = all * i / shown;
      page.pictures.push_back({data_uri(said->shot(at)),
                               said->caption(at),
                               {{said->said(at), report_guess::alone, said->is_told_right(at)}}});
    }
    page.pictures_note =
        std::to_string(shown) + " of " + std::to_string(all) +
        " samples that training never saw, each with what the model says about it. Green "
        "where that names what there is, or where there are several pictures or none, is right "
        "to the word. Below, in grey, its own caption.";
  }
  if (const auto* const pairs = dynamic_cast<const held_out_pairs*>(test); pairs != nullptr) {
    const index all = pairs->size(), shown = std::min(most, all);
    for (index i = 0; i < shown; ++i) {
      const index at = all * i / shown;
      page.pictures.push_back(
          {data_uri(pairs->shot(at)), pairs->caption(at), best_captions(*pairs, at, scale, 3)});
    }
    page.pictures_note =
        std::to_string(shown) + " of " + std::to_string(all) +
        " pictures that training never saw, each with the three nearest of " +
        std::to_string(pairs->answers()) +
        (test->classes().size() > 0
             ? " captions, one for each class. Green is the picture's class. Below, in grey, "
               "what the picture was drawn from."
             : " held-out captions. Green is its own. Below, in grey, its own caption.");
  }
  const auto fact = [&](const char* name, std::string value) {
    page.facts.emplace_back(name, std::move(value));
  };
  fact("machine", model.machine());
  fact("data", s.data);
  fact(facts.speaks ? "eye" : "picture tower",
       std::to_string(facts.picture.layers) + " layers of width " + std::to_string(facts.picture.width) +
           ", " + std::to_string(facts.picture.heads) + " heads, pictures of " +
           std::to_string(facts.picture.image) + " x " + std::to_string(facts.picture.image) +
           " in patches of " + std::to_string(facts.picture.patch));
  fact(facts.speaks ? "language model" : "caption tower",
       std::to_string(facts.caption.layers) + " layers of width " + std::to_string(facts.caption.width) +
           ", " + std::to_string(facts.caption.heads) + " heads, at most " +
           std::to_string(facts.caption.context) + " of " + std::to_string(facts.caption.vocabulary) +
           " tokens");
  if (!facts.speaks) fact("embedding", std::to_string(facts.picture.embedding));
  fact("command", s.command);
  fact("settings", write_json(saved_settings(s)));
  motet::write_report(path, page);
}

}  // namespace motet::train_clip
