//! Advice in words: who makes which calls, where, and what to change. All formats of attributions call it.

use crate::attribution::notes::{function, is_traced};
use crate::numbers::{counted, duration, thousands};
use analysis::attribute::Attribution;
use analysis::attribute::advice::{Advice, PathUse, Time};
use analysis::attribute::seconds::Seconds;
use model::prose::some;

const MOST_CALLS: usize = 5;
const MOST_PATHS: usize = 3;
const MOST_SITES: usize = 3;

/// `app: /etc/hostname opened 20,000 times (openat+close), in load(): about 0.06 s of 0.40 s (0.05 s to 0.07 s). Keep it open, ...`
pub fn line(advice: &Advice, attribution: &Attribution) -> String {
    let saved = advice.saved.map_or_else(
        || "its time is not known".to_string(),
        |saved| saving(saved, whole(advice, attribution)),
    );
    let change = advice.change;
    let change = change[..1].to_uppercase() + &change[1..];
    format!(
        "{}: {saved}{}. {change}.",
        cause(advice, 1),
        waiting(advice)
    )
}

/// The time that the saving is a part of, and of which kind it is.
fn whole(advice: &Advice, attribution: &Attribution) -> (Option<f64>, &'static str) {
    let (saves, time) = (advice.time, &attribution.time);
    let threads = attribution.threads.as_ref();
    let of_cpu = saves == Time::Cpu && time.parallel_s().is_some();
    if let Some(calls_s) = time.calls_s {
        (Some(calls_s), " in system calls")
    } else if of_cpu {
        (time.cpu_s, " of CPU time")
    } else if let Some(ledger) = threads.filter(|ledger| saves == Time::Elapsed && ledger.busy > 1)
    {
        (Some(ledger.thread_s), " of thread time")
    } else if is_traced(time) && !advice.spins {
        let entering = attribution.entering.as_ref();
        let entering_s = entering.map_or(0.0, |entering| entering.seconds);
        (time.untraced_s(entering_s), " without tracing")
    } else {
        (time.whole_s(), "")
    }
}

/// `about 0.06 s of 0.40 s (0.05 s to 0.07 s)`: never more than the whole.
fn saving(saved: Seconds, (whole_s, unit): (Option<f64>, &str)) -> String {
    let of_time = whole_s.map_or_else(String::new, |whole_s| {
        format!(" of {}{unit}", duration(whole_s))
    });
    let most_s = whole_s.unwrap_or(f64::INFINITY);
    let ends = [saved.value, saved.low, saved.high];
    let [value, low, high] = ends.map(|seconds| duration(seconds.min(most_s)));
    if low == high {
        format!("about {value}{of_time}")
    } else if saved.low == 0.0 {
        format!("up to {high}{of_time}")
    } else {
        format!("about {value}{of_time} ({low} to {high})")
    }
}

/// What happens, and what to change.
pub fn what(advice: &Advice) -> String {
    format!(
        "{}: {}{}",
        cause(advice, MOST_PATHS),
        advice.change,
        waiting(advice)
    )
}

fn waiting(advice: &Advice) -> &'static str {
    if advice.time == Time::Elapsed && advice.saved.is_some() {
        ", waiting included"
    } else {
        ""
    }
}

fn cause(advice: &Advice, paths: usize) -> String {
    let process = if advice.process.is_empty() {
        String::new()
    } else {
        format!("{}: ", advice.process)
    };
    let sites = advice.sites.iter().take(MOST_SITES);
    let sites =
        sites.map(|(name, calls)| format!("{} in {}", thousands(*calls as f64), function(name)));
    let place = match (&advice.function, advice.sites.len()) {
        (_, 2..) => format!(": {}", some(sites, MOST_SITES)),
        (Some(name), _) => format!(", in {}", function(name)),
        _ => String::new(),
    };
    format!("{process}{}{}{place}", calls(advice), most(advice, paths))
}

/// `20,000 read calls of 1 byte each`, `/etc/hostname opened 20,000 times (openat+read+close)`
fn calls(advice: &Advice) -> String {
    let number = thousands(advice.calls as f64);
    let names = some(&advice.names, MOST_CALLS);
    let size = advice.subject.as_deref().unwrap_or_default();
    let same = match &advice.paths[..] {
        [only] if advice.items == 1 => only.path.clone(),
        _ => format!("the same {}", counted(advice.items, "path")),
    };
    [
        (
            "{turns}",
            format!("{number} times ({})", names.replace(", ", "+")),
        ),
        ("{calls}", counted(advice.calls, &format!("{names} call"))),
        ("{names}", names),
        ("{items}", thousands(advice.items as f64)),
        (
            "{bytes}",
            format!("{size} {}", if size == "1" { "byte" } else { "bytes" }),
        ),
        ("{of}", size.to_string()),
        ("{same}", same),
        (
            "{after}",
            match &advice.after {
                Some(failure) => format!(", after {failure}"),
                None => String::new(),
            },
        ),
    ]
    .iter()
    .fold(advice.phrase.to_string(), |phrase, (word, text)| {
        phrase.replace(word, text)
    })
}

/// `, most time on a.h (150,000 calls), b.h (149,000 calls)`
fn most(advice: &Advice, paths: usize) -> String {
    // A path with few of the calls may be one that another function looks up.
    let is_of_function =
        |path: &&PathUse| advice.function.is_none() || 20 * path.calls >= advice.calls;
    let named = advice.paths.iter().take(paths).filter(is_of_function);
    let named: Vec<String> = named
        .map(|path| format!("{} ({})", path.path, counted(path.calls, "call")))
        .collect();
    let measure = match advice.paths.first() {
        Some(first) if first.elapsed_ns > 0 => "most time on",
        _ => "most often",
    };
    let is_named = advice.items == 1 && advice.phrase.contains("{same}");
    if named.is_empty() || is_named {
        String::new()
    } else {
        format!(", {measure} {}", named.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::attribute::spent::{Part, PartKind, Spent};

    #[test]
    fn time_that_is_not_the_headlines_has_a_name() {
        fn spent(tracer_s: f64) -> Spent {
            Spent {
                wall_s: Some(1.0),
                parts: vec![Part {
                    kind: PartKind::Tracer,
                    wall_s: Some(tracer_s),
                    cpu_s: None,
                    what: Vec::new(),
                }],
                ..Spent::default()
            }
        }

        let saved = Seconds::scaled(0.7, [0.5, 1.0, 2.0]);
        for (tracer_s, spins, expected) in [
            (
                0.001,
                false,
                "about 0.7000 s of 1.00 s (0.3500 s to 1.00 s)",
            ),
            (0.2, true, "about 0.7000 s of 1.00 s (0.3500 s to 1.00 s)"),
            (
                0.2,
                false,
                "about 0.7000 s of 0.8000 s without tracing (0.3500 s to 0.8000 s)",
            ),
        ] {
            let attribution = Attribution {
                time: spent(tracer_s),
                ..Attribution::default()
            };
            let advice = Advice {
                time: Time::Elapsed,
                spins,
                ..Advice::default()
            };
            let whole = whole(&advice, &attribution);
            assert_eq!(saving(saved, whole), expected);
        }
    }
}
