#include "thaw/report/html_page.h"

#define XXH_INLINE_ALL
#include <cmath>

#include <fmt/format.h>
#include <xxhash.h>

#include "thaw/report/printable.h"
#include "thaw/version.h"

namespace thaw::report {
namespace {

// Colours are the reader's scheme's; widths are in characters, so that long names wrap and wide tables scroll alone.
constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --ink: #1c1e21; --soft: #5a6068; --line: #d8dce1; --paper: #ffffff; --band: #f4f6f8;
  --good: #116b34; --bad: #b3221b; --open: #8a5a00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --soft: #a2a9b2; --line: #3a4047; --paper: #16181b;
  --band: #1f2327; --good: #6fce8f; --bad: #ff8a80; --open: #f0c060; } }
body { margin: 2rem auto; max-width: 76rem; padding: 0 1rem; color: var(--ink); background: var(--paper);
  font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.4rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; overflow-wrap: anywhere; }
p { overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; min-width: 40%; }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem .4rem; border-bottom: 1px solid var(--line);
  max-width: 44ch; overflow-wrap: break-word; unicode-bidi: isolate; }
th { color: var(--soft); font-weight: 600; }
tbody tr:nth-child(even) { background: var(--band); }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
code { font: .9em/1.5 ui-monospace, monospace; overflow-wrap: anywhere; }
ul { margin: 0; padding: 0; list-style: none; }
summary { color: var(--soft); cursor: pointer; }
.verdict { font-weight: 600; }
.mark { border: 1px solid; border-radius: .3rem; padding: .1rem .5rem; margin-right: .5rem; }
.good { color: var(--good); }
.bad { color: var(--bad); }
.open { color: var(--open); }
pre { overflow-wrap: anywhere; white-space: pre-wrap; background: var(--band); padding: .5rem; }
@media (max-width: 40rem) {
  .cards table, .cards tbody, .cards tr, .cards td { display: block; max-width: none; }
  .cards thead { display: none; }
  .cards tr { border: 1px solid var(--line); border-radius: .3rem; margin: 0 0 .8rem; padding: .2rem .4rem; }
  .cards tr[hidden] { display: none; }
  .cards td { border: 0; padding: .15rem 0; }
  .cards td.number { text-align: left; }
  .cards td:empty { display: none; }
  .cards td::before { content: attr(data-column) " "; color: var(--soft); font-weight: 600; }
}
footer { margin-top: 3rem; color: var(--soft); font-size: .85rem; }
)";

std::string_view class_of(Outcome verdict) {
  return verdict == Outcome::kGood ? "good" : verdict == Outcome::kBad ? "bad" : "open";
}

std::string items(const std::vector<std::string>& lines, size_t begin, size_t end) {
  std::string html = "<ul>";
  for (size_t i = begin; i < end; ++i) html += fmt::format("<li><code>{}</code></li>", html_text(lines[i]));
  return html + "</ul>";
}

// A column is called after a file where it holds what was in it; it need not be as wide as the file's name.
std::string with_breaks(std::string_view text) {
  std::string html;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (std::string_view("_-./").find(text[i]) == std::string_view::npos) continue;
    html += html_text(text.substr(begin, i + 1 - begin)) + "<wbr>";
    begin = i + 1;
  }
  return html + html_text(text.substr(begin));
}

}  // namespace

std::string html_text(std::string_view text) {
  const std::string shown = printable(text);
  std::string html;
  html.reserve(shown.size());
  for (size_t i = 0; i < shown.size();) {
    const size_t length = utf8_length(std::string_view(shown).substr(i));  // never 0: printable() left no bad bytes
    const std::string_view character = std::string_view(shown).substr(i, length);
    switch (character[0]) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += character;
    }
    i += length;
  }
  return html;
}

HtmlCell HtmlCell::text(std::string_view text) { return HtmlCell(html_text(text)); }

HtmlCell HtmlCell::code(std::string_view text) { return HtmlCell(fmt::format("<code>{}</code>", html_text(text))); }

