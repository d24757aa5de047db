//! Builds HTML and SVG: only literals of this program are markup, everything else is escaped.

use model::clean;
pub use model::clean::cut;
use std::fmt::Display;

#[derive(Default)]
pub struct Markup(String);

impl Markup {
    pub fn new() -> Markup {
        Markup::default()
    }

    /// Appends markup. Only string literals of the program have the type `&'static str`, so text from files cannot get here.
    pub fn raw(&mut self, markup: &'static str) -> &mut Markup {
        self.0.push_str(markup);
        self
    }

    /// Escapes it for the inside of an element or of a quoted attribute.
    pub fn text(&mut self, text: &str) -> &mut Markup {
        clean::markup(text, &mut self.0);
        self
    }

    /// Appends an attribute to the open tag, with its value escaped.
    pub fn set(&mut self, name: &'static str, value: impl Display) -> &mut Markup {
        self.raw(" ")
            .raw(name)
            .raw("=\"")
            .text(&value.to_string())
            .raw("\"")
    }

    /// Appends an element that contains only text, which is escaped.
    pub fn element(&mut self, name: &'static str, text: &str) -> &mut Markup {
        self.raw("<")
            .raw(name)
            .raw(">")
            .text(text)
            .raw("</")
            .raw(name)
            .raw(">")
    }

    /// A stylesheet made by this program, the only text that is not escaped. `<`, which could end it, is removed.
    pub fn unescaped_style(&mut self, rules: &str) -> &mut Markup {
        self.0.extend(rules.chars().filter(|c| *c != '<'));
        self
    }

    /// For the inside of a `script` element that holds data: `<`, which could end it, is written as an escape.
    pub fn json(&mut self, document: &str) -> &mut Markup {
        self.0.push_str(&document.replace('<', "\\u003c"));
        self
    }

    /// Appends markup that was built separately, and so is already escaped.
    pub fn add(&mut self, other: &Markup) -> &mut Markup {
        self.0.push_str(&other.0);
        self
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// At most two decimals, without trailing zeros.
pub fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" {
        "0".to_string()
    } else {
        text.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(text: &str) -> String {
        Markup::new().text(text).as_str().to_string()
    }

    #[test]
    fn nothing_gets_out_of_text_or_attribute() {
        assert_eq!(
            escaped("</script><img src=x onerror='a(\"b\")'>&"),
            "&lt;/script&gt;&lt;img src=x onerror=&#39;a(&quot;b&quot;)&#39;&gt;&amp;"
        );
        assert_eq!(
            Markup::new().set("title", "\" onload=\"x").as_str(),
            " title=\"&quot; onload=&quot;x\""
        );
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [short(1.0), short(0.126), short(-0.001), short(100.5)],
            ["1", "0.13", "0", "100.5"]
        );
    }
}
