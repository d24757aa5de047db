//! Sentences for people: long lists of names shortened, and text broken into lines. Pure, and below everything else.

use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// `a, b and 3 more`: the first `most` names, and the number of the others. Empty for none.
pub fn some<T: AsRef<str>>(names: &[T], most: usize) -> String {
    let shown = names.iter().take(most).map(AsRef::as_ref).collect::<Vec<&str>>().join(", ");
    match names.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// `1 row`, `2 rows`
pub fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Lines of at most `width` characters, broken between words: the first begins with `first`, the others with `rest`. A word
/// that is longer than a line is not broken.
pub fn wrapped(text: &str, width: usize, first: &str, rest: &str) -> Vec<String> {
    // Names hold hyphens and paths: a line ends at spaces only.
    let options = Options::new(width)
        .initial_indent(first)
        .subsequent_indent(rest)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::wrap(text, options).into_iter().map(|line| line.into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_names_are_shown_and_the_others_counted() {
        assert_eq!([some(&["a", "b", "c"], 3), some(&["a", "b", "c"], 1)], ["a, b, c", "a and 2 more"]);
        assert_eq!(some::<String>(&[], 3), "");
    }

    #[test]
    fn lines_break_between_words_only() {
        assert_eq!(wrapped("one two three", 12, "    ", "      "), ["    one two", "      three"]);
        assert_eq!(wrapped("clock_nanosleep-absolute x1", 10, "", "  "), ["clock_nanosleep-absolute", "  x1"]);
        assert_eq!(wrapped("  an indent stays", usize::MAX, "", ""), ["  an indent stays"]);
        assert_eq!(wrapped("", 10, "", "  "), [""]);
    }
}
