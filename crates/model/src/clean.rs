//! Makes text from outside (files, other programs, the command line) safe for output: one function per format.
//!
//! Records and tables hold text unchanged. The writer of each format cleans it, so that no new table can forget to; messages are
//! cleaned when they are composed, and again by `cli`. JSON escapes its strings and keeps every byte.
//!
//! Each harmful character becomes one U+FFFD, so that columns stay aligned; line ends and tabs become spaces.

const REPLACEMENT: char = '\u{fffd}';

/// Whether `c` can move the cursor, reorder or hide text, or break a line: control characters, bidirectional marks, zero-width
/// characters, line and paragraph separators, tags, and characters that XML does not allow.
fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fdd0}'..='\u{fdef}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e007f}')
        || u32::from(c) & 0xfffe == 0xfffe
}

fn shown(c: char) -> char {
    match c {
        '\n' | '\r' | '\t' => ' ',
        c if is_harmful(c) => REPLACEMENT,
        c => c,
    }
}

/// For a terminal and line-based formats: one line, with as many characters as `text`.
pub fn line(text: &str) -> String {
    text.chars().map(shown).collect()
}

/// For a quotation in a message: one line, with `...` if some characters are missing.
pub fn excerpt(text: &str, most: usize) -> String {
    let mut quoted: String = text.chars().take(most).map(shown).collect();
    if text.chars().nth(most).is_some() {
        quoted.push_str("...");
    }
    quoted
}

/// The last character is an ellipsis if some are missing.
pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_string(),
        Some(_) => text
            .chars()
            .take(most.saturating_sub(1))
            .chain(['…'])
            .collect(),
    }
}

/// A spreadsheet takes text that begins with one of these characters for a formula, so it gets an apostrophe in front. Numbers
/// and a single sign do not. Line ends and tabs stay.
pub fn csv(cell: &str) -> String {
    fn stays(c: char) -> bool {
        matches!(c, '\n' | '\t')
    }

    // Spreadsheets accept the full-width signs of East Asian keyboards too.
    const FORMULA: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];
    let is_formula =
        cell.starts_with(FORMULA) && cell.chars().nth(1).is_some() && cell.parse::<f64>().is_err();
    let text = cell.chars().map(|c| if stays(c) { c } else { shown(c) });
    is_formula.then_some('\'').into_iter().chain(text).collect()
}

/// Within a line: markup is escaped, and nothing becomes a link, not even what GitHub links by itself (addresses, @names).
pub fn markdown(text: &str) -> String {
    let text = line(text);
    let mut written = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let (before, rest) = (&text[..at], &text[at + c.len_utf8()..]);
        match c {
            // Escaping it does not prevent a link; inline code does.
            '@' if rest.starts_with(char::is_alphanumeric) => written.push_str("`@`"),
            c => {
                written.extend(is_markup(before, c, rest).then_some('\\'));
                written.push(c);
            }
        }
    }
    written
}

fn is_markup(before: &str, c: char, rest: &str) -> bool {
    match c {
        '\\' | '|' | '*' | '`' | '<' | '[' | '&' => true,
        '_' => !before.ends_with(char::is_alphanumeric) || !rest.starts_with(char::is_alphanumeric),
        // Before a number it means "about".
        '~' => !rest.starts_with(|c: char| c.is_ascii_digit()),
        // A scheme makes a link; with an escaped colon it does not.
        ':' => rest.starts_with("//"),
        // GitHub links addresses that begin with `www.`, without a scheme.
        '.' => {
            before.len() >= 3 && before.as_bytes()[before.len() - 3..].eq_ignore_ascii_case(b"www")
        }
        _ => false,
    }
}

/// A whole paragraph or list item: its beginning does not make it a heading, a quotation or a list.
pub fn markdown_line(text: &str) -> String {
    let text = markdown(text.trim_start());
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let mut rest = text[digits..].chars();
    let begins = match (rest.next(), rest.next()) {
        (Some('>'), _) => digits == 0,
        // A sign directly before a word or a number is not markup.
        (Some(sign @ ('#' | '-' | '+')), next) => {
            digits == 0 && next.is_none_or(|c| c == ' ' || c == sign)
        }
        (Some('.' | ')'), next) => digits > 0 && next.is_none_or(|c| c == ' '),
        _ => false,
    };
    if begins {
        format!("{}\\{}", &text[..digits], &text[digits..])
    } else {
        text
    }
}

