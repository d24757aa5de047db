//! The CPU time outside of calls: the CPU time without the calls and the tracer's overhead, divided by samples of the same execution.
//! The calibrated overhead holds as long as the samples do not contradict it.

use super::samples::{entry, ran_ns};
use crate::stacks::{Reader, UNKNOWN};
use model::{INTERRUPT, Outside, PAGE_FAULT, Profile, SampledFunction};
use stats::share_interval;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use sys::bpf::Raw;
use sys::functions::Functions;

/// With so many samples, they weigh as much as the number of page faults in the share of page faults.
const FEW: f64 = 8.0;
const MOST_FUNCTIONS: usize = 5;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Samples {
    user: f64,
    calls: f64,
    page_faults: f64,
    interrupts: f64,
    kernel: f64,
}

/// Divides the time, and corrects the tracer's overhead if samples contradict it. `profile` has the calls and that overhead. The
/// programs do not see `unseen_ns` of a call's way into the kernel and back; a page fault takes `fault_ns`. Both are 0 if unknown.
pub fn divide(raw: &Raw, profile: &mut Profile, unseen_ns: f64, fault_ns: f64) {
    let samples = Samples::count_all(raw);
    let all = profile.all_calls();
    let cpu_ns = ran_ns(raw) as f64;
    let beside_ns = (cpu_ns - all.on_cpu_ns.unwrap_or(0) as f64).max(0.0);
    let added_ns = profile.tracer.added_total_ns.unwrap_or(0) as f64;
    let mut rest_ns = samples.rest(cpu_ns, beside_ns, added_ns);
    if all.untimed > 0 {
        // Their time is in `beside_ns`, which is more than the time outside of calls then.
        rest_ns = rest_ns.min(samples.sampled_ns(cpu_ns));
    }
    if rest_ns > beside_ns - added_ns && all.calls > 0 {
        let facts = &mut profile.tracer;
        facts.added_total_ns = Some((beside_ns - rest_ns) as u64);
        facts.added_per_call_ns = Some((beside_ns - rest_ns) / all.calls as f64);
        // The calibrated range is about the number that has just been replaced.
        facts.added_range_ns = None;
    }
    let faults_ns = profile.usage.minor_faults.unwrap_or(0) as f64 * fault_ns;
    profile.usage.outside =
        Some(samples.divide(rest_ns, cpu_ns, faults_ns, all.calls as f64 * unseen_ns));
}

/// The functions in user space that samples found most often, those of Python with the line of most samples; the first is "[unknown]" if
/// most samples have none. Mappings come from `reader`, which has looked at living processes.
pub fn functions(raw: &Raw, reader: &Reader) -> Vec<SampledFunction> {
    let places = raw.places.clone();
    let functions = reader.ask(move |stacks| {
        let mut functions: BTreeMap<(String, String), BTreeMap<Option<i64>, u64>> = BTreeMap::new();
        for (place, samples) in places.iter().filter(|(place, _)| place.process > 0) {
            let (name, object, line) = stacks.function(place).unwrap_or_default();
            let lines = functions.entry((name, object)).or_default();
            *lines.entry(line).or_default() += samples;
        }
        functions
    });
    let functions = functions.unwrap_or_default().into_iter();
    let functions = functions.map(|((name, object), lines)| SampledFunction {
        name: match lines.iter().max_by_key(|(_, samples)| **samples) {
            Some((Some(line), _)) => format!("{name} ({object}:{line})"),
            _ => name,
        },
        object,
        samples: lines.values().sum(),
    });
    let mut all: Vec<SampledFunction> = functions.collect();
    let half = all.iter().map(|function| function.samples).sum::<u64>() / 2;
    all.retain(|function| !function.name.is_empty() || function.samples > half);
    for unnamed in all.iter_mut().filter(|function| function.name.is_empty()) {
        unnamed.name = UNKNOWN.to_string();
    }
    all.sort_by_key(|function| Reverse(function.samples));
    all.truncate(MOST_FUNCTIONS);
    all
}

impl Samples {
    fn count_all(raw: &Raw) -> Samples {
        let globals = &raw.globals;
        let places: Vec<_> = raw
            .places
            .iter()
            .filter(|(place, _)| place.process == 0)
            .collect();
        // Reading kallsyms takes tens of milliseconds.
        let functions = if places.is_empty() {
            Functions::default()
        } else {
            Functions::of_kernel()
        };
        let mut all = Samples {
            user: globals.samples_user as f64,
            calls: globals.samples_calls as f64,
            kernel: globals.samples_kernel as f64,
            ..Samples::default()
        };
        for (place, samples) in places {
            let function = functions.containing(place.address as u32);
            let sum = match function.map(entry) {
                // The programs could not tell by which function the kernel was entered.
                _ if place.address == 0 => &mut all.kernel,
                Some(PAGE_FAULT) => &mut all.page_faults,
                Some(INTERRUPT) => &mut all.interrupts,
                _ => &mut all.kernel,
            };
            *sum += *samples as f64;
        }
        all
    }

    fn outside(self) -> f64 {
        self.user + self.page_faults + self.interrupts + self.kernel
    }

    /// Whether `share` is beyond the 95% interval of the share that `part` has of all samples.
    fn contradict(self, part: f64, share: f64) -> bool {
        let [low, high] = share_interval(part as u64, (self.outside() + self.calls) as u64);
        !(low..=high).contains(&share)
    }

    /// The CPU time outside of calls by samples alone.
    fn sampled_ns(self, cpu_ns: f64) -> f64 {
        self.outside() * cpu_ns / (self.outside() + self.calls).max(1.0)
    }

