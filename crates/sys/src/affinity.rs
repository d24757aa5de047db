//! Chooses the CPU to measure on, and those for the driver.

use super::{Sources, cgroup};
use anyhow::{Result, bail};
use nix::errno::Errno;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

#[derive(Clone, Copy, Default, PartialEq)]
pub enum Wanted {
    #[default]
    Best,
    Cpu(u32),
    None,
}

impl std::str::FromStr for Wanted {
    type Err = String;
    fn from_str(text: &str) -> Result<Wanted, String> {
        match text {
            "none" => Ok(Wanted::None),
            _ => text
                .parse()
                .map(Wanted::Cpu)
                .map_err(|_| format!("'{text}' is neither a CPU number nor 'none'")),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Placement {
    pub measuring: Option<u32>,
    pub driver: Vec<u32>,
    pub reason: String,
}

impl Placement {
    /// Chooses a CPU to measure on and moves this process to the others. Pins nothing if the system has no CPU affinity
    /// (ENOSYS, as in some sandboxes).
    ///
    /// # Errors
    /// `wanted` is a CPU that this process may not use.
    pub fn choose(wanted: Wanted) -> Result<Placement> {
        let allowed = match allowed() {
            Err(Errno::ENOSYS) => {
                return Ok(Placement {
                    reason: "not pinned: this system cannot pin processes".into(),
                    ..Placement::default()
                });
            }
            allowed => allowed?,
        };
        let placement = decide(wanted, &allowed, &siblings)?;
        if !placement.driver.is_empty() {
            set(&placement.driver)?;
        }
        Ok(placement)
    }

    /// Processes that `work` starts inherit that CPU, so no code has to run between fork and exec, which would need `unsafe`.
    pub fn on_measuring_cpu<T>(&self, work: impl FnOnce() -> T) -> T {
        self.on(&Vec::from_iter(self.measuring), work)
    }

    /// Runs `work` on the measuring CPU and the driver's: for probes that place their own threads.
    pub fn on_all_cpus<T>(&self, work: impl FnOnce() -> T) -> T {
        self.on(
            &[Vec::from_iter(self.measuring), self.driver.clone()].concat(),
            work,
        )
    }

    fn on<T>(&self, cpus: &[u32], work: impl FnOnce() -> T) -> T {
        let this = Pid::from_raw(0);
        let (Some(_), Ok(before)) = (self.measuring, sched_getaffinity(this)) else {
            return work();
        };
        let moved = set(cpus).is_ok();
        let done = work();
        if moved {
            let _ = sched_setaffinity(this, &before);
        }
        done
    }
}

static TAKEN: Mutex<BTreeMap<u32, usize>> = Mutex::new(BTreeMap::new());

/// Runs `work`, and what it starts, on the one of this thread's CPUs that has the fewest threads pinned by this function.
pub fn on_one_cpu<T>(work: impl FnOnce() -> T) -> T {
    fn taken() -> std::sync::MutexGuard<'static, BTreeMap<u32, usize>> {
        TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
    }

    let measuring = allowed().ok().and_then(|cpus| take(&mut taken(), &cpus));
    let placement = Placement {
        measuring,
        ..Placement::default()
    };
    let done = placement.on_measuring_cpu(work);
    if let Some(cpu) = measuring {
        taken().entry(cpu).and_modify(|threads| *threads -= 1);
    }
    done
}

fn take(taken: &mut BTreeMap<u32, usize>, cpus: &[u32]) -> Option<u32> {
    let cpu = *cpus
        .iter()
        .min_by_key(|cpu| taken.get(cpu).copied().unwrap_or_default())?;
    *taken.entry(cpu).or_default() += 1;
    Some(cpu)
}

/// `None` if it is available. The kernel moves tasks away from such a CPU without an error.
pub fn gone(sources: &Sources, cpu: u32) -> Option<&'static str> {
    fn lacks(sources: &Sources, path: &str, cpu: u32) -> bool {
        sources.cpus(path).is_some_and(|cpus| !cpus.contains(&cpu))
    }

    if lacks(sources, "sys/devices/system/cpu/online", cpu) {
        return Some("went offline");
    }
    let groups = cgroup::directories(sources, "cpuset");
    let files = ["cpuset.cpus.effective", "cpuset.effective_cpus"];
    let is_taken = groups.iter().any(|group| {
        files
            .iter()
            .any(|file| lacks(sources, &format!("{group}/{file}"), cpu))
    });
    is_taken.then_some("left the control group's CPUs")
}

/// `None` if the process has ended.
pub fn is_pinned(process: u32, cpu: u32) -> Option<bool> {
    let process = Pid::from_raw(i32::try_from(process).ok()?);
    let set = sched_getaffinity(process).ok()?;
    Some((0..CpuSet::count()).all(|i| set.is_set(i).unwrap_or(false) == (i == cpu as usize)))
}

/// The last allowed CPU measures (device interrupts mostly go to the first); the driver gets the others, preferably not
/// those that share a core with it.
fn decide(
    wanted: Wanted,
    allowed: &[u32],
    siblings: &dyn Fn(u32) -> Vec<u32>,
) -> Result<Placement> {
    let measuring = match wanted {
        Wanted::None => {
            return Ok(Placement {
                reason: "not pinned, as asked".into(),
                ..Placement::default()
            });
        }
        Wanted::Cpu(cpu) if !allowed.contains(&cpu) => {
            bail!(
                "--cpu {cpu}: this process may run on {allowed:?} only; name one of these, or 'none'"
            )
        }
        Wanted::Cpu(cpu) => cpu,
        Wanted::Best => *allowed.last().unwrap_or(&0),
    };
    let mut others = allowed.to_vec();
    others.retain(|cpu| *cpu != measuring);
    let shared = siblings(measuring);
    let mut apart = others.clone();
    apart.retain(|cpu| !shared.contains(cpu));
    let driver = [apart, others, vec![measuring]]
        .into_iter()
        .find(|cpus| !cpus.is_empty())
        .unwrap_or_default();
    let choice = if wanted == Wanted::Best {
        "the last of those allowed"
    } else {
        "as asked"
    };
    let shared = if driver == [measuring] {
        "; the driver must share it"
    } else {
        ""
    };
    Ok(Placement {
        measuring: Some(measuring),
        driver,
        reason: format!("{choice}{shared}"),
    })
}

fn allowed() -> Result<Vec<u32>, Errno> {
    let set = sched_getaffinity(Pid::from_raw(0))?;
    let cpus = (0..CpuSet::count()).filter(|cpu| set.is_set(*cpu).unwrap_or(false));
    Ok(cpus.filter_map(|cpu| u32::try_from(cpu).ok()).collect())
}

fn set(cpus: &[u32]) -> Result<()> {
    let mut set = CpuSet::new();
    for cpu in cpus {
        set.set(*cpu as usize)?;
    }
    Ok(sched_setaffinity(Pid::from_raw(0), &set)?)
}

fn siblings(cpu: u32) -> Vec<u32> {
    let path = format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    Sources::default().cpus(&path).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::tree;

    #[test]
    fn threads_share_cpus_only_if_there_are_more_of_them() {
        let mut taken = BTreeMap::new();
        assert_eq!(
            [(); 3].map(|()| take(&mut taken, &[2, 5])),
            [Some(2), Some(5), Some(2)]
        );
        assert_eq!(take(&mut taken, &[]), None);
    }

    #[test]
    fn one_cpu_is_left_again() {
        let before = allowed().unwrap();
        let within = on_one_cpu(|| allowed().unwrap());
        assert_eq!((within.len(), allowed().unwrap()), (1, before));
        assert!(
            TAKEN
                .lock()
                .unwrap()
                .get(&within[0])
                .is_some_and(|threads| *threads < 2),
            "{within:?} is still taken"
        );
    }

    #[test]
    fn the_driver_avoids_the_measured_core_if_possible() {
        for (wanted, allowed, shared, measuring, driver) in [
            (
                Wanted::Best,
                &[0, 1, 2, 3][..],
                &[2, 3][..],
                Some(3),
                &[0, 1][..],
            ),
            (Wanted::Best, &[0, 1], &[0, 1], Some(1), &[0]),
            (Wanted::Cpu(0), &[0, 1], &[0], Some(0), &[1]),
            (Wanted::Best, &[5], &[], Some(5), &[5]),
            (Wanted::None, &[0, 1], &[], None, &[]),
        ] {
            let placement = decide(wanted, allowed, &|_| shared.to_vec()).unwrap();
            assert_eq!(
                (placement.measuring, &placement.driver[..]),
                (measuring, driver)
            );
        }
        assert!(
            decide(Wanted::Cpu(9), &[0, 1], &|_| vec![])
                .unwrap_err()
                .to_string()
                .contains("--cpu 9")
        );
    }

    #[test]
    fn a_cpu_is_gone_when_it_is_offline_or_not_the_groups() {
        let left = Some("left the control group's CPUs");
        let offline = [("sys/devices/system/cpu/online", "0,2-3\n")];
        let second = [
            ("sys/devices/system/cpu/online", "0-3\n"),
            ("proc/self/cgroup", "0::/a/b\n"),
            ("sys/fs/cgroup/a/cpuset.cpus.effective", "0-1\n"),
        ];
        let first = [
            ("proc/self/cgroup", "3:cpuset:/x\n"),
            ("sys/fs/cgroup/cpuset/x/cpuset.effective_cpus", "0\n"),
        ];
        // Without the files, every CPU counts as available.
        for (files, cpu, expected) in [
            (&offline[..], 1, Some("went offline")),
            (&offline, 2, None),
            (&second, 3, left),
            (&second, 1, None),
            (&first, 1, left),
            (&first, 0, None),
            (&[], 5, None),
        ] {
            assert_eq!(gone(&tree(files).1, cpu), expected);
        }
    }
}
