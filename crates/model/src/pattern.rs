use crate::Operation;
use anyhow::{Result, anyhow, bail};
use itertools::Itertools;

/// `file.lstat`, `file`, `file.*`, `*.getpid`, `file.{stat,lstat}`.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    glob: String,
}

impl Pattern {
    pub fn new(text: &str) -> Result<Pattern> {
        // To fast-glob a leading `!` negates; here it is a character like any other.
        let glob = if text.starts_with('!') {
            format!("\\{text}")
        } else {
            text.to_string()
        };
        fast_glob::validate(&glob).map_err(|error| anyhow!("pattern '{text}': {error}"))?;
        Ok(Pattern {
            text: text.to_string(),
            glob: without_slash(&glob),
        })
    }

    /// Whether the operation is selected by its id, its area or a glob.
    pub fn matches(&self, operation: &Operation) -> bool {
        operation.area() == self.text || self.matches_id(&operation.id)
    }

    pub fn matches_id(&self, name: &str) -> bool {
        self.text == name || fast_glob::glob_match(&self.glob, without_slash(name))
    }

    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Names are not paths: `*` also matches a slash, as in a snippet's `open("/etc/passwd")`, which fast-glob stops at.
fn without_slash(text: &str) -> String {
    text.replace('/', "\u{1}")
}

/// The operations that the patterns select, in the order of the patterns, and within one in the catalogue's order; all if there is no
/// pattern.
pub fn matching<'a>(catalogue: &'a [Operation], patterns: &[String]) -> Result<Vec<&'a Operation>> {
    each(catalogue, patterns, |_| Ok(Vec::new()))
}

/// As [`matching`], but also accepts the last part of an id (`getpid` for `call.getpid`) if it is unique, or else how it begins
/// (`open` for `file.open_close`). A name without an operation may be C code.
pub fn named<'a>(catalogue: &'a [Operation], patterns: &[String]) -> Result<Vec<&'a Operation>> {
    each(catalogue, patterns, |pattern| {
        let name = pattern.text.as_str();
        let operations: Vec<&Operation> =
            catalogue.iter().filter(|o| leaf(&o.id) == name).collect();
        if operations.len() > 1 {
            let ids = operations.iter().map(|o| o.id.as_str()).join(", ");
            bail!("'{name}' is ambiguous: {ids}: give an id, or '*.{name}' for all of them");
        }
        if !operations.is_empty() {
            return Ok(operations);
        }
        let begun = begun(catalogue, name).into_iter().next();
        if near(catalogue, name).is_empty()
            && described(catalogue, name).is_empty()
            && is_identifier(name)
        {
            bail!(
                "no operation matches '{name}'; 'syscost list' shows all, and C code is a snippet: 'c:{name}(1)'"
            );
        }
        Ok(begun.into_iter().collect())
    })
}

/// Those whose last part begins with the name. Among several, one that makes the call of this name is meant, and comes first.
fn begun<'a>(catalogue: &'a [Operation], name: &str) -> Vec<&'a Operation> {
    let mut begun = near(catalogue, name);
    begun.retain(|o| begins_with(leaf(&o.id), name));
    begun.sort_by_key(|o| !makes(o, name));
    begun
}

/// The other operations that begin with a word by which [`named`] selects one of them.
pub fn also_begin<'a>(catalogue: &'a [Operation], word: &str) -> Vec<&'a Operation> {
    match named(catalogue, &[word.to_string()]).as_deref() {
        Ok([one]) if begins_with(leaf(&one.id), word) => {
            begun(catalogue, word).into_iter().skip(1).collect()
        }
        _ => Vec::new(),
    }
}

/// Or one whose name begins so, as openat does.
fn makes(operation: &Operation, name: &str) -> bool {
    operation
        .enters
        .0
        .iter()
        .flat_map(|expected| &expected.names)
        .any(|call| call.starts_with(name))
}

fn begins_with(part: &str, name: &str) -> bool {
    part.strip_prefix(name)
        .is_some_and(|rest| rest.starts_with('_'))
}

fn is_identifier(text: &str) -> bool {
    fn is_letter(c: char) -> bool {
        c.is_ascii_alphabetic() || c == '_'
    }

    text.starts_with(is_letter) && text.chars().all(|c| is_letter(c) || c.is_ascii_digit())
}

