//! The call tree as lines, each function below its caller.

use crate::clean::line as cleaned;
use crate::model::explained::Call;
use crate::prose::counted;
use crate::report::numbers::thousands;

/// Subtrees below this share of all instructions are folded.
const SMALL: f64 = 0.01;
/// Narrower than this no name could be read.
const NARROWEST: usize = 40;

/// The lines below `root`; `all` shows subtrees however small, `width` is that of the screen.
pub fn lines(root: &Call, all: bool, width: Option<u16>) -> Vec<String> {
    let least = if all { 0 } else { (SMALL * root.total as f64).ceil() as u64 };
    let width = width.map_or(usize::MAX, |width| usize::from(width).max(NARROWEST));
    let mut lines = vec!["   total     own  function".to_string()];
    below(root, 0, least, width, &mut lines);
    lines
}

fn below(call: &Call, depth: usize, least: u64, width: usize, lines: &mut Vec<String>) {
    let (shown, folded): (Vec<&Call>, Vec<&Call>) = call.children.iter().partition(|child| child.total >= least);
    for child in shown {
        let times = if child.calls > 1 { format!(" x{}", thousands(child.calls as f64)) } else { String::new() };
        lines.push(line(child.total, Some(child.own), depth, &child.name, &times, width));
        below(child, depth + 1, least, width, lines);
    }
    if !folded.is_empty() {
        let total = folded.iter().map(|child| child.total).sum();
        let calls: u64 = folded.iter().map(|child| child.calls).sum();
        let text = format!("... {}", counted(calls, "small call"));
        lines.push(line(total, None, depth, &text, "", width));
    }
}

/// A name that is too long is cut, what stands behind it is not.
fn line(total: u64, own: Option<u64>, depth: usize, name: &str, behind: &str, width: usize) -> String {
    let own = own.map(|own| thousands(own as f64)).unwrap_or_default();
    let before = format!("{:>8}{own:>8}  {}", thousands(total as f64), "  ".repeat(depth.min(24)));
    let room = width.saturating_sub(before.len() + behind.len()).max(8);
    format!("{before}{}{behind}", crate::clean::cut(&cleaned(name), room))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::explained::Group;
    use crate::model::fixtures;

    fn call(name: &str, calls: u64, own: u64, children: Vec<Call>) -> Call {
        Call { calls, ..fixtures::call(name, Group::Work, own, children) }
    }

    fn sample() -> Call {
        let small = vec![call("tiny", 1, 1, vec![]), call("memset", 1, 1500, vec![]), call("slight", 2, 3, vec![])];
        call("", 0, 0, vec![call("run", 1, 10, vec![call("__x64_sys_newfstat", 2, 20, small)])])
    }

    #[test]
    fn small_subtrees_are_folded() {
        let expected = [
            "   total     own  function",
            "   1,534      10  run",
            "   1,524      20    __x64_sys_newfstat x2",
            "   1,500   1,500      memset",
            "       4              ... 3 small calls",
        ];
        assert_eq!(lines(&sample(), false, Some(80)), expected);
        assert_eq!(lines(&sample(), true, None).len(), 6);
    }

    #[test]
    fn lines_fit_the_screen() {
        let long = call("", 0, 0, vec![call(&"very_long_".repeat(12), 3, 5, vec![])]);
        for line in lines(&long, false, Some(60)) {
            assert!(line.chars().count() <= 60, "{line}");
        }
    }
}
