//! The default tracer: eBPF programs (`sys::bpf`) count in the kernel, and nothing is sent to user space while the tree runs.

mod decode;
mod details;
mod locks;
mod names;
mod outside;
mod samples;
mod threads;
mod totals;
mod wakes;

use super::{
    Detail, Grouping, More, Root, Running, Target, TraceOptions, Tracer, TracerKind, Until,
};
use crate::cgroup::{self, Hierarchies};
use crate::kept::Kept;
use crate::stacks::{Named, Reader};
use crate::{lineage, sections};
use anyhow::{Context, Result, anyhow};
use decode::Decoder;
use model::{Drives, Ending, ProcessGroup, Profile, TracerFacts};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use stats::Overhead;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};
use sys::bpf::layout::state;
use sys::bpf::{
    self, Calibration, Config, Each, GroupBy, Kind, Live, MANY, Programs, Python, Raw, Scope,
};
use sys::{pidfd, tracee, tree};

pub const KIND: TracerKind = TracerKind {
    name: "bpf",
    what: "The kernel counts: exact, least overhead. Root or CAP_BPF and CAP_PERFMON",
    open,
};

/// Descriptors of epoll sets that are noted; the map has room for as many that are added later.
const MOST_POLLED: usize = 32_768;
const UNATTACHED: &str = "the tracer is not attached";
/// The pause between looks at a tree whose first process has ended: nothing signals the end of the others.
const TREE_PERIOD: Duration = Duration::from_millis(2);
/// The pause after events were read: reading them must cost less than making them.
const EVENT_PERIOD: Duration = Duration::from_micros(500);
const UNTIL_PERIOD: Duration = Duration::from_millis(20);

/// Loads the programs and measures their overhead, unless that was done in this boot.
///
/// # Errors
/// eBPF is not available, or cannot trace this target; the reason is in one line.
pub fn open(options: &TraceOptions) -> Result<Box<dyn Tracer>> {
    bpf::available().map_err(|why| anyhow!("{why}"))?;
    let detail = options.detail;
    let tree = options.more.tree && detail != Detail::Samples;
    let scope = scope(&options.target)?;
    let details = details::wanted(options)?;
    let kept = kept(detail, details, scope);
    let before: Option<(Calibration, Duration)> = kept.as_ref().and_then(Kept::load);
    let sampled = detail == Detail::Samples || (detail == Detail::Times && !options.more.live);
    let config = Config {
        record: detail,
        scope,
        group_by: group_by(options.more.grouping, tree),
        calls: names::settings(),
        details,
        interruption: if sampled {
            Some(before.unwrap_or_default().1)
        } else {
            None
        },
    };
    let mut programs = Programs::load(&config)?;
    let calibration = match before {
        _ if detail == Detail::Samples => Calibration::default(),
        Some((calibration, _)) => calibration,
        None => {
            let calibration = bpf::calibrate(&mut programs)?;
            // A busy machine's numbers are not kept: the next trace measures again.
            if let Some(kept) = kept
                && calibration.is_known()
            {
                let interruption = programs.sampling().unwrap_or_default().1;
                kept.save(&(calibration, interruption));
            }
            calibration
        }
    };
    programs.attach()?;
    Ok(Box::new(Bpf {
        detail,
        more: More {
            tree,
            ..options.more
        },
        config,
        programs,
        calibration,
        reader: Reader::default(),
        followed: None,
        ending: None,
    }))
}

fn kept(detail: Detail, wanted: bpf::Wanted, scope: Scope) -> Option<Kept> {
    // Each detail adds instructions to every call, so a calibration is valid for one set of them.
    let flags = [
        wanted.paths,
        wanted.descriptors,
        wanted.stacks,
        wanted.callers,
        wanted.slowest,
        wanted.waits,
        scope != Scope::Command,
    ];
    let flags = flags.map(|flag| if flag { "1" } else { "0" }).concat();
    let what = match detail {
        Detail::Times => "times",
        Detail::Counts => "counts",
        Detail::Samples => return None,
    };
    Kept::for_tracer(&format!("bpf-{what}-{flags}"), bpf::OBJECT)
}

