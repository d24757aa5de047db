//! Inserts a snippet into its language's loop, and maps error messages back to the user's lines. Pure.

use super::{Language, filled};
use model::Case;
use regex_lite::Regex;

pub struct Filled {
    pub text: String,
    /// Name, first line in `text` (from 1), number of lines.
    parts: Vec<(&'static str, usize, usize)>,
}

/// An expression comes first, because its form keeps the value alive, so that the compiler cannot remove the call.
pub fn forms<'a>(language: &'a Language, body: &str) -> Vec<&'a str> {
    // A statement in an expression's place would fail to compile, and the next form would be tried: this saves the attempt.
    let one_expression = !body.trim().is_empty() && !body.contains([';', '\n']);
    let mut forms = vec![language.statement.as_str()];
    if one_expression && let Some(expression) = &language.expression {
        forms.insert(0, expression);
    }
    forms
}

/// The language's loop with the case's code and parameters in it.
pub fn fill(language: &Language, case: &Case, form: &str) -> Filled {
    let body = parameters(case, &case.operation);
    let wrapped = if body.trim().is_empty() {
        String::new()
    } else {
        form.replace("{{body}}", &body)
    };
    let fills = [
        ("{{prelude}}", "prelude", parameters(case, &case.prelude)),
        ("{{setup}}", "set-up", parameters(case, &case.setup)),
        ("{{body}}", "body", wrapped),
    ];
    let mut lines: Vec<String> = Vec::new();
    let mut parts = Vec::new();
    for line in language.loop_text.lines() {
        match fills.iter().find(|(hole, _, _)| line.trim() == *hole) {
            None => lines.push(line.to_string()),
            Some((hole, name, text)) => {
                let indent = &line[..line.len() - line.trim_start().len()];
                debug_assert!(line.ends_with(hole));
                parts.push((*name, lines.len() + 1, text.lines().count()));
                lines.extend(text.lines().map(|text| format!("{indent}{text}")));
            }
        }
    }
    Filled {
        text: lines.join("\n") + "\n",
        parts,
    }
}

/// Braces that are neither a parameter nor `{fixtures}` belong to the language.
fn parameters(case: &Case, text: &str) -> String {
    filled(&super::fixtures::fill(text), &case.effective_params())
}

impl Filled {
    /// The essential line of `message`, with the user's line in front if the language's pattern finds one: `line 2 of the body: syntax
    /// error at ...`.
    pub fn explain(&self, language: &Language, message: &str) -> String {
        let last_lines = shorten(message);
        match self.user_line(language, message) {
            Some((part, line)) => format!("line {line} of the {part}: {last_lines}"),
            None => last_lines,
        }
    }

    fn user_line(&self, language: &Language, message: &str) -> Option<(&'static str, usize)> {
        let pattern = Regex::new(&language.error).ok()?;
        let lines = pattern
            .captures_iter(message)
            .filter_map(|c| c.get(1)?.as_str().parse::<usize>().ok());
        if language.error_is_user_line {
            return lines.map(|line| ("body", line)).next();
        }
        let lines: Vec<usize> = lines.collect();
        lines
            .iter()
            // Traces name several lines: the first one in the user's text is the one to show.
            .find_map(|line| self.in_part(*line))
            .or_else(|| lines.first().and_then(|line| self.behind(*line)))
    }

    fn in_part(&self, line: usize) -> Option<(&'static str, usize)> {
        let part = self
            .parts
            .iter()
            .find(|(_, first, count)| (*first..first + count).contains(&line));
        part.map(|(part, first, _)| (*part, line - first + 1))
    }

    /// An unclosed bracket is only noticed in the loop after the body.
    fn behind(&self, line: usize) -> Option<(&'static str, usize)> {
        let (part, first, count) = self.parts.iter().rfind(|(part, _, _)| *part == "body")?;
        (*count > 0 && line >= first + count).then_some((*part, *count))
    }
}

/// The first line that names an error (`ValueError: bad`), else the first that contains the word,
/// else the last. Traces also show source lines, which may contain the word.
fn shorten(message: &str) -> String {
    let lines: Vec<&str> = message
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    ["error:", "exception:", "panic:", "error"]
        .into_iter()
        .find_map(|word| lines.iter().find(|line| line.to_lowercase().contains(word)))
        .or(lines.last())
        .unwrap_or(&"no message")
        .chars()
        .take(300)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn language() -> Language {
        let text = r#"
            name = "toy"
            title = "Toy"
            programs = ["toy"]
            package = "toy"
            version = ["--version"]
            template = "loop.toy"
            source = "snippet.toy"
            run = ["{program}", "{source}"]
            expression = "keep({{body}});"
            statement = "{{body}};"
            error = 'line (\d+)'
            clock_cost_ns = 100
            clock_step_ns = 1
        "#;
        let loop_text =
            "begin\n{{prelude}}\n  {{setup}}\n  loop\n    {{body}}\n  end\n".to_string();
        Language {
            loop_text,
            ..toml::from_str(text).unwrap()
        }
    }

    #[test]
    fn holes_are_filled_with_their_own_indentation() {
        let mut case = Case::snippet("toy", "a {size}\nb {other}");
        case.params.insert("size".into(), 4096);
        case.setup = "x = 1".into();
        let filled = fill(&language(), &case, "{{body}};");
        assert_eq!(
            filled.text,
            "begin\n  x = 1\n  loop\n    a 4096\n    b {other};\n  end\n"
        );
    }

    #[test]
    fn messages_name_the_users_line() {
        let filled = fill(&language(), &Case::snippet("toy", "a\nb"), "{{body}};");
        assert_eq!(filled.text, "begin\n  loop\n    a\n    b;\n  end\n");
        for (message, expected) in [
            (
                "noise\nsyntax error at line 4\n",
                "line 2 of the body: syntax error at line 4",
            ),
            ("boom at line 5\n", "line 2 of the body: boom at line 5"),
            ("boom at line 1\n", "boom at line 1"),
            ("", "no message"),
            (
                "  raise ValueError('bad')\nValueError: bad\n",
                "ValueError: bad",
            ),
        ] {
            assert_eq!(filled.explain(&language(), message), expected);
        }
    }

    #[test]
    fn only_one_line_bodies_without_semicolons_may_be_expressions() {
        assert_eq!(forms(&language(), "f(x)"), ["keep({{body}});", "{{body}};"]);
        assert_eq!(forms(&language(), "f(x); g()"), ["{{body}};"]);
        assert_eq!(
            fill(&language(), &Case::snippet("toy", ""), "{{body}};").text,
            "begin\n  loop\n  end\n"
        );
    }
}