HtmlCell HtmlCell::number(double number) {
  if (!std::isfinite(number)) return HtmlCell("cannot be told", /*is_number=*/true);
  return HtmlCell(fmt::format("<data value=\"{}\">{:.3g}</data>", number, number), /*is_number=*/true);
}

HtmlCell HtmlCell::count(uint64_t number) {
  return HtmlCell(fmt::format("<data value=\"{}\">{}</data>", number, grouped(number)), /*is_number=*/true);
}

HtmlCell HtmlCell::verdict(Outcome verdict, std::string_view text) {
  return HtmlCell(fmt::format("<span class=\"{}\">{}</span>", class_of(verdict), html_text(text)));
}

HtmlCell HtmlCell::list(const std::vector<std::string>& lines, size_t shown) {
  if (lines.size() <= shown + 1) return HtmlCell(items(lines, 0, lines.size()));
  return HtmlCell(fmt::format("{}<details><summary>and {} more</summary>{}</details>", items(lines, 0, shown),
                              grouped(lines.size() - shown), items(lines, shown, lines.size())));
}

HtmlPage::HtmlPage(std::string_view title) : title_(html_text(title)) {}

void HtmlPage::verdict(Outcome verdict, std::string_view word, std::string_view sentence) {
  body_ += fmt::format("<p><span class=\"verdict mark {}\">{}</span>{}</p>\n", class_of(verdict), html_text(word),
                       html_text(sentence));
}

void HtmlPage::heading(std::string_view text) { body_ += fmt::format("<h2>{}</h2>\n", html_text(text)); }

void HtmlPage::sentence(std::string_view text) { body_ += fmt::format("<p>{}</p>\n", html_text(text)); }

void HtmlPage::table(const std::vector<std::string>& columns, const std::vector<std::vector<HtmlCell>>& rows,
                     std::string_view id) {
  const std::string named = id.empty() ? "" : fmt::format(" id=\"{}\"", html_text(id));
  // Where the window is narrow each row becomes a card.
  body_ += fmt::format("<div class=\"wide cards\" tabindex=\"0\"><table{}>\n<thead><tr>", named);
  for (const std::string& column : columns) body_ += fmt::format("<th scope=\"col\">{}</th>", with_breaks(column));
  body_ += "</tr></thead>\n<tbody>\n";
  for (const std::vector<HtmlCell>& row : rows) {
    body_ += "<tr>";
    for (size_t i = 0; i < row.size(); ++i)
      body_ += fmt::format("<td{} data-column=\"{}\">{}</td>", row[i].is_number() ? " class=\"number\"" : "",
                           i < columns.size() ? html_text(columns[i]) : std::string(), row[i].html());
    for (size_t i = row.size(); i < columns.size(); ++i) body_ += "<td></td>";
    body_ += "</tr>\n";
  }
  body_ += "</tbody>\n</table></div>\n";
}

void HtmlPage::data(std::string_view id, std::string_view json) {
  body_ += fmt::format("<script type=\"application/json\" id=\"{}\">", html_text(id));
  // What would end the element stands in JSON's strings alone, where an escape means the same.
  for (const char c : json) {
    if (c == '<') {
      body_ += "\\u003c";
    } else {
      body_ += c;
    }
  }
  body_ += "</script>\n";
}

std::string HtmlPage::finish() const {
  // The policy forbids what the page has no need of, should anything in it ever be read as markup: of scripts, all but those
  // that carry a word which nothing in the page can know.
  std::string policy = "default-src 'none'; style-src 'unsafe-inline'", scripts;
  if (!scripts_.empty()) {
    const XXH128_hash_t hash = XXH3_128bits(body_.data(), body_.size());
    const std::string word = fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
    policy += fmt::format("; script-src 'nonce-{}'", word);
    for (const std::string& code : scripts_) scripts += fmt::format("<script nonce=\"{}\">{}</script>\n", word, code);
  }
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<style>{}{}</style>\n</head>\n<body>\n<main>\n<h1>{}</h1>\n{}</main>\n"
      "<footer>Written by thaw {}.</footer>\n{}</body>\n</html>\n",
      policy, title_, kStyle, style_, title_, body_, html_text(kVersion), scripts);
}

}  // namespace thaw::report