fn group_by(grouping: Grouping, tree: bool) -> GroupBy {
    match grouping {
        Grouping::Name if tree => GroupBy::Tree,
        Grouping::Name => GroupBy::Name,
        Grouping::Process => GroupBy::Process,
        Grouping::Cgroup => GroupBy::Cgroup,
        Grouping::Thread => GroupBy::Thread,
    }
}

fn scope(target: &Target) -> Result<Scope> {
    let Target::Running(what) = target else {
        return Ok(Scope::Command);
    };
    Ok(match what {
        Running::Processes(_) => Scope::Processes,
        Running::Cgroup(directory) => Scope::Cgroup(cgroup::id(directory)?),
        Running::System => Scope::System,
    })
}

struct Bpf {
    detail: Detail,
    more: More,
    config: Config,
    programs: Programs,
    calibration: Calibration,
    reader: Reader,
    followed: Option<Followed>,
    ending: Option<Ending>,
}

struct Followed {
    root: Root,
    begun_ns: u64,
    pidfds: Vec<OwnedFd>,
}

impl Tracer for Bpf {
    fn introduction(&self) -> String {
        if let Some(hz) = self.sampled_hz() {
            return format!("eBPF, {hz} samples a second of each CPU, nothing at calls");
        }
        let counts = if self.detail == Detail::Counts {
            ", counts only"
        } else {
            ""
        };
        // The overhead depends on the call: it is in the profile, not in this line.
        let known = self.calibration.added.and_then(|added| added[0].added());
        let unknown = known.map_or(", overhead unknown: the machine is busy", |_| "");
        format!("eBPF{counts}{unknown}")
    }

    fn attach(&mut self, root: Root) -> Result<()> {
        self.reader = Reader::start()?;
        self.programs.begin()?;
        let begun_ns = bpf::now_ns()?;
        let pidfds = match &root {
            Root::Held(pid) if self.config.scope == Scope::Command => {
                vec![self.mark(*pid, state::HELD)?]
            }
            Root::Held(pid) => self.adopt_trees(&[*pid])?,
            Root::Running(Running::Processes(pids)) => self.adopt_trees(pids)?,
            Root::Running(Running::Cgroup(_) | Running::System) => {
                // Our own calls, those that read the counts included, would be among the system's.
                self.mark(std::process::id(), state::EXCLUDED)?;
                Vec::new()
            }
        };
        if self.config.scope != Scope::Command {
            self.programs.begin_present()?;
        }
        if self.config.details.waits && self.config.scope == Scope::Processes {
            self.note_polled()?;
        }
        self.programs.sample()?;
        self.followed = Some(Followed {
            root,
            begun_ns,
            pidfds,
        });
        Ok(())
    }

    fn follow(&mut self, until: &Until) -> Result<()> {
        let followed = self.followed.take().context(UNATTACHED)?;
        let done = self.follow_until(&followed, until);
        self.followed = Some(followed);
        done
    }

    fn snapshot(&mut self) -> Result<(Profile, bool)> {
        self.take_events();
        let followed = self.followed.as_ref().context(UNATTACHED)?;
        self.collected(followed)
    }

    fn regroup(&mut self, by: Grouping) -> Result<()> {
        let root = self.followed.take().context(UNATTACHED)?.root;
        self.more.grouping = by;
        self.config.group_by = group_by(by, self.more.tree);
        // The command is not held any more: its execve was counted.
        if self.config.scope == Scope::Command {
            self.config.scope = Scope::Processes;
        }
        self.programs.detach();
        self.programs = Programs::load(&self.config)?;
        self.programs.attach()?;
        self.attach(root)
    }

    fn collect(&mut self) -> Result<Profile> {
        let followed = self.followed.take().context(UNATTACHED)?;
        self.programs.end()?;
        self.take_events();
        let collected = self.collected(&followed);
        self.programs.detach();
        Ok(collected?.0)
    }
}

