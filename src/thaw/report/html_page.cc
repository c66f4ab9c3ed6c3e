#include "thaw/report/html_page.h"

#define XXH_INLINE_ALL
#include <cmath>

#include <fmt/format.h>
#include <xxhash.h>

#include "thaw/report/printable.h"
#include "thaw/version.h"

namespace thaw::report {
namespace {

constexpr std::string_view kStyle =
#include "thaw/report/pages/page.css.inc"
    ;
constexpr std::string_view kSkeleton =
#include "thaw/report/pages/page.html.inc"
    ;

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
  if (!std::isfinite(number)) return HtmlCell("not finite", /*is_number=*/true);
  return HtmlCell(fmt::format("<data value=\"{}\">{:.3g}</data>", number, number), /*is_number=*/true);
}

HtmlCell HtmlCell::cosine(double cosine) {
  return HtmlCell(fmt::format("<data value=\"{}\">{:.6f}</data>", cosine, cosine), true);
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
  return fmt::format(kSkeleton, fmt::arg("policy", policy), fmt::arg("title", title_), fmt::arg("page_style", kStyle),
                     fmt::arg("own_style", style_), fmt::arg("body", body_), fmt::arg("version", html_text(kVersion)),
                     fmt::arg("scripts", scripts));
}

}  // namespace thaw::report
