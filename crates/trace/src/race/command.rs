//! Makes commands that can be started from the user's text: parameters filled in, words split, programs found.

use super::site::Inside;
use anyhow::{Result, anyhow, bail};
use measure::runner::{NATIVE, filled};
use model::prose::note_on;
use std::collections::BTreeMap;
use std::ffi::OsString;
use sys::launch::Launch;

const MOST: usize = 100;

/// The characters that a shell heeds outside of quotes.
const SYNTAX: &str = "|&;<>()$`*?[]{}~#\n";
/// Those that it heeds within double quotes.
const EXPANDED: &str = "$`";

/// `--parameter name=a,b,c`: each value in turn in the place of `{name}`.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    pub name: String,
    pub values: Vec<String>,
}

#[derive(Default)]
pub struct Commands {
    /// The others are compared with the first; a single one with itself, at its first values of the parameters.
    pub texts: Vec<String>,
    pub parameters: Vec<Parameter>,
    /// For the shell before each execution, untimed: one for all, or one for each command.
    pub prepare: Vec<String>,
    pub shell: bool,
    pub show_output: bool,
    pub user: Option<String>,
}

pub struct Command {
    pub text: String,
    pub shell: bool,
    pub parameters: BTreeMap<String, String>,
    pub base: Option<usize>,
    pub is_control: bool,
    pub launch: Launch,
    pub prepare: Option<Launch>,
    pub inside: Option<Inside>,
}

impl Command {
    pub(super) fn has_fresh_copies(&self) -> bool {
        matches!(&self.inside, Some(inside) if inside.site.is_fresh)
    }

    pub(super) fn is_native(&self) -> bool {
        !self.is_control
            && matches!(&self.inside, Some(inside) if inside.environment.name == NATIVE)
    }
}

impl std::str::FromStr for Parameter {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Parameter> {
        let Some((name, values)) = text
            .split_once('=')
            .filter(|(name, values)| !name.is_empty() && !values.is_empty())
        else {
            bail!(
                "'{text}' is not of the form name=value[,value...], e.g. threads=1,2,4 or threads=1..8"
            );
        };
        let mut all: Vec<String> = Vec::new();
        for value in values.split(',') {
            match value.split_once("..") {
                Some((from, _)) if from.parse::<u64>().is_ok() => all.extend(numbers(name, value)?),
                _ => all.push(value.to_string()),
            }
        }
        Ok(Parameter {
            name: name.to_string(),
            values: all,
        })
    }
}

fn numbers(name: &str, range: &str) -> Result<Vec<String>> {
    let setting: measure::plan::Setting = format!("{name}={range}").parse()?;
    Ok(setting.values.iter().map(u64::to_string).collect())
}

impl Commands {
    /// The commands at all values of the parameters, and each base once more as the control.
    ///
    /// # Errors
    /// [`crate::LaunchError`] if there is no such program; otherwise the mistake: a parameter that no command has, shell syntax without
    /// a shell.
    pub fn launched(&self) -> Result<Vec<Command>> {
        self.check()?;
        let combinations = self.combinations()?;
        let mut all = Vec::new();
        for (index, values) in combinations.iter().enumerate() {
            for (which, text) in self.texts.iter().enumerate() {
                // A single command is compared with itself at the first values.
                let base = if self.texts.len() == 1 {
                    0
                } else {
                    index * self.texts.len()
                };
                let base = Some(base).filter(|base| *base != all.len());
                all.push(self.command(which, text, values, base, false)?);
            }
        }
        if all.len() > 1 {
            // Each base once more, as the control: differences smaller than that from itself mean nothing.
            let each = if self.texts.len() == 1 {
                1
            } else {
                combinations.len()
            };
            for (index, values) in combinations.iter().take(each).enumerate() {
                let base = Some(index * self.texts.len());
                all.push(self.command(0, &self.texts[0], values, base, true)?);
            }
        }
        Ok(all)
    }

    fn check(&self) -> Result<()> {
        for parameter in &self.parameters {
            let hole = format!("{{{}}}", parameter.name);
            let mut texts = self.texts.iter().chain(&self.prepare);
            if !texts.any(|text| text.contains(&hole)) {
                bail!("--parameter {}: no command has {hole}", parameter.name);
            }
        }
        match self.prepare.len() {
            0 | 1 => Ok(()),
            count if count == self.texts.len() => Ok(()),
            count => bail!(
                "--prepare: {count} for {} commands: give one, or one for each",
                self.texts.len()
            ),
        }
    }

    fn combinations(&self) -> Result<Vec<BTreeMap<String, String>>> {
        let mut all = vec![BTreeMap::new()];
        for Parameter { name, values } in &self.parameters {
            let longer = all.iter().flat_map(|values_before| {
                values.iter().map(move |value| {
                    let mut combination = values_before.clone();
                    combination.insert(name.clone(), value.clone());
                    combination
                })
            });
            all = longer.collect();
            if all.len() * self.texts.len() > MOST {
                bail!("--parameter {name}: more than {MOST} commands: give fewer values");
            }
        }
        Ok(all)
    }

