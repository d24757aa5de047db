//! Sections: the calls of a program between two paths that it looks up. For a tracer, a section is a node that the node of the processes
//! that began it has started, so that calls within it are counted as those of any node. Pure; both tracers call it.

use crate::lineage::{Node, outwards};
use indexmap::IndexMap;
use model::prose::{counted, some};
use model::{CallCount, Profile, Section, summed};
use std::collections::{BTreeMap, BTreeSet};

/// The longest number of iterations: the sum over all ends fits into 64 bits.
const MOST_DIGITS: usize = 12;

#[derive(Debug, PartialEq)]
pub enum Marker<'a> {
    Begin(&'a [u8]),
    /// The name, or the name, a slash and the number of iterations.
    End(&'a [u8]),
}

impl Marker<'_> {
    /// `None` if it is another path or has no name.
    pub fn from_path(path: &[u8]) -> Option<Marker<'_>> {
        let rest = path.strip_prefix(b"/.syscost/")?;
        let begin = rest.strip_prefix(b"begin/").map(Marker::Begin);
        let marker = begin.or_else(|| rest.strip_prefix(b"end/").map(Marker::End))?;
        let (Marker::Begin(name) | Marker::End(name)) = marker;
        (!name.is_empty()).then_some(marker)
    }
}

/// `None` if it does not end that section.
pub fn iterations(end: &[u8], section: &str) -> Option<u64> {
    let end = String::from_utf8_lossy(end);
    match end.strip_prefix(section)? {
        "" => Some(1),
        number => {
            let digits = number.strip_prefix('/')?;
            let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
            let number = digits.parse().ok();
            if is_number && digits.len() <= MOST_DIGITS {
                number
            } else {
                None
            }
        }
    }
}

/// Fills in the sections, in the order of their first nodes. `stray` is the number of end marks without an open section, `lost`
/// that of begin marks that there was no room for: data that is lost.
pub fn fill(
    nodes: &BTreeMap<u32, Node>,
    calls: impl Iterator<Item = (u32, CallCount)>,
    [stray, lost]: [u64; 2],
    into: &mut Profile,
) {
    if nodes.values().any(|node| node.section.is_some()) {
        into.sections = sections(nodes, calls);
    }
    let uneven = nodes.values().filter(|node| {
        let marks = node.section.as_ref();
        marks.is_some_and(|marks| marks.begun != marks.ended)
    });
    let uneven: BTreeSet<String> = uneven.map(|node| node.name.clone()).collect();
    let uneven: Vec<String> = uneven.into_iter().collect();
    let lines = [
        (
            uneven.len() as u64,
            format!(
                "sections with unequal numbers of begin and end marks: {}",
                some(&uneven, 8)
            ),
        ),
        (
            stray,
            format!(
                "{} without an open section of that name",
                counted(stray, "end mark")
            ),
        ),
        (
            lost,
            format!(
                "{} ignored: nested too deeply, too many sections, or too long a name",
                counted(lost, "begin mark")
            ),
        ),
    ];
    let lines = lines.into_iter().filter(|(count, _)| *count > 0);
    into.warnings.extend(lines.map(|(_, line)| line));
    // The calls are counted, but in the wrong section.
    into.tracer.lost += lost;
}

fn sections(
    nodes: &BTreeMap<u32, Node>,
    calls: impl Iterator<Item = (u32, CallCount)>,
) -> Vec<Section> {
    let mut sections: IndexMap<String, Section> = IndexMap::new();
    for (number, node) in nodes {
        let marks = node.section.clone().unwrap_or_default();
        if node.section.is_some() {
            let section = sections.entry(node.name.clone()).or_insert_with(unmarked);
            section.iterations += marks.iterations;
            let elapsed_ns = section.elapsed_ns.zip(marks.elapsed_ns);
            section.elapsed_ns = elapsed_ns.map(|(sum, more)| sum.saturating_add(more));
        }
        // A set of names: a section that calls itself counts its calls once.
        for name in names_around(nodes, *number) {
            let section = sections.entry(name).or_insert_with(unmarked);
            let [minor, major] = node.faults;
            section.processes += marks.processes;
            section.programs += node.programs;
            section.minor_faults = Some(section.minor_faults.unwrap_or(0) + minor);
            section.major_faults = Some(section.major_faults.unwrap_or(0) + major);
        }
    }
    for (number, count) in calls {
        for name in names_around(nodes, number) {
            let section = sections.entry(name).or_default();
            section.calls.push(count.clone());
        }
    }
    sections
        .into_iter()
        .map(|(name, section)| Section {
            name,
            calls: summed(&section.calls),
            ..section
        })
        .collect()
}

