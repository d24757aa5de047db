//! Conversion between the wire types and the model.

use super::{ExplainedFile, KIND, SCHEMA, VERSUS_KIND, VERSUS_SCHEMA, VersusFile, check};
use crate::model::explained as model;
use crate::store::error::{FileKind, Invalid};
use crate::store::parse::Wire;
use crate::store::rules::Checked;

impl From<model::KernelExplanation> for ExplainedFile {
    fn from(explained: model::KernelExplanation) -> ExplainedFile {
        ExplainedFile {
            schema: SCHEMA.to_string(),
            operation: explained.operation,
            what: explained.what,
            params: explained.params,
            environment: explained.environment,
            kernel: explained.kernel,
            instructions: explained.instructions,
            counted: explained.counted,
            iterations: explained.iterations,
            groups: explained.groups,
            functions: explained.functions,
            tree: explained.tree,
            notes: explained.notes,
        }
    }
}

impl From<ExplainedFile> for model::KernelExplanation {
    fn from(file: ExplainedFile) -> model::KernelExplanation {
        model::KernelExplanation {
            operation: file.operation,
            what: file.what,
            params: file.params,
            environment: file.environment,
            kernel: file.kernel,
            instructions: file.instructions,
            counted: file.counted,
            iterations: file.iterations,
            groups: file.groups,
            functions: file.functions,
            tree: file.tree,
            notes: file.notes,
        }
    }
}

impl Wire<model::KernelExplanation> for ExplainedFile {
    const KIND: &'static FileKind = &KIND;

    fn schema(&self) -> &str {
        &self.schema
    }

    fn check(&self) -> Checked {
        check::explained(self)
    }

    fn from_model(explained: &model::KernelExplanation) -> ExplainedFile {
        explained.clone().into()
    }

    fn into_model(self) -> Result<model::KernelExplanation, Invalid> {
        self.check().map(|()| self.into())
    }
}

impl Wire<model::KernelVersus> for VersusFile {
    const KIND: &'static FileKind = &VERSUS_KIND;

    fn schema(&self) -> &str {
        &self.schema
    }

    fn check(&self) -> Checked {
        check::versus(self)
    }

    fn from_model(versus: &model::KernelVersus) -> VersusFile {
        let versus = versus.clone();
        VersusFile {
            schema: VERSUS_SCHEMA.to_string(),
            operation: versus.operation,
            what: versus.what,
            params: versus.params,
            before: versus.before.into(),
            after: versus.after.into(),
            groups: versus.groups,
            functions: versus.functions,
        }
    }

    fn into_model(self) -> Result<model::KernelVersus, Invalid> {
        self.check()?;
        Ok(model::KernelVersus {
            operation: self.operation,
            what: self.what,
            params: self.params,
            before: self.before.into(),
            after: self.after.into(),
            groups: self.groups,
            functions: self.functions,
        })
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
