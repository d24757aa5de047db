//! Names of nodes: lists with ranges, as `n[1-3,7],login`, and files with one list a line.
//!
//! Only characters that host names, Slurm's node names and Kubernetes' have: a name that could be a flag, a pattern or a
//! path of a launcher is refused here, before it is quoted.

use anyhow::{Result, bail, ensure};
use std::collections::HashSet;
use std::str::FromStr;

const MOST: usize = 100_000;
/// The longest name, as of DNS.
const LONGEST: usize = 253;

#[derive(Clone, Debug, PartialEq)]
pub enum Nodes {
    /// Any so many that the launcher has.
    Any(usize),
    Named(NodeList),
}

/// Different names, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeList(Vec<String>);

impl NodeList {
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// The names of a file: a list a line, empty lines and those that begin with # left out.
    ///
    /// # Errors
    /// The first line that is none.
    pub fn from_lines(text: &str) -> Result<NodeList> {
        let lines = (1..).zip(text.lines().map(str::trim));
        let mut names = Vec::new();
        for (number, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
            let list = expand(line).map_err(|error| error.context(format!("line {number}")))?;
            names.extend(list);
            ensure!(names.len() <= MOST, "more than {MOST} names");
        }
        ensure!(!names.is_empty(), "no node names");
        Ok(NodeList(without_repeats(names)))
    }
}

impl FromStr for NodeList {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<NodeList> {
        Ok(NodeList(without_repeats(expand(text)?)))
    }
}

fn without_repeats(names: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    names.into_iter().filter(|name| seen.insert(name.clone())).collect()
}

fn expand(list: &str) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for part in parts(list) {
        let (before, rest) = part.split_once('[').unwrap_or((part, ""));
        let Some((ranges, after)) = rest.split_once(']') else {
            ensure!(!part.contains('['), "'{part}': a '[' without a ']'");
            names.push(checked(part.to_string())?);
            continue;
        };
        for range in ranges.split(',') {
            let numbers = numbers(range)?;
            ensure!(names.len() + numbers.len() <= MOST, "more than {MOST} names");
            for number in numbers {
                names.push(checked(format!("{before}{number}{after}"))?);
            }
        }
    }
    Ok(names)
}

/// The parts between the commas that are outside brackets.
fn parts(list: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    list.split(move |c| {
        inside = (inside || c == '[') && c != ']';
        c == ',' && !inside
    })
}

/// `08-10` is 08, 09, 10.
fn numbers(range: &str) -> Result<Vec<String>> {
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let number = |text: &str| {
        let digits = (1..=9).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse::<usize>().ok()).flatten()
    };
    let (Some(from), Some(to)) = (number(first), number(last)) else {
        bail!("'{range}' is not a range of numbers such as 1-3 or 001-100")
    };
    ensure!(from <= to, "the range '{range}' is empty");
    ensure!(to - from < MOST, "the range '{range}' has more than {MOST} numbers");
    Ok((from..=to).map(|number| format!("{number:0width$}", width = first.len())).collect())
}

fn checked(name: String) -> Result<String> {
    let permitted = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if !begins || !name.chars().all(permitted) || name.len() > LONGEST {
        bail!("'{name}' is not a node's name: give letters, digits, '.', '_' and '-', a letter or digit first")
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Vec<String> {
        text.parse::<NodeList>().unwrap_or_else(|error| panic!("{text}: {error}")).0
    }

    #[test]
    fn ranges_are_expanded_and_repeats_left_out() {
        assert_eq!(list("a,b.c-d_1,a"), ["a", "b.c-d_1"]);
        assert_eq!(list("n[1-3,7],m"), ["n1", "n2", "n3", "n7", "m"]);
        assert_eq!(list("n[08-10]-ib"), ["n08-ib", "n09-ib", "n10-ib"]);
        assert_eq!(list("n[0001-1000]").len(), 1000);
        assert_eq!(NodeList::from_lines("# rack 1\nn[1-2]\n\n n3 \r\nn1\n").unwrap().0, ["n1", "n2", "n3"]);
    }

    #[test]
    fn what_could_act_on_a_launcher_is_no_name() {
        let plain = "a, -w a'b a\"b $(id) `id` a;b a/b ../a .a {{a}} %h @group a:b !a ~a a* ä n[1- n[] n[3-1] n[a-b] n[1-999999999] \
                     n[1]] n[1][2]";
        for text in plain.split(' ').chain(["", ",", "a b", "a\nb"]) {
            assert!(text.parse::<NodeList>().is_err(), "{text:?}");
        }
        assert!("a".repeat(254).parse::<NodeList>().is_err());
        assert!(NodeList::from_lines("# none\n").is_err());
        let error = NodeList::from_lines("a\n$(id)\n").unwrap_err();
        assert!(format!("{error:#}").starts_with("line 2: '$(id)' is not a node's name"), "{error:#}");
    }
}
