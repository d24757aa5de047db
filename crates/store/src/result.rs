//! Result files. Within a version of any kind of file, only optional fields may be added; unknown ones are ignored on reading, so
//! that additions do not break older programs.

mod check;
mod repeats;

use super::document::Document;
use super::error::FileKind;
use super::rules::Checked;
use model::Run;
use repeats::Repeats;

pub const KIND: FileKind = FileKind {
    family: "syscost.result/",
    version: 1,
    noun: "result file",
    origin: "a run",
    again: "measure again",
    smaller: "measure fewer cases a run",
};

impl Document for Run {
    const KIND: &'static FileKind = &KIND;
    type Head = Repeats;

    fn head(&self) -> Repeats {
        Repeats::from_run(self)
    }

    fn complete(&mut self, head: Repeats, _: &str) -> Checked {
        head.complete(self)
    }

    fn check(&self) -> Checked {
        check::run(self)
    }
}