impl Bpf {
    fn follow_until(&mut self, followed: &Followed, until: &Until) -> Result<()> {
        let deadline = until.after.map(|after| Instant::now() + after);
        // A control group or the whole system has no process whose end would end the trace.
        while followed.pidfds.is_empty() && !is_over(until, deadline) {
            let left = deadline.map_or(UNTIL_PERIOD, |deadline| {
                deadline.saturating_duration_since(Instant::now())
            });
            // poll takes whole milliseconds: without one more it would be called again and again in the last one.
            self.wait(None, UNTIL_PERIOD.min(left + Duration::from_millis(1)))?;
        }
        for pidfd in &followed.pidfds {
            while !self.wait(Some(pidfd.as_fd()), UNTIL_PERIOD)? {
                if is_over(until, deadline) {
                    return Ok(());
                }
            }
        }
        if let Root::Held(pid) = followed.root {
            let ending = tracee::wait_for_end(pid.cast_signed(), 0);
            self.ending = Some(ending.context("cannot wait for the traced process")?);
        }
        while self.is_left(until.alone)? && !is_over(until, deadline) {
            self.wait(None, TREE_PERIOD)?;
        }
        Ok(())
    }

    /// Whether a process of the tree has not ended. One that has been waited for may not have left the CPU for the last time.
    fn is_left(&self, alone: bool) -> Result<bool> {
        let globals = self.programs.globals()?;
        Ok(globals.ending > 0 || (!alone && globals.live > 0))
    }

    /// Waits for the end of a process or for events, and takes the events; returns whether the process has ended.
    fn wait(&mut self, process: Option<BorrowedFd>, timeout: Duration) -> Result<bool> {
        if self.take_events() {
            std::thread::sleep(EVENT_PERIOD);
        }
        let has_stacks = self.has_stacks();
        let ring = self.programs.events();
        let all = [process, has_stacks.then_some(ring.as_fd())];
        let mut fds: Vec<PollFd> = all
            .into_iter()
            .flatten()
            .map(|fd| PollFd::new(fd, PollFlags::POLLIN))
            .collect();
        let limit = PollTimeout::try_from(timeout).unwrap_or(PollTimeout::ZERO);
        let ready = match poll(&mut fds, limit) {
            Ok(ready) => ready,
            Err(Errno::EINTR) => return Ok(false),
            Err(error) => return Err(error).context("poll of the traced process"),
        };
        let ended = process.is_some() && fds.first().and_then(PollFd::any).unwrap_or(false);
        drop(fds);
        // Only when nothing else is to be done: names of sampled functions matter less than events.
        if ready == 0 && timeout >= UNTIL_PERIOD {
            self.look_at_places();
        }
        Ok(ended)
    }

    /// Looks up the files of sampled addresses while their processes live: /proc has no mappings of those that ended.
    fn look_at_places(&mut self) {
        if self.detail == Detail::Times && self.programs.sampling().is_some() {
            let mut places = self.programs.places().unwrap_or_default();
            places.retain(|(place, _)| place.process > 0 && place.code == 0);
            let pythons = self.reader.ask(move |stacks| {
                for (place, _) in places {
                    stacks.look(place.process, place.address);
                }
                stacks.pythons()
            });
            self.set_pythons(pythons);
        }
    }

    fn has_stacks(&self) -> bool {
        self.more.stacks || self.more.callers || self.config.details.waits
    }

    fn take_events(&mut self) -> bool {
        let mut records = Vec::new();
        if self.has_stacks() {
            // Copied: the reader works on another thread, and programs need the room.
            self.programs
                .events()
                .drain(&mut |record| records.push(record.to_vec()));
        }
        let are_new = !records.is_empty();
        if are_new {
            let pythons = self.reader.ask(move |stacks| {
                records.iter().for_each(|record| stacks.take(record));
                stacks.forget();
                stacks.pythons()
            });
            self.set_pythons(pythons);
        }
        are_new
    }

    fn set_pythons(&self, found: Option<Vec<(u32, Python)>>) {
        for (pid, python) in found.unwrap_or_default() {
            // An error only means that functions of scripts have no names.
            let _ = self.programs.set_python(pid, &python);
        }
    }

