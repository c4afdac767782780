// SPDX-License-Identifier: Apache-2.0
// Chips as cuDNN is told of them where there is none (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION).
#pragma once

#include <string>

namespace motet::chips {

struct properties {
  const char* name;
  int compute;  // 900: 9.0
  int processors, shared_memory;
  long long memory;
  int cache, clock, memory_clock;  // bytes, kHz
};
inline constexpr properties h200{"NVIDIA H200", 900, 132, 232448, 150754820096, 62914560, 1980000, 3201000};
inline constexpr properties a100{
    "NVIDIA A100-SXM4-80GB", 800, 108, 166912, 85094825984, 41943040, 1410000, 1593000};

inline std::string json(const properties& chip) {
  std::string made = "{";
  const auto number = [&](const char* key, long long value) {
    made += std::string("\"") + key + "\":" + std::to_string(value) + ",";
  };
  number("cudaDeviceId", 0), number("pciDeviceId", 0), number("isTccDriver", 0),
      number("supportCoopLaunch", 1), number("driverVer", 13000);
  number("deviceVer", chip.compute), number("multiProcessorCount", chip.processors), number("warpSize", 32),
      number("regsPerBlock", 65536);
  number("maxRegistersPerSM", 65536), number("maxCtasPerSM", 32), number("maxThreadsPerBlock", 1024),
      number("maxThreadsPerSM", 2048);
  number("maxSharedMemoryPerBlock", 49152), number("maxSharedMemoryPerBlockOptin", chip.shared_memory),
      number("reservedSharedMemoryPerBlock", 1024);
  number("totalGlobalMem", chip.memory), number("l2CacheSize", chip.cache),
      number("smClockRateKHz", chip.clock);
  number("memClockRateKHz", chip.memory_clock);
  return made + "\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64],\"deviceName\":\"" +
         chip.name + "\"}";
}

}  // namespace motet::chips