/// As [`matching`], but a pattern that selects nothing gives all operations whose id contains it, those whose last part it is
/// first; or else those whose description contains it.
pub fn like<'a>(catalogue: &'a [Operation], patterns: &[String]) -> Result<Vec<&'a Operation>> {
    each(catalogue, patterns, |pattern| {
        let part = pattern.text.to_ascii_lowercase();
        let mut operations: Vec<&Operation> = catalogue
            .iter()
            .filter(|o| !part.is_empty() && o.id.contains(&part))
            .collect();
        operations.sort_by_key(|o| leaf(&o.id) != part);
        if operations.is_empty() {
            operations = described(catalogue, &part);
        }
        Ok(operations)
    })
}

/// Shorter words are in many descriptions.
const SHORTEST: usize = 3;

fn described<'a>(catalogue: &'a [Operation], word: &str) -> Vec<&'a Operation> {
    let word = word.to_ascii_lowercase();
    let is_word = word.len() >= SHORTEST;
    let mut operations: Vec<&Operation> = catalogue.iter().collect();
    operations.retain(|o| is_word && o.what.to_ascii_lowercase().contains(&word));
    operations
}

/// Each selected operation once; if a pattern selects none, the operations that `otherwise` returns.
fn each<'a>(
    catalogue: &'a [Operation],
    patterns: &[String],
    otherwise: impl Fn(&Pattern) -> Result<Vec<&'a Operation>>,
) -> Result<Vec<&'a Operation>> {
    if patterns.is_empty() {
        return Ok(catalogue.iter().collect());
    }
    let mut chosen: Vec<&Operation> = Vec::new();
    for text in patterns {
        let pattern = Pattern::new(text)?;
        let mut operations: Vec<&Operation> =
            catalogue.iter().filter(|o| pattern.matches(o)).collect();
        if operations.is_empty() {
            operations = otherwise(&pattern)?;
        }
        if operations.is_empty() {
            bail!(
                "no operation matches '{text}'{}; 'syscost list' shows all",
                hint(catalogue, text)
            );
        }
        let new = operations
            .into_iter()
            .filter(|o| !chosen.iter().any(|c| c.id == o.id));
        chosen.extend(new.collect::<Vec<_>>());
    }
    Ok(chosen)
}

/// `getpid` of `call.getpid`.
fn leaf(id: &str) -> &str {
    id.rsplit('.').next().unwrap_or_default()
}

const MOST_NAMES: usize = 3;

/// Similarity from which a last part counts as a misspelling of what was typed.
const LIKE: f64 = 0.7;

/// ` (did you mean id.getppid?)`
fn hint(catalogue: &[Operation], typed: &str) -> String {
    if typed.contains('=') && !typed.contains(':') {
        return format!(" (as values of a parameter: --param {typed})");
    }
    let mut alike = near(catalogue, typed);
    if alike.is_empty() {
        alike = described(catalogue, typed);
    }
    let names = alike
        .into_iter()
        .take(MOST_NAMES)
        .map(|o| o.id.as_str())
        .join(", ");
    if names.is_empty() {
        String::new()
    } else {
        format!(" (did you mean {names}?)")
    }
}

/// First ids whose last part was typed, then those that contain it, then those a few edits away; of two equally similar ones,
/// that of the same area first, then the shorter.
fn near<'a>(catalogue: &'a [Operation], typed: &str) -> Vec<&'a Operation> {
    let typed = typed.to_ascii_lowercase();
    let wanted = leaf(&typed);
    let typed = Typed {
        wanted,
        area: typed.strip_suffix(wanted).unwrap_or_default(),
    };
    let mut near: Vec<(u8, &Operation)> = catalogue
        .iter()
        .filter_map(|o| Some((typed.rank(&o.id)?, o)))
        .collect();
    near.sort_by(|(a, x), (b, y)| {
        let by_likeness = typed.likeness(&y.id).total_cmp(&typed.likeness(&x.id));
        a.cmp(b)
            .then(by_likeness)
            .then(typed.tie(&x.id).cmp(&typed.tie(&y.id)))
    });
    near.into_iter().map(|(_, operation)| operation).collect()
}

struct Typed<'a> {
    /// The last part.
    wanted: &'a str,
    /// The text before it, with the dot; empty for a last part alone.
    area: &'a str,
}