    fn collected(&self, followed: &Followed) -> Result<(Profile, bool)> {
        let mut raw = self.programs.read()?;
        threads::name_futexes(&self.reader, &mut raw);
        let mut collected = Profile {
            tracer: self.facts(&raw),
            ending: self.ending,
            ..Profile::default()
        };
        let paths = match self.more.grouping {
            Grouping::Cgroup => Hierarchies::here().names(),
            _ => BTreeMap::new(),
        };
        if self.detail == Detail::Samples {
            samples::decode(&raw, self.more.grouping, &paths, &mut collected);
            totals::fill(&raw, peak_rss_kib(&followed.root), &mut collected);
            sort(&mut collected.groups);
            return Ok((collected, raw.torn));
        }
        // With the tree, groups are nodes of it: each name has several, which the flat tables sum up.
        let tree = self.more.tree && self.more.grouping == Grouping::Name;
        let flat = if tree {
            Cow::Owned(raw.by_name())
        } else {
            Cow::Borrowed(&raw)
        };
        if tree {
            let nodes = decode::nodes(&raw);
            collected.tree = lineage::paths(&nodes);
            let lost = [raw.globals.stray_ends, raw.globals.sections_lost];
            let counts = Decoder::new(&raw, self.detail);
            sections::fill(&nodes, counts.counts(), lost, &mut collected);
        }
        Decoder::new(&flat, self.detail).fill(self.more.grouping, &paths, &mut collected);
        details::fill(
            &Decoder::new(&raw, self.detail),
            self.more,
            &self.named(&raw),
            followed.begun_ns,
            &mut collected,
        );
        if self.calibration.added.is_none() {
            collected.warnings.push(
                "tracing overhead unknown: the machine was too busy to measure it".to_string(),
            );
        }
        decode::subtract(self.calibration.offset_ns().unwrap_or(0.0), &mut collected);
        totals::fill(&flat, peak_rss_kib(&followed.root), &mut collected);
        collected.usage.programs = Some(decode::programs(&raw));
        sort(&mut collected.groups);
        self.divide(&raw, &mut collected);
        collected.warnings.extend(self.reader.warning());
        Ok((collected, raw.torn))
    }

    fn divide(&self, raw: &Raw, collected: &mut Profile) {
        if self.programs.sampling().is_none() {
            return;
        }
        let calibration = &self.calibration;
        outside::divide(
            raw,
            collected,
            calibration.unseen_ns(),
            calibration.fault_ns,
        );
        if let Some(outside) = &mut collected.usage.outside {
            outside.functions = outside::functions(raw, &self.reader);
        }
    }

    fn named(&self, raw: &Raw) -> Named {
        let open: Vec<Live> = match self.config.details.waits {
            true => raw
                .live
                .iter()
                .filter(|live| live.ip > 0)
                .copied()
                .collect(),
            false => Vec::new(),
        };
        let named = self.reader.ask(move |stacks| {
            let open = stacks.waiting(&open);
            Named {
                open,
                ..stacks.named()
            }
        });
        named.unwrap_or_default()
    }

    fn sampled_hz(&self) -> Option<u64> {
        if self.detail != Detail::Samples {
            return None;
        }
        self.programs.sampling().map(|(hz, _)| hz)
    }

    fn mark(&self, pid: u32, mark: u64) -> Result<OwnedFd> {
        let pidfd = pidfd::open(pid.cast_signed()).with_context(|| format!("no process {pid}"))?;
        self.programs.mark(pidfd.as_fd(), mark)?;
        Ok(pidfd)
    }

    /// Marks processes and their present descendants, and returns the descriptors of the former. Repeats until there is no
    /// new one, as one that was not marked yet may just have forked.
    fn adopt_trees(&self, pids: &[u32]) -> Result<Vec<OwnedFd>> {
        let roots = pids
            .iter()
            .map(|pid| self.mark(*pid, state::LIVE))
            .collect::<Result<_>>()?;
        loop {
            let mut new = false;
            for pid in pids.iter().flat_map(|pid| tree::processes(*pid)) {
                new |= adopt(&self.programs, pid)?;
            }
            if !new {
                return Ok(roots);
            }
        }
    }

    /// Notes the descriptors that are in epoll sets already.
    fn note_polled(&self) -> Result<()> {
        let live = self.programs.live()?;
        let processes: BTreeSet<u32> = live.iter().map(|task| task.process).collect();
        // The programs see only descriptors that are added to epoll sets from now on.
        let polled = processes.into_iter().flat_map(threads::polled);
        let mut polled = polled.take(MOST_POLLED);
        polled.try_for_each(|(key, descriptor)| self.programs.set_polled(&key, descriptor))
    }

