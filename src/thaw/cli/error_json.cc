#include "thaw/cli/error_json.h"

namespace thaw::cli {

void write_error(report::JsonWriter& json, const Error& error) {
  const ErrorParts& parts = error.parts();
  json.member_object("error");
  json.member("code", name_of(error.code()));
  json.member("what", parts.what);
  json.member("where", parts.where);
  json.member("expected", parts.expected);
  json.member("next", parts.next);
  json.end_object();
}

}  // namespace thaw::cli