/// For an element or a quoted attribute of HTML and SVG.
pub fn markup(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(shown(c)),
        }
    }
}

/// For a format that separates words by white space.
pub fn word(text: &str) -> String {
    line(text)
        .chars()
        .map(|c| if c.is_whitespace() { '_' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Characters that are replaced, and similar ones that are not.
    const HARMFUL: &str = "\u{0}\u{7}\u{8}\u{1b}\u{7f}\u{85}\u{9b}\u{ad}\u{61c}\u{200b}\u{200d}\u{200e}\u{2028}\u{2029}\
                           \u{202a}\u{202e}\u{2060}\u{2066}\u{2069}\u{feff}\u{fffe}\u{1ffff}\u{e0001}\u{e0041}";
    const HARMLESS: &str = "aé µs … 日本 e\u{301} 🦀 ❤\u{fe0f} العربية ~^";

    #[test]
    fn harmful_characters_are_replaced_and_letters_stay() {
        assert_eq!(line(HARMFUL), "\u{fffd}".repeat(HARMFUL.chars().count()));
        assert_eq!(line(HARMLESS), HARMLESS);
        assert_eq!(line("a\r\n\tb"), "a   b");
    }

    #[test]
    fn excerpts_and_cuts_are_bounded() {
        assert_eq!(
            [excerpt("a\u{1b}bc", 3), excerpt("abc", 3)],
            ["a\u{fffd}b...", "abc"]
        );
        assert_eq!(
            [cut("abcd", 4), cut("abcde", 4), cut("", 0)],
            ["abcd", "abc…", ""]
        );
    }

    #[test]
    fn cells_of_csv_are_no_formulas_and_numbers_stay() {
        for formula in [
            "=1+1",
            "+A1",
            "-A1",
            "@SUM(A1)",
            "\t=1",
            "\r=1",
            "\n=1",
            "＝1+1",
            "+2: open +1",
        ] {
            assert!(csv(formula).starts_with('\''), "{formula:?}");
        }
        for text in [
            "-1.5", "+3", "-1e-9", "-inf", "-", "", "a=b", "1 .. 2", "a\n\tb",
        ] {
            assert_eq!(csv(text), text);
        }
        assert_eq!(csv("a\u{1b}\u{202e}b\r"), "a\u{fffd}\u{fffd}b ");
    }

    #[test]
    fn markdown_has_neither_links_nor_markup_of_others() {
        let written = [
            ("![x](http://x)", "!\\[x](http\\://x)"),
            (
                "<b> &lt; a|b `c` *d* \\",
                "\\<b> \\&lt; a\\|b \\`c\\` \\*d\\* \\\\",
            ),
            ("www.x.y WWW.x", "www\\.x.y WWW\\.x"),
            ("me@x.org @me a @ b", "me`@`x.org `@`me a @ b"),
            (
                "time.clock_gettime __x__ _exit",
                "time.clock_gettime \\_\\_x\\_\\_ \\_exit",
            ),
            ("~12/88 ~~x~~", "~12/88 \\~\\~x\\~\\~"),
            ("a\u{1b}\nb", "a\u{fffd} b"),
        ];
        for (text, expected) in written {
            assert_eq!(markdown(text), expected);
        }
        for (text, expected) in [
            (" # a", "\\# a"),
            ("## a", "\\## a"),
            ("- a", "\\- a"),
            ("---", "\\---"),
            (">a", "\\>a"),
            ("12. a", "12\\. a"),
            ("12.5 a", "12.5 a"),
            ("+0.37 s", "+0.37 s"),
            ("", ""),
        ] {
            assert_eq!(markdown_line(text), expected);
        }
    }

    #[test]
    fn markup_is_not_left() {
        let mut out = String::new();
        markup(
            "</script><img src=x onerror='a(\"b\")'>&\n\u{1b}\u{202e}",
            &mut out,
        );
        assert_eq!(
            out,
            "&lt;/script&gt;&lt;img src=x onerror=&#39;a(&quot;b&quot;)&#39;&gt;&amp; \u{fffd}\u{fffd}"
        );
    }

    #[test]
    fn words() {
        assert_eq!(word("a b\tc\u{a0}d\u{1b}"), "a_b_c_d\u{fffd}");
    }
}
