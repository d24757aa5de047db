//! Rules about files: created for each transaction, and synced for each record.

use super::caller::{Caller, is_one_of};
use super::rule::{Advice, MANY, Rule, SOME, Time};
use super::saving;
use crate::attribute::spread::{MODEL_SD, Seconds};
use crate::attribute::units::bare_name;
use crate::model::{CallCount, DescriptorKind};

fn creates(count: &CallCount) -> bool {
    is_one_of(count, &["open", "openat", "openat2", "creat"]) && count.class.operation.as_deref() == Some("create")
}

fn unlinks(count: &CallCount) -> bool {
    is_one_of(count, &["unlink", "unlinkat"]) && count.class.operation.as_deref() != Some("directory")
}

fn closes(count: &CallCount) -> bool {
    bare_name(&count.call) == "close" && matches!(count.class.descriptor, None | Some(DescriptorKind::File))
}

/// Creates, unlinks and as many closes; a file that is kept and emptied takes their place.
pub fn temporary_files(caller: &Caller) -> Vec<Advice> {
    let done = |keep: fn(&CallCount) -> bool| {
        let sum = caller.sum(keep);
        (sum.calls.saturating_sub(sum.failures()), sum.calls.max(1))
    };
    let (created, unlinked, closed) = (done(creates), done(unlinks), done(closes));
    let files = created.0.min(unlinked.0);
    let processes = caller.profile.usage.processes.unwrap_or(1);
    // Several for each process, so that there is a file to keep.
    if files < MANY / 10 || files < processes.saturating_mul(2) {
        return Vec::new();
    }
    let share = |(_, calls): (u64, u64)| files.min(calls) as f64 / calls as f64;
    let part = caller.part(|count| match count {
        count if creates(count) => share(created),
        count if unlinks(count) => share(unlinked),
        count if closes(count) => share(closed),
        _ => 0.0,
    });
    let empties = caller.costs.price_of("file.truncate");
    let found = empties.and_then(|price| part.replaced(Rule::TemporaryFiles, files, price));
    found.map(|advice| Advice { calls: files, ..advice }).into_iter().collect()
}

/// Records that share a sync in the advice.
pub const GROUP: f64 = 10.0;

/// One sync for ten records would save nine of ten waits.
pub fn sync_per_record(caller: &Caller) -> Vec<Advice> {
    let part = caller.whole(|count| is_one_of(count, &["fsync", "fdatasync"]));
    let writes = caller.named(&["write", "pwrite64", "writev", "pwritev", "pwritev2"]).calls;
    if part.calls < SOME || writes >= part.calls.saturating_mul(SOME) {
        return Vec::new();
    }
    let saved = match part.measured_s(Time::Elapsed) {
        // What a device takes changes from one run to the next.
        Some(waited) => Seconds::within(waited * (1.0 - 1.0 / GROUP), MODEL_SD).at_most(waited * (1.0 + MODEL_SD)),
        None => match part.takes(Time::Elapsed) {
            Some(priced) => saving::less(priced, Seconds::exactly(priced.value / GROUP)),
            None => return Vec::new(),
        },
    };
    let measured_s = part.measured_s(Time::Elapsed);
    let advice = part.advice(Rule::SyncPerRecord { writes }, Some(saved), []);
    vec![Advice { measured_s, time: Time::Elapsed, ..advice }]
}