/// Of which no mark was counted yet.
fn unmarked() -> Section {
    Section {
        elapsed_ns: Some(0),
        ..Section::default()
    }
}

/// A section within another of the same name counts once.
fn names_around(nodes: &BTreeMap<u32, Node>, number: u32) -> BTreeSet<String> {
    outwards(nodes, number)
        .filter_map(|number| nodes.get(&number))
        .filter(|node| node.section.is_some())
        .map(|node| node.name.clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lineage::{Marks, paths};

    #[test]
    fn a_path_that_marks_has_a_name_and_an_end_may_have_a_number() {
        assert_eq!(
            Marker::from_path(b"/.syscost/begin/a/b"),
            Some(Marker::Begin(b"a/b"))
        );
        assert_eq!(
            Marker::from_path(b"/.syscost/end/a/7"),
            Some(Marker::End(b"a/7"))
        );
        for other in [
            "/.syscost/begin/",
            "/.syscost/end",
            "/.syscost/x/y",
            "/x/.syscost/begin/a",
            "",
        ] {
            assert_eq!(Marker::from_path(other.as_bytes()), None, "{other}");
        }
        for (end, expected) in [
            ("a", Some(1)),
            ("a/12", Some(12)),
            ("a/", None),
            ("a/+5", None),
            ("ab", None),
            ("a/1/2", None),
            ("b", None),
        ] {
            assert_eq!(iterations(end.as_bytes(), "a"), expected, "{end}");
        }
        assert_eq!(iterations(b"a/1", "a/1"), Some(1));
        assert_eq!(iterations(b"a/1/5", "a/1"), Some(5));
    }

    fn called(calls: u64) -> CallCount {
        CallCount {
            call: "stat".into(),
            calls,
            ..CallCount::default()
        }
    }

    fn node(name: &str, from: Option<u32>, marks: Option<[u64; 3]>) -> Node {
        let section = marks.map(|[begun, ended, processes]| Marks {
            begun,
            ended,
            iterations: 10 * ended,
            processes,
            elapsed_ns: if begun == ended { Some(7) } else { None },
        });
        Node {
            name: name.to_string(),
            from,
            processes: u64::from(section.is_none()),
            calls: 1,
            programs: 1,
            faults: [2, 0],
            section,
        }
    }

    #[test]
    fn sections_have_what_is_done_within_them_and_processes_what_they_do_there() {
        let nodes = BTreeMap::from([
            (1, node("sh", None, None)),
            (2, node("outer", Some(1), Some([1, 1, 1]))),
            (3, node("inner", Some(2), Some([2, 1, 3]))),
            (4, node("ls", Some(3), None)),
            (5, node("inner", Some(4), Some([1, 1, 0]))),
        ]);
        let calls = [(1, 1), (2, 10), (3, 100), (4, 1_000), (5, 10_000)];
        let calls = calls.map(|(number, calls)| (number, called(calls)));
        let mut profile = Profile::default();
        fill(&nodes, calls.into_iter(), [2, 0], &mut profile);
        let rows = profile.sections.iter();
        let rows: Vec<_> = rows
            .map(|row| {
                (
                    row.name.as_str(),
                    row.iterations,
                    row.processes,
                    row.programs,
                    row.minor_faults,
                    row.elapsed_ns,
                    row.calls[0].calls,
                )
            })
            .collect();
        assert_eq!(
            rows,
            [
                ("outer", 10, 4, 4, Some(8), Some(7), 11_110),
                ("inner", 20, 3, 3, Some(6), None, 11_100)
            ]
        );
        let lines = profile.warnings.join("\n");
        assert!(
            lines.contains("marks: inner")
                && lines.contains("2 end marks")
                && profile.warnings.len() == 2,
            "{lines}"
        );
        let tree = paths(&nodes).into_iter();
        let tree: Vec<_> = tree
            .map(|path| (path.names.join(" "), path.processes, path.calls))
            .collect();
        assert_eq!(
            tree,
            [("sh".to_string(), 1, 3), ("sh ls".to_string(), 1, 2)]
        );
    }

    #[test]
    fn without_marks_there_are_no_sections() {
        let nodes = BTreeMap::from([(1, node("sh", None, None))]);
        let mut profile = Profile::default();
        fill(&nodes, [(1, called(1))].into_iter(), [0, 0], &mut profile);
        assert!(profile.sections.is_empty() && profile.warnings.is_empty());
    }
}
