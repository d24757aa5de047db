//! Compares the counts of all operations in two kernels: changed, equal, or not judged.

use super::neighbours::steps_between;
use model::atlas::{AtlasCell, AtlasStep};
use model::kernel_diff::NotJudged;
use std::collections::BTreeSet;

#[derive(Debug, Default, PartialEq)]
pub struct Differences {
    pub changed: Vec<AtlasStep>,
    pub equal: usize,
    pub not_judged: Vec<NotJudged>,
}

/// `before` and `after` have the same operations in the same order.
pub fn differences(before: &[AtlasCell], after: &[AtlasCell], boots: u32) -> Differences {
    let changed = steps_between(before, after, boots);
    let names: BTreeSet<&str> = changed.iter().map(|step| step.operation.as_str()).collect();
    let rest = before
        .iter()
        .zip(after)
        .filter(|(old, _)| !names.contains(old.operation.as_str()));
    let (mut equal, mut not_judged) = (0, Vec::new());
    for (old, new) in rest {
        match reason(old, new) {
            None => equal += 1,
            Some(reason) => not_judged.push(NotJudged {
                operation: old.operation.clone(),
                before: old.count,
                after: new.count,
                reason,
            }),
        }
    }
    Differences {
        changed,
        equal,
        not_judged,
    }
}

/// `None` if both kernels have the same count.
fn reason(old: &AtlasCell, new: &AtlasCell) -> Option<String> {
    match (&old.count, &new.count) {
        (Some(before), Some(after)) if before == after => None,
        (Some(before), Some(after)) if before.most < after.least || after.most < before.least => {
            Some(CLOSE.to_string())
        }
        (Some(_), Some(_)) => Some(VARIES.to_string()),
        (Some(_), None) => Some(format!("only in the old kernel: {}", failure(new))),
        (None, Some(_)) => Some(format!("only in the new kernel: {}", failure(old))),
        (None, None) => Some(format!("in neither kernel: {}", failure(new))),
    }
}

const VARIES: &str = "varies between boots";
/// Two boots may miss a variation of as much (`UNSEEN` in `neighbours`).
const CLOSE: &str = "changed by less than 1%, and varies between boots";

fn failure(cell: &AtlasCell) -> &str {
    cell.reason.as_deref().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::atlas::AtlasCount;

    fn cell(operation: &str, count: Option<[f64; 2]>) -> AtlasCell {
        AtlasCell {
            operation: operation.into(),
            count: count.map(|[least, most]| AtlasCount {
                mode: least,
                least,
                most,
            }),
            reason: Some("ENOSYS".into()),
        }
    }

    #[test]
    fn each_operation_has_changed_is_equal_or_says_why_it_is_not_judged() {
        let sides = [
            ("same", Some([329.0; 2]), Some([329.0; 2])),
            ("longer", Some([329.0; 2]), Some([350.0; 2])),
            ("state", Some([1000.0, 1161.0]), Some([1004.0, 1160.0])),
            ("close", Some([8946.9, 8947.0]), Some([8967.3, 8968.5])),
            ("new", None, Some([9.0; 2])),
            ("gone", Some([9.0; 2]), None),
            ("neither", None, None),
        ];
        let before = sides.map(|(name, count, _)| cell(name, count));
        let after = sides.map(|(name, _, count)| cell(name, count));
        let compared = differences(&before, &after, 2);
        let changed: Vec<_> = compared
            .changed
            .iter()
            .map(|step| (step.operation.as_str(), step.before, step.after))
            .collect();
        assert_eq!(
            (changed, compared.equal),
            (vec![("longer", 329.0, 350.0)], 1)
        );
        let reasons: Vec<_> = compared
            .not_judged
            .iter()
            .map(|row| (row.operation.as_str(), row.reason.as_str()))
            .collect();
        assert_eq!(
            reasons,
            [
                ("state", VARIES),
                ("close", CLOSE),
                ("new", "only in the new kernel: ENOSYS"),
                ("gone", "only in the old kernel: ENOSYS"),
                ("neither", "in neither kernel: ENOSYS"),
            ]
        );
    }
}
