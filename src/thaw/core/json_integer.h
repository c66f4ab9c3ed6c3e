// Integers of JSON that somebody else may have written: nlohmann's own get() turns any number into one, and what it makes of
// 4e42 is undefined.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

namespace thaw {

// Throws nlohmann::json::type_error where it is a fraction, or no number.
inline int64_t integer_of(const nlohmann::json& json) {
  if (json.is_number_integer()) return json.get<int64_t>();
  throw nlohmann::json::type_error::create(302, "a number is no integer", &json);
}

inline int64_t integer_at(const nlohmann::json& object, const char* key) { return integer_of(object.at(key)); }

inline int64_t integer_at(const nlohmann::json& object, const char* key, int64_t otherwise) {
  return object.contains(key) ? integer_at(object, key) : otherwise;
}

}  // namespace thaw