    /// The part of `beside_ns`, the CPU time without calls, that is not the tracer's; by calibration, the tracer's is `added_ns`.
    fn rest(self, cpu_ns: f64, beside_ns: f64, added_ns: f64) -> f64 {
        let left_ns = (beside_ns - added_ns).max(0.0);
        let sampled_ns = self.sampled_ns(cpu_ns);
        if sampled_ns > left_ns && self.contradict(self.outside(), left_ns / cpu_ns.max(1.0)) {
            sampled_ns.min(beside_ns)
        } else {
            left_ns
        }
    }

    /// Divides `rest_ns` of `cpu_ns`. By their number, page faults take about `faults_ns`; the programs do not see at most
    /// `crossing_ns` of calls. User mode is what remains.
    fn divide(self, rest_ns: f64, cpu_ns: f64, faults_ns: f64, crossing_ns: f64) -> Outside {
        let elsewhere = self.page_faults + self.interrupts + self.kernel;
        let seen = self.outside();
        let each_ns = cpu_ns / (seen + self.calls).max(1.0);
        // Samples scatter: those of the kernel alone may add up to more than all of the time that is left.
        let fitting = (rest_ns / (elsewhere * each_ns).max(1.0)).min(1.0);
        let otherwise = self.contradict(self.page_faults, faults_ns.min(rest_ns) / cpu_ns.max(1.0));
        let trust = if otherwise || (faults_ns == 0.0 && seen > 0.0) {
            1.0
        } else {
            seen / (seen + FEW)
        };
        // The fewer samples there are, the more the number of page faults counts.
        let [page_faults_ns, interrupts_ns, kernel_ns] = [
            (self.page_faults, faults_ns),
            (self.interrupts, 0.0),
            (self.kernel, 0.0),
        ]
        .map(|(samples, by_number)| {
            let sampled_ns = samples * each_ns * fitting;
            (trust * sampled_ns + (1.0 - trust) * f64::min(by_number, rest_ns)).round()
        });
        let left = (rest_ns.round() - page_faults_ns - interrupts_ns - kernel_ns).max(0.0);
        let crossing_ns = (left - trust * self.user * each_ns)
            .clamp(0.0, crossing_ns)
            .round();
        Outside {
            user_ns: (left - crossing_ns) as u64,
            page_faults_ns: page_faults_ns as u64,
            interrupts_ns: interrupts_ns as u64,
            kernel_ns: (kernel_ns + crossing_ns) as u64,
            samples: seen as u64,
            functions: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples in user mode, calls, page faults, interrupts and elsewhere in the kernel.
    fn counted(samples: [u32; 5]) -> Samples {
        let [user, calls, page_faults, interrupts, kernel] = samples.map(f64::from);
        Samples {
            user,
            calls,
            page_faults,
            interrupts,
            kernel,
        }
    }

    #[test]
    fn samples_outside_of_calls_divide_what_is_left() {
        for (samples, [rest_ns, cpu_ns, faults_ns], expected) in [
            (
                [50, 50, 30, 10, 10],
                [1000.0, 1500.0, 0.0],
                [500, 300, 100, 100],
            ),
            // Samples of short calls come late: half of the time is in calls, but only a quarter of the samples.
            ([50, 25, 25, 0, 0], [1000.0, 2000.0, 0.0], [500, 500, 0, 0]),
            // Nothing but calls and faults.
            ([50, 25, 25, 0, 0], [1000.0, 4000.0, 0.0], [0, 1000, 0, 0]),
            // Without samples, faults are known by their number.
            ([0; 5], [1000.0, 2000.0, 250.0], [750, 250, 0, 0]),
            ([0; 5], [1000.0, 2000.0, 9e9], [0, 1000, 0, 0]),
            ([0; 5], [1000.0, 2000.0, 0.0], [1000, 0, 0, 0]),
            ([4, 0, 4, 0, 0], [1000.0, 1000.0, 250.0], [625, 375, 0, 0]),
            // Large pages: a few faults take all the time.
            ([5, 0, 145, 0, 0], [1500.0, 1500.0, 15.0], [50, 1450, 0, 0]),
        ] {
            let outside = counted(samples).divide(rest_ns, cpu_ns, faults_ns, 0.0);
            let parts = [
                outside.user_ns,
                outside.page_faults_ns,
                outside.interrupts_ns,
                outside.kernel_ns,
            ];
            assert_eq!(parts, expected);
        }
    }

    #[test]
    fn the_unseen_part_of_calls_is_the_kernels_where_samples_leave_it() {
        let divided = [0, 10, 20].map(|user| {
            let outside = counted([user, 80, 0, 0, 0]).divide(1000.0, 5000.0, 0.0, 600.0);
            (outside.user_ns, outside.kernel_ns)
        });
        assert_eq!(divided, [(400, 600), (556, 444), (1000, 0)]);
    }

    #[test]
    fn tracing_takes_what_was_calibrated_unless_samples_contradict_it() {
        for (samples, beside_ns, added_ns, rest_ns) in [
            ([30, 70, 0, 0, 0], 600.0, 100.0, 500.0),
            ([30, 70, 0, 0, 0], 600.0, 350.0, 250.0),
            ([30, 70, 0, 0, 0], 600.0, 600.0, 300.0),
            ([30, 70, 0, 0, 0], 600.0, 9000.0, 300.0),
            ([90, 70, 0, 0, 0], 400.0, 400.0, 400.0),
            ([0; 5], 600.0, 600.0, 0.0),
        ] {
            let rest = counted(samples).rest(1000.0, beside_ns, added_ns);
            assert_eq!(rest, rest_ns);
        }
    }
}
