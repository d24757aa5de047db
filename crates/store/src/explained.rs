//! Kernel explanations, of one kernel and of two.

mod check;

use super::document::Document;
use super::error::FileKind;
use super::rules::Checked;
use model::explained::{KernelExplanation, KernelVersus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const KIND: FileKind = FileKind {
    family: "syscost.explain-kernel/",
    version: 1,
    noun: "kernel explanation",
    origin: "'syscost explain OPERATION --env linux-VERSION --format json'",
    again: "explain again",
    smaller: "explain an operation that executes less",
};

pub const VERSUS_KIND: FileKind = FileKind {
    family: "syscost.explain-kernel-versus/",
    noun: "comparison of kernel explanations",
    origin: "'syscost explain OPERATION --env linux-VERSION --versus linux-OTHER --format json'",
    ..KIND
};

/// Nothing of an explanation is in another shape in its file.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
pub struct Nothing {}

impl Document for KernelExplanation {
    const KIND: &'static FileKind = &KIND;
    type Head = Nothing;

    fn check(&self) -> Checked {
        check::explained(self)
    }
}

impl Document for KernelVersus {
    const KIND: &'static FileKind = &VERSUS_KIND;
    type Head = Nothing;

    fn check(&self) -> Checked {
        check::versus(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{File, decode};
    use model::explained::Call;
    use model::fixtures::{explained, explained_versus};
    use serde_json::json;

    #[test]
    fn a_comparison_is_read_as_written_and_each_side_is_a_document_of_its_own() {
        let both = explained_versus(40, 90);
        let value = serde_json::to_value(File::checked(&both).unwrap()).unwrap();
        let read = decode::<KernelVersus>(value.to_string().as_bytes()).unwrap();
        assert_eq!(read, both);
        let before = decode::<KernelExplanation>(value["before"].to_string().as_bytes()).unwrap();
        assert_eq!(before, explained(40));
    }

    #[test]
    fn sums_that_do_not_add_up_are_refused() {
        for (place, spoilt, said) in [
            ("/tree/children/0/own", json!(1), "is not the sum"),
            ("/tree/children/0/own", json!(u64::MAX), "is not the sum"),
            ("/instructions", json!(1u64 << 60), "instructions"),
            ("/functions/0/own", json!(1000), "functions"),
            ("/groups/0/instructions", json!(1000), "groups"),
            ("/tree/children/0/calls", json!(u64::MAX), "calls"),
            ("/operation", json!(""), "operation"),
        ] {
            let mut value = serde_json::to_value(File::checked(&explained(40)).unwrap()).unwrap();
            *value.pointer_mut(place).unwrap() = spoilt;
            let read = decode::<KernelExplanation>(value.to_string().as_bytes());
            let error = format!("{:?}", read.unwrap_err());
            assert!(error.contains(said), "{place}: {error}");
        }
    }

    #[test]
    fn a_tree_that_is_too_deep_is_refused() {
        let mut one = explained(40);
        for _ in 0..80 {
            let tree = std::mem::take(&mut one.tree);
            one.tree = Call {
                total: tree.total,
                children: vec![tree],
                ..Call::default()
            };
        }
        assert!(format!("{:?}", File::checked(&one).err().unwrap()).contains("deep"));
    }
}
