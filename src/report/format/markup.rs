//! Text of HTML and SVG that cannot be broken out of: markup is what stands in the source of this program, everything else
//! is escaped on its way in. Called by all that writes HTML or SVG; knows no element by name.

use crate::clean;
pub use crate::clean::cut;
use std::fmt::Display;

/// Markup under construction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Markup(String);

impl Markup {
    pub fn new() -> Markup {
        Markup::default()
    }

    /// Markup as it stands in the source: only what is known at compile time can be passed.
    pub fn raw(&mut self, markup: &'static str) -> &mut Markup {
        self.0.push_str(markup);
        self
    }

    /// Text from anywhere, for the inside of an element or of a quoted attribute.
    pub fn text(&mut self, text: &str) -> &mut Markup {
        clean::markup(text, &mut self.0);
        self
    }

    /// An attribute with its value, after a space.
    pub fn attribute(&mut self, name: &'static str, value: &str) -> &mut Markup {
        self.raw(" ").raw(name).raw("=\"").text(value).raw("\"")
    }

    /// The same with a value that is a number or otherwise made by this program; it is escaped all the same.
    pub fn set(&mut self, name: &'static str, value: impl Display) -> &mut Markup {
        self.attribute(name, &value.to_string())
    }

    /// `<name>text</name>`
    pub fn element(&mut self, name: &'static str, text: &str) -> &mut Markup {
        self.raw("<").raw(name).raw(">").text(text).raw("</").raw(name).raw(">")
    }

    /// A stylesheet put together by this program: the one text that must stand as it is. `<` would end it, and is left out.
    pub fn unescaped_style(&mut self, rules: &str) -> &mut Markup {
        self.0.extend(rules.chars().filter(|c| *c != '<'));
        self
    }

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

/// At most two decimals, without zeros at the end.
pub fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_string() } else { text.to_string() }
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
        assert_eq!(Markup::new().attribute("title", "\" onload=\"x").as_str(), " title=\"&quot; onload=&quot;x\"");
    }

    #[test]
    fn control_characters_and_marks_of_direction_are_made_harmless() {
        assert_eq!(escaped("a\u{1b}[0m\u{0}b\nc"), "a\u{fffd}[0m\u{fffd}b c");
        assert_eq!(escaped("x\u{202e}y\u{2066}\u{200f}"), "x\u{fffd}y\u{fffd}\u{fffd}");
        assert_eq!(escaped("\u{ffff}\u{85}"), "\u{fffd}\u{fffd}");
        assert_eq!(escaped("µs … 日本"), "µs … 日本");
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([short(1.0), short(0.126), short(-0.001), short(100.5)], ["1", "0.13", "0", "100.5"]);
    }
}