impl Typed<'_> {
    fn rank(&self, id: &str) -> Option<u8> {
        match leaf(id) {
            name if name == self.wanted => Some(0),
            name if self.is_part_of(name) => Some(1),
            _ if self.likeness(id) >= LIKE => Some(2),
            _ if self.begins_like(id) => Some(3),
            _ => None,
        }
    }

    fn likeness(&self, id: &str) -> f64 {
        strsim::normalized_damerau_levenshtein(leaf(id), self.wanted)
    }

    /// Three letters are in many words, so they must be one of them.
    fn is_part_of(&self, name: &str) -> bool {
        let is_long = self.wanted.len() > 3 && name.contains(self.wanted);
        let is_word = || name.split('_').any(|word| word == self.wanted);
        !self.wanted.is_empty() && (is_long || is_word())
    }

    fn begins_like(&self, id: &str) -> bool {
        let begin = leaf(id).split('_').next().unwrap_or_default();
        strsim::normalized_damerau_levenshtein(begin, self.wanted) >= LIKE
    }

    fn tie(&self, id: &str) -> (bool, usize) {
        let is_elsewhere = self.area.is_empty() || !id.starts_with(self.area);
        (is_elsewhere, id.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalogue() -> Vec<Operation> {
        let ids = [
            "call.getpid",
            "id.getppid",
            "id.getuid",
            "file.stat_absent",
            "file.stat",
            "file.fstat",
            "signal.kill_self",
        ];
        let all = ids.iter().chain(&["proc.kill_self", "time.gettimeofday"]);
        all.map(|id| Operation {
            id: id.to_string(),
            what: format!("calls {}", leaf(id)),
            ..Operation::default()
        })
        .collect()
    }

    type Find = for<'a> fn(&'a [Operation], &[String]) -> Result<Vec<&'a Operation>>;

    fn ids(find: Find, pattern: &str) -> Result<Vec<String>, String> {
        let all = catalogue();
        let operations = find(&all, &[pattern.to_string()]).map_err(|error| error.to_string())?;
        Ok(operations.iter().map(|o| o.id.clone()).collect())
    }

    fn finds(find: Find, pattern: &str, expected: &[&str]) {
        assert_eq!(ids(find, pattern).unwrap(), expected, "{pattern}");
    }
    #[test]
    fn the_last_part_of_an_id_names_the_only_operation_that_has_it() {
        finds(named, "getpid", &["call.getpid"]);
        finds(named, "stat", &["file.stat"]);
        // How a name begins.
        finds(named, "kill", &["proc.kill_self"]);
        for (word, others) in [("kill", 1), ("stat", 0), ("file", 0), ("foo", 0)] {
            assert_eq!(also_begin(&catalogue(), word).len(), others, "{word}");
        }
        finds(
            named,
            "file",
            &["file.stat_absent", "file.stat", "file.fstat"],
        );
        let several = "'kill_self' is ambiguous: signal.kill_self, proc.kill_self: give an id, or '*.kill_self' for all of them";
        assert_eq!(ids(named, "kill_self").unwrap_err(), several);
        assert!(
            ids(matching, "getpid").is_err(),
            "a study names its operations in full"
        );
    }

    #[test]
    fn a_partial_name_lists_all_ids_that_contain_it() {
        finds(
            like,
            "stat",
            &["file.stat", "file.stat_absent", "file.fstat"],
        );
        finds(like, "GetP", &["call.getpid", "id.getppid"]);
        // An area is that area alone.
        finds(like, "id", &["id.getppid", "id.getuid"]);
        // A word of a description.
        finds(like, "Calls gettimeofday", &["time.gettimeofday"]);
        assert!(ids(like, "fork").is_err());
    }

    #[test]
    fn globs_have_sets_alternatives_and_errors() {
        finds(matching, "file.{stat,fstat}", &["file.stat", "file.fstat"]);
        finds(matching, "id.get[pu]?id", &["id.getppid"]);
        assert!(ids(matching, "!file.*").is_err(), "nothing is negated");
        let error = format!("{:#}", Pattern::new("file.{stat").unwrap_err());
        assert!(error.starts_with("pattern 'file.{stat': "), "{error}");
        assert!(
            Pattern::new("c:*passwd*")
                .unwrap()
                .matches_id("c:open(\"/etc/passwd\", 0)")
        );
    }

    #[test]
    fn a_hint_offers_the_same_last_part_first_then_parts_then_what_is_spelled_alike() {
        for (typed, meant) in [
            ("file.getpid", "call.getpid, id.getppid, id.getuid"),
            ("fs.stat", "file.stat, file.fstat, file.stat_absent"),
            ("timeofday", "time.gettimeofday"),
            ("id.gettppid", "id.getppid, call.getpid"),
            ("foo.kill", "proc.kill_self, signal.kill_self"),
            ("lls gett", "time.gettimeofday"),
        ] {
            assert_eq!(
                hint(&catalogue(), typed),
                format!(" (did you mean {meant}?)")
            );
        }
        for typed in ["nonsense", "id.", "foo.pid"] {
            assert_eq!(hint(&catalogue(), typed), "");
        }
        assert_eq!(
            hint(&catalogue(), "depth=4"),
            " (as values of a parameter: --param depth=4)"
        );
    }
}
