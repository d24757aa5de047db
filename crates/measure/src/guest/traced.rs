//! A probe in a guest whose kernel entries are counted there (`probe/entries.c`).

use super::Channel;
use crate::runner::failure_in;
use model::{Failure, Returned, syscall_names};
use sys::ptrace::Counts;

/// It is traced with all that it starts. Dropping it ends them.
pub struct Traced {
    channel: Channel,
    /// AUDIT_ARCH_* of the program: calls through another gate carry its name.
    own_architecture: u32,
}

impl Traced {
    pub(super) fn begin(channel: Channel) -> Result<Traced, Failure> {
        let calls = parse(&channel.line()?)?;
        // The first call is the program's own: it reads its first line.
        let own_architecture = calls.first().map_or(0, |call| call.architecture);
        Ok(Traced {
            channel,
            own_architecture,
        })
    }

    /// The entries of one batch of n iterations, with those that a request makes beside it.
    pub fn request(&self, n: u64) -> Result<Counts, Failure> {
        Ok(named(&self.calls(n)?, self.own_architecture))
    }

    fn calls(&self, n: u64) -> Result<Vec<Call>, Failure> {
        self.channel.request(n, 1)?;
        parse(&self.channel.line()?)
    }

    /// What the calls of an iteration returned last: those of which a batch of two has more than a batch of one; none if a batch
    /// has room for one only.
    pub fn returned(&self, limit: Option<u64>) -> Result<Returned, Failure> {
        let [few, many] = [1, limit.map_or(2, |limit| limit.min(2))].map(|n| self.calls(n));
        let (few, many) = (named(&few?, self.own_architecture), many?);
        let more = many
            .iter()
            .map(|call| (call.name(self.own_architecture), call));
        let more = more.filter(|(name, call)| call.times > few.get(name).copied().unwrap_or(0));
        Ok(more
            .filter_map(|(name, call)| Some((name, call.result?)))
            .collect())
    }
}

fn named(calls: &[Call], own_architecture: u32) -> Counts {
    calls
        .iter()
        .map(|call| (call.name(own_architecture), call.times))
        .collect()
}

pub(super) fn entries(line: &str) -> Result<Counts, Failure> {
    let calls = parse(line)?;
    Ok(named(
        &calls,
        calls.first().map_or(0, |call| call.architecture),
    ))
}

#[derive(Debug, PartialEq)]
struct Call {
    architecture: u32,
    number: u64,
    times: u64,
    result: Option<i64>,
}

impl Call {
    fn name(&self, own_architecture: u32) -> String {
        syscall_names::name(self.architecture, self.number, own_architecture)
    }
}

/// `entries c000003e:39=8:1 c000003e:0=1`
fn parse(line: &str) -> Result<Vec<Call>, Failure> {
    fn call(word: &str) -> Option<Call> {
        let (architecture, rest) = word.split_once(':')?;
        let (number, rest) = rest.split_once('=')?;
        let (times, result) = rest
            .split_once(':')
            .map_or((rest, None), |(times, result)| (times, Some(result)));
        let architecture = u32::from_str_radix(architecture, 16).ok()?;
        let result = result.map(str::parse).transpose().ok()?;
        Some(Call {
            architecture,
            number: number.parse().ok()?,
            times: times.parse().ok()?,
            result,
        })
    }

    let calls = line
        .strip_prefix("entries")
        .and_then(|words| words.split_whitespace().map(call).collect());
    calls.ok_or_else(|| failure_in(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_read_with_their_gates() {
        fn call(architecture: u32, number: u64, times: u64, result: Option<i64>) -> Call {
            Call {
                architecture,
                number,
                times,
                result,
            }
        }

        let expected = vec![
            call(0xC000_003E, 39, 8, Some(-2)),
            call(0x4000_0003, 20, 1, None),
        ];
        assert_eq!(
            parse("entries c000003e:39=8:-2 40000003:20=1"),
            Ok(expected)
        );
        assert_eq!(parse("entries"), Ok(Vec::new()));
        for wrong in [
            "",
            "total 1 2 3 4",
            "entries 39=8",
            "entries c000003e:39",
            "entries x:1=1",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
