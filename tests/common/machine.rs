//! This machine: its workers, its control groups, and the kernels that it can emulate.

use super::*;
use measure::plan::{Choices, Subject, select};
use measure::runner::{Interrupt, RunDirectory, Workers, read_catalogue};
use model::{Operation, Planned};
use sys::affinity::{Placement, Wanted};

pub const EMULATOR: &str = "qemu-system-x86_64";

/// The name of an environment whose kernel can be booted here, or says that `test` is skipped. It is Linux 6.1, whose counts
/// repeat exactly.
pub fn emulated_kernel() -> Option<String> {
    emulated_kernel_of("6.1", "x86_64")
}

/// The same of a series, for a processor as `uname -m` shows it. The name says which by the image's header only.
pub fn emulated_kernel_of(series: &str, architecture: &str) -> Option<String> {
    let emulator = format!("qemu-system-{architecture}");
    match measure::guest::images::find(series, architecture) {
        Ok(image) if measure::runner::on_path(&emulator).is_some() => {
            return Some(format!("linux:{}", image.path.display()));
        }
        Ok(_) => skip(&format!("no {emulator} on PATH")),
        Err(reason) => skip(&format!("{reason:#}")),
    }
    None
}

/// A control group of version 2 of its own, which is removed with all that runs in it.
pub struct ControlGroup(pub PathBuf);

impl ControlGroup {
    pub fn new() -> Option<ControlGroup> {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let mount = mounts
            .lines()
            .map(|line| line.split(' ').collect::<Vec<_>>())
            .find(|fields| fields[2] == "cgroup2");
        let group = mount
            .map(|mount| Path::new(mount[1]).join(format!("syscost-test-{}", std::process::id())));
        match group.filter(|group| fs::create_dir(group).is_ok()) {
            Some(group) => Some(ControlGroup(group)),
            None => {
                skip("no control group of version 2 can be made here");
                None
            }
        }
    }

    pub fn run(&self, line: &str) -> Child {
        let enter = format!("echo $$ > {}/cgroup.procs && {line}", self.0.display());
        Command::new("sh")
            .args(["-c", &enter])
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    }

    pub fn pids(&self) -> Vec<i32> {
        let text = fs::read_to_string(self.0.join("cgroup.procs")).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        for pid in self.pids() {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        let removed = || fs::remove_dir(&self.0).ok();
        wait_for(removed);
    }
}

/// This machine as a run has it: its workers, and what the probe offers.
pub struct Machine {
    pub workers: Workers,
    catalogue: Vec<Operation>,
}

impl Machine {
    pub fn new() -> Machine {
        let directory = RunDirectory::create().unwrap();
        let catalogue = read_catalogue(&directory.probe()).unwrap();
        let placement = Placement::choose(Wanted::Best).unwrap();
        let workers = Workers::new(directory, placement, Interrupt::default(), PATIENCE);
        Machine { workers, catalogue }
    }

    pub fn planned(&self, id: &str) -> Planned {
        let operation = self.catalogue.iter().find(|operation| operation.id == id);
        let subject = Subject::Operation(operation.unwrap());
        let planned = select(&self.catalogue, &[subject], &Choices::default());
        planned.unwrap().remove(0)
    }
}
