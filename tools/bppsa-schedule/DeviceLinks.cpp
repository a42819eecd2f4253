//===- DeviceLinks.cpp - devices with unequal links -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "DeviceLinks.h"
#include "bppsa/Runtime/Error.h"
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace bppsa;
using namespace bppsa::schedule;
using bppsa::runtime::fail;
using bppsa::runtime::quote;
using bppsa::runtime::text;
using bppsa::runtime::UsageError;
using nlohmann::json;

Links bppsa::schedule::readLinks(const std::string &path, int32_t devices) {
  std::ifstream file(path);
  if (!file)
    fail("--links: cannot read ", quote(path), "; accepted is a JSON file");
  json rows = json::parse(file, nullptr, /*allow_exceptions=*/false);
  auto isList = [&](const json &list) {
    return list.is_array() && list.size() == static_cast<size_t>(devices);
  };
  auto refuse = [&] {
    fail(path, ": must be a list of ", devices, " lists of ", devices,
         " times, one for each of the --stages: numbers from 0 to 1e12");
  };
  if (!isList(rows))
    refuse();
  Links links;
  for (const json &row : rows) {
    if (!isList(row))
      refuse();
    std::vector<double> &times = links.emplace_back();
    for (const json &time : row) {
      if (!time.is_number() || !(time.get<double>() >= 0 && time.get<double>() <= 1e12))
        refuse();
      times.push_back(time.get<double>());
    }
  }
  for (int32_t from = 0; from < devices; ++from)
    for (int32_t to = 0; to < from; ++to)
      if (links[from][to] != links[to][from])
        fail(path, ": a link must take as long both ways, found ", links[from][to], " from device ",
             from, " to ", to, " and ", links[to][from], " back");
  return links;
}

std::vector<int32_t> bppsa::schedule::parseDeviceOrder(const std::string &word, int32_t devices) {
  std::vector<int32_t> order;
  std::vector<bool> isNamed(devices, false);
  bool isOrder = true;
  std::istringstream parts(word);
  for (std::string part; isOrder && std::getline(parts, part, ',');) {
    int32_t device = -1;
    auto [rest, error] = std::from_chars(part.data(), part.data() + part.size(), device);
    isOrder = error == std::errc() && rest == part.data() + part.size() && device >= 0 &&
              device < devices && !isNamed[device];
    if (!isOrder)
      break;
    isNamed[device] = true;
    order.push_back(device);
  }
  if (!isOrder || static_cast<int32_t>(order.size()) != devices)
    throw UsageError(text("--device-order: found ", quote(word), ", expected the devices 0 to ",
                          devices - 1, ", each once, with commas between them"));
  return order;
}
