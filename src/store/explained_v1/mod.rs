//! Version 1 of kernel explanations, of one kernel and of two. The types of the model are what the files hold; FORMAT.md explains
//! the fields.
//!
//! The same rules as for result files: only optional fields may still be added, unknown ones are ignored on reading.
//! `check` refuses values that the types allow. Only the store calls this.

mod check;

use super::error::{FileKind, Invalid};
use super::parse::Wire;
use super::rules::Checked;
use crate::model::explained as model;

/// How messages describe explanations.
pub const KIND: FileKind = FileKind {
    family: "syscost.explain-kernel/",
    version: 1,
    noun: "kernel explanation",
    origin: "'syscost explain OPERATION --env linux-VERSION --format json'",
    again: "explain again",
    smaller: "explain an operation that executes less",
};

/// The same of two kernels.
pub const VERSUS_KIND: FileKind = FileKind {
    family: "syscost.explain-kernel-versus/",
    noun: "comparison of kernel explanations",
    origin: "'syscost explain OPERATION --env linux-VERSION --versus linux-OTHER --format json'",
    ..KIND
};

impl Wire<model::KernelExplanation> for model::KernelExplanation {
    const KIND: &'static FileKind = &KIND;

    fn schema(&self) -> &str {
        &self.schema
    }

    fn check(&self) -> Checked {
        check::explained(self)
    }

    fn from_model(explained: &model::KernelExplanation) -> model::KernelExplanation {
        explained.clone()
    }

    fn into_model(self) -> Result<model::KernelExplanation, Invalid> {
        Ok(self)
    }
}

impl Wire<model::KernelVersus> for model::KernelVersus {
    const KIND: &'static FileKind = &VERSUS_KIND;

    fn schema(&self) -> &str {
        &self.schema
    }

    fn check(&self) -> Checked {
        check::versus(self)
    }

    fn from_model(versus: &model::KernelVersus) -> model::KernelVersus {
        versus.clone()
    }

    fn into_model(self) -> Result<model::KernelVersus, Invalid> {
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixtures::{explained, explained_versus};
    use crate::store::{decode, encode};
    use serde_json::{Value, json};

    fn refused(spoil: impl FnOnce(&mut Value)) -> String {
        let mut value = serde_json::to_value(encode(&explained(40)).unwrap()).unwrap();
        spoil(&mut value);
        let read = decode::<model::KernelExplanation>(value.to_string().as_bytes());
        format!("{:?}", read.unwrap_err())
    }

    #[test]
    fn what_was_written_is_read() {
        let one = explained(40);
        let bytes = serde_json::to_vec(&encode(&one).unwrap()).unwrap();
        assert_eq!(decode::<model::KernelExplanation>(&bytes).unwrap(), one);
        let two = explained_versus(40, 90);
        let bytes = serde_json::to_vec(&encode(&two).unwrap()).unwrap();
        assert_eq!(decode::<model::KernelVersus>(&bytes).unwrap(), two);
    }

    #[test]
    fn each_side_of_a_comparison_is_a_document_of_its_own() {
        let value = serde_json::to_value(encode(&explained_versus(40, 90)).unwrap()).unwrap();
        let before = decode::<model::KernelExplanation>(value["before"].to_string().as_bytes()).unwrap();
        assert_eq!(before, explained(40));
    }

    #[test]
    fn sums_that_do_not_add_up_are_refused() {
        assert!(refused(|v| v["tree"]["children"][0]["own"] = json!(1)).contains("is not the sum"));
        assert!(refused(|v| v["tree"]["children"][0]["own"] = json!(u64::MAX)).contains("is not the sum"));
        assert!(refused(|v| v["instructions"] = json!(1u64 << 60)).contains("instructions"));
        assert!(refused(|v| v["functions"][0]["own"] = json!(1000)).contains("functions"));
        assert!(refused(|v| v["groups"][0]["instructions"] = json!(1000)).contains("groups"));
        assert!(refused(|v| v["tree"]["children"][0]["calls"] = json!(u64::MAX)).contains("calls"));
        assert!(refused(|v| v["operation"] = json!("")).contains("operation"));
    }

    #[test]
    fn a_tree_that_is_too_deep_is_refused() {
        let mut one = explained(40);
        for _ in 0..80 {
            let tree = std::mem::take(&mut one.tree);
            one.tree = model::Call { total: tree.total, children: vec![tree], ..model::Call::default() };
        }
        assert!(format!("{:?}", encode(&one).err().unwrap()).contains("deep"));
    }
}
