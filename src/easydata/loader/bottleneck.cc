#include "easydata/loader/bottleneck.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace easydata::loader {
namespace {

constexpr double kLargest = 1000;

std::string Tenths(double number) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f", number);
  return text;
}

}  // namespace

nlohmann::ordered_json Bottleneck::ToJson() const {
  return {{"bottleneck", name.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(name)},
          {"share", share},
          {"speedup_if_free", speedup_if_free},
          {"sentence", sentence}};
}

Bottleneck FindBottleneck(const std::map<std::string, double>& wait_seconds,
                          const std::map<std::string, double>& busy_seconds, bool prefetch,
                          double elsewhere) {
  double training = 0;
  double working = 0;  // of the workers
  for (const auto& [name, seconds] : busy_seconds)
    (name == "trainer" ? training : working) += seconds;
  double making = 0;  // of the thread that makes batches
  std::map<std::string, double> parts;
  for (const auto& [name, seconds] : wait_seconds) {
    if (name == "loader" || name == "trainer") continue;
    making += seconds;
    if (name != "workers" || working == 0) {
      parts[name] += seconds;
      continue;
    }
    for (const auto& [work, busy] : busy_seconds) {
      if (work != "trainer") parts[work] += seconds * busy / working;
    }
  }
  const auto pace = [&](double trainer, double maker) {
    return prefetch ? std::max(trainer + elsewhere, maker) : trainer + elsewhere + maker;
  };
  const double now = pace(training, making);
  Bottleneck out;
  if (now <= 0) {
    out.sentence = "Nothing was measured yet: take some batches first.";
    return out;
  }
  parts["trainer"] = training;
  double best = -1;
  for (const auto& [name, seconds] : parts) {
    const double free = name == "trainer" ? pace(0, making) : pace(training, making - seconds);
    const double speedup = std::min(kLargest, now / std::max(free, now / kLargest));
    const double share = std::min(1.0, seconds / now);
    if (std::make_pair(speedup, share) <= std::make_pair(best, out.share)) continue;
    best = speedup;
    out.name = name;
    out.share = share;
    out.speedup_if_free = speedup;
  }
  const std::string percent = std::to_string(std::lround(out.share * 100)) + " % of the time";
  if (out.name == "trainer") {
    out.sentence = "The trainer sets the pace: what is done between two batches takes " + percent +
                   "; the loader could give batches " + Tenths(out.speedup_if_free) +
                   " times as fast.";
  } else {
    out.sentence = "\"" + out.name + "\" sets the pace: it takes " + percent +
                   "; if it were free, batches would come " + Tenths(out.speedup_if_free) +
                   " times as fast.";
  }
  return out;
}

}  // namespace easydata::loader