    fn facts(&self, raw: &Raw) -> TracerFacts {
        let (events, calls) = by_kind(raw, self.more);
        let each = self
            .calibration
            .added
            .and_then(|added| sum(events, added, calls).or(Some(added[0])));
        let added_ns = each.and_then(|each| each.added());
        let how = match self.detail {
            Detail::Times => "calls counted and timed by programs at the kernel's tracepoints",
            Detail::Counts => "calls counted by programs at the kernel's tracepoints",
            Detail::Samples => "CPUs sampled by their clocks, waits timed at switches",
        };
        TracerFacts {
            kind: "bpf".to_string(),
            detail: how.to_string(),
            added_per_call_ns: added_ns,
            added_range_ns: each.map(|each| each.range()),
            added_total_ns: added_ns.map(|ns| (ns * calls as f64).round() as u64),
            adds_system_time: Some(true),
            offset_per_call_ns: self.calibration.offset_ns(),
            offset_range_ns: self.calibration.offset.map(|offset| offset.range()),
            sampled_hz: self.sampled_hz(),
            lost: raw.globals.lost,
            ..TracerFacts::default()
        }
    }
}

fn sort(groups: &mut [ProcessGroup]) {
    groups.sort_by(|a, b| (&a.name, a.pid, &a.cgroup).cmp(&(&b.name, b.pid, &b.cgroup)));
}

fn peak_rss_kib(root: &Root) -> u64 {
    let Root::Running(Running::Processes(pids)) = root else {
        return 0;
    };
    let peaks = pids.iter().map(|pid| tree::peak_rss_kib(*pid));
    peaks.max().unwrap_or(0)
}

fn by_kind(raw: &Raw, more: More) -> (Each<u64>, u64) {
    let mut events = Each::default();
    for (key, counted) in &raw.calls {
        let kind = match names::drives_of(key.number, key.gate) {
            None | Some(Drives::Length | Drives::Set) => Kind::Plain,
            Some(Drives::Path) => Kind::Path,
            Some(Drives::Bytes | Drives::Descriptor) => Kind::Descriptor,
        };
        // Untimed calls cost half: nothing ran at their entry.
        events[kind as usize] += counted.calls / (1 + u64::from(key.untimed));
    }
    let calls = raw.calls.iter().map(|(_, counted)| counted.calls).sum();
    let names = if more.paths || more.descriptors {
        raw.names.len() as u64
    } else {
        0
    };
    // Calls with one of many paths cost more, as the calibration knows for `MANY` of them: with fewer, that share of the calls.
    let many = events[Kind::Path as usize] * names.min(MANY.into()) / u64::from(MANY);
    events[Kind::Path as usize] -= many;
    events[Kind::ManyPaths as usize] = many;
    events[Kind::Name as usize] = names;
    events[Kind::Switch as usize] = totals::used(raw)
        .map(|(_, used)| used.voluntary_switches + used.involuntary_switches)
        .sum();
    events[Kind::Process as usize] =
        // Without the first one, which was there before the trace began.
        (raw.globals.processes + raw.globals.threads).saturating_sub(1);
    (events, calls)
}

/// The overhead of all these events per call; `None` without calls. The kinds were measured together, so that their errors have the same
/// sign, and bounds are added.
fn sum(events: Each<u64>, added: Each<Overhead>, calls: u64) -> Option<Overhead> {
    if calls == 0 {
        return None;
    }
    let mut sums = [0.0; 3];
    for (events, each) in events.iter().zip(&added) {
        for (sum, ns) in sums.iter_mut().zip([each.ns, each.low, each.high]) {
            *sum += *events as f64 * ns;
        }
    }
    let [ns, low, high] = sums.map(|sum| sum / calls as f64);
    Some(Overhead { ns, low, high })
}

fn is_over(until: &Until, deadline: Option<Instant>) -> bool {
    until.stopped() || deadline.is_some_and(|deadline| Instant::now() >= deadline)
}

/// False if it is marked already, or has ended since it was listed.
fn adopt(programs: &Programs, pid: u32) -> Result<bool> {
    match pidfd::open(pid.cast_signed()) {
        Ok(pidfd) => programs.mark(pidfd.as_fd(), state::LIVE),
        Err(Errno::ESRCH) => Ok(false),
        Err(error) => Err(error).with_context(|| format!("pidfd_open of process {pid}")),
    }
}
