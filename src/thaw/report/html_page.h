// One self-contained HTML page: headings, sentences, tables. It needs no network, follows the reader's light or dark scheme, and
// says all that it has to say without a script, which one that draws or sorts may bring.
//
//   HtmlPage page("thaw batch: model.onnx");
//   page.sentence("Every sample's result is the model's.");
//   page.table({"input", "one sample"}, {{HtmlCell::code("x"), HtmlCell::code("[1, 3, h, w]")}});
//   std::string html = page.finish();
//
// Text is a model's, so anybody's bytes: whatever goes in is shown as text, never read as markup. Control characters,
// bad UTF-8 and characters that turn the direction of writing are shown as escapes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace thaw::report {

// `text` as the content of an element or of a quoted attribute.
std::string html_text(std::string_view text);

enum class Outcome : uint8_t { kGood, kBad, kOpen };

// What stands in a cell of a table.
class HtmlCell {
 public:
  static HtmlCell text(std::string_view text);
  static HtmlCell code(std::string_view text);  // names, shapes, expressions
  static HtmlCell number(double number);        // three digits to read, all of them in the markup
  static HtmlCell cosine(double cosine);        // six digits, as 0.999999 is not 1
  static HtmlCell count(uint64_t number);       // aligned to the right
  static HtmlCell verdict(Outcome verdict, std::string_view text);
  // The first few lines, the others behind a "… more" that opens without a script.
  static HtmlCell list(const std::vector<std::string>& lines, size_t shown = 3);

  const std::string& html() const { return html_; }
  bool is_number() const { return is_number_; }

 private:
  explicit HtmlCell(std::string html, bool is_number = false) : html_(std::move(html)), is_number_(is_number) {}
  std::string html_;
  bool is_number_;
};

class HtmlPage {
 public:
  explicit HtmlPage(std::string_view title);

  // A word in a coloured frame and a sentence after it, at the top.
  void verdict(Outcome verdict, std::string_view word, std::string_view sentence);
  void heading(std::string_view text);
  void sentence(std::string_view text);
  // Rows shorter than the columns are filled with empty cells. `id`: what a script finds it by.
  void table(const std::vector<std::string>& columns, const std::vector<std::vector<HtmlCell>>& rows,
             std::string_view id = {});

  // Of the page's own, nobody else's text: markup, rules over those that every page has, scripts in their order.
  void markup(std::string_view html) { body_ += html; }
  void style(std::string_view css) { style_ += css; }
  void script(std::string_view code) { scripts_.emplace_back(code); }
  // JSON for a script to read, which may hold anybody's text.
  void data(std::string_view id, std::string_view json);

  std::string finish() const;  // the whole page

 private:
  std::string body_, title_, style_;
  std::vector<std::string> scripts_;
};

}  // namespace thaw::report