    fn command(
        &self,
        which: usize,
        text: &str,
        values: &BTreeMap<String, String>,
        base: Option<usize>,
        is_control: bool,
    ) -> Result<Command> {
        let text = filled(text, values);
        let words = if self.shell {
            by_shell(&text)
        } else {
            words(&text, values)?
        };
        let prepare = self
            .prepare
            .get(if self.prepare.len() == 1 { 0 } else { which });
        let prepare = prepare.map(|code| self.launch(by_shell(&filled(code, values))));
        Ok(Command {
            text,
            shell: self.shell,
            parameters: values.clone(),
            base,
            is_control,
            launch: self.launch(words)?,
            prepare: prepare.transpose()?,
            inside: None,
        })
    }

    fn launch(&self, words: Vec<OsString>) -> Result<Launch> {
        let command = crate::Command {
            words,
            user: self.user.clone(),
            silent: !self.show_output,
            ..crate::Command::default()
        };
        Ok(Launch {
            bound: true,
            ..command.prepare()?
        })
    }
}

fn by_shell(code: &str) -> Vec<OsString> {
    ["sh", "-c", code].map(OsString::from).to_vec()
}

fn words(text: &str, values: &BTreeMap<String, String>) -> Result<Vec<OsString>> {
    if let Some(syntax) = shell_syntax(text) {
        if syntax == '{'
            && let Some(name) = hole(text)
        {
            let known = note_on("; known", values.keys()).unwrap_or_default();
            bail!(
                "'{text}': no --parameter gives {{{name}}} a value{known}; if {{{name}}} is meant literally, quote it"
            );
        }
        bail!("'{text}': '{syntax}' means something to a shell: add --shell, or quote it");
    }
    let words = shell_words::split(text).map_err(|error| anyhow!("'{text}': {error}"))?;
    if words.is_empty() {
        bail!("an empty command");
    }
    Ok(words.into_iter().map(OsString::from).collect())
}

/// The name in the first braces.
fn hole(text: &str) -> Option<&str> {
    let (name, _) = text.split_once('{')?.1.split_once('}')?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    is_name.then_some(name)
}

/// Quoted such that a shell splits it into the same words.
pub fn joined(words: &[String]) -> String {
    fn quoted(word: &str) -> String {
        if word.is_empty()
            || word
                .contains(|c: char| c.is_whitespace() || "'\"\\".contains(c) || SYNTAX.contains(c))
        {
            format!("'{}'", word.replace('\'', r"'\''"))
        } else {
            word.to_string()
        }
    }

    words
        .iter()
        .map(|word| quoted(word))
        .collect::<Vec<_>>()
        .join(" ")
}

fn shell_syntax(text: &str) -> Option<char> {
    let (mut quote, mut characters) = (None, text.chars());
    while let Some(character) = characters.next() {
        match (quote, character) {
            (None | Some('"'), '\\') => drop(characters.next()),
            (None, '\'' | '"') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            (None, _) if SYNTAX.contains(character) => return Some(character),
            (Some('"'), _) if EXPANDED.contains(character) => return Some(character),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(texts: &[&str], parameters: &[&str]) -> Commands {
        Commands {
            texts: texts.iter().map(ToString::to_string).collect(),
            parameters: parameters
                .iter()
                .map(|text| text.parse().unwrap())
                .collect(),
            ..Commands::default()
        }
    }

    fn shown(commands: &Commands) -> Vec<(String, Option<usize>)> {
        commands
            .launched()
            .unwrap()
            .into_iter()
            .map(|command| (command.text, command.base))
            .collect()
    }

    #[test]
    fn heads_are_compared_with_the_base_at_the_same_values() {
        let two = commands(&["echo a{n}", "echo b{n}"], &["n=1,x"]);
        let expected = [
            ("echo a1", None),
            ("echo b1", Some(0)),
            ("echo ax", None),
            ("echo bx", Some(2)),
            ("echo a1", Some(0)),
            ("echo ax", Some(2)),
        ]
        .map(|(t, b)| (t.into(), b));
        assert_eq!(shown(&two), expected);
        let one = commands(&["echo {n} {m}"], &["n=1..2", "m=a,b"]);
        let bases: Vec<Option<usize>> = shown(&one).into_iter().map(|(_, base)| base).collect();
        assert_eq!(
            bases,
            [None, Some(0), Some(0), Some(0), Some(0)],
            "a single command with itself, and its control"
        );
        assert_eq!(shown(&one)[3].0, "echo 2 b");
    }

    #[test]
    fn joined_words_are_the_same_words() {
        let all = [
            "dd",
            "if=/dev/zero",
            "",
            "a b",
            "it's",
            "$HOME",
            r"back\slash",
            "{}",
            "-n",
        ]
        .map(String::from);
        assert_eq!(joined(&all[..2]), "dd if=/dev/zero");
        let again: Vec<String> = words(&joined(&all), &BTreeMap::new())
            .unwrap()
            .into_iter()
            .map(|word| word.into_string().unwrap())
            .collect();
        assert_eq!(again, all);
    }

    #[test]
    fn quoted_syntax_is_not_syntax() {
        let all = [
            "python3 -c 'print(1); x = [2]'",
            r#"echo "a|b""#,
            r"echo \$HOME",
            "a-b_c/d.e+f=g,h:i%j@k",
        ];
        assert_eq!(all.map(shell_syntax), [None; 4]);
        assert_eq!(
            ["echo \"$HOME\"", "a > b", "'a' `b`"].map(shell_syntax),
            [Some('$'), Some('>'), Some('`')]
        );
    }
}
