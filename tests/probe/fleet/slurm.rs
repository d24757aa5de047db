//! Slurm of the test's own: three nodes on this machine, each slurmd in a UTS namespace, on free ports of the loopback
//! address, with private directories. `.ci/fleet` unpacks its programs; SYSCOST_SLURM names the directory.

use crate::common::{Job, Place, wait_for};
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// A running cluster with the nodes n1, n2 and n3. All of it is in a PID namespace whose first process ends with the test's
/// thread, however that ends: then the kernel kills the rest.
pub struct Cluster {
    _daemons: Job,
    place: PathBuf,
    root: PathBuf,
}

pub const NODES: [&str; 3] = ["n1", "n2", "n3"];

impl Cluster {
    /// Starts one in `place`; the error says why there can be none here.
    pub fn start(place: &Place) -> Result<Cluster, String> {
        let root =
            PathBuf::from(std::env::var_os("SYSCOST_SLURM").ok_or("SYSCOST_SLURM does not name Slurm's directory")?);
        if !root.join("usr/sbin/slurmctld-wlm").exists() {
            return Err(format!("there is no Slurm in {}", root.display()));
        }
        let namespaces = Command::new("unshare").args(["-pfmu", "--mount-proc", "true"]).stderr(Stdio::null()).status();
        if !namespaces.is_ok_and(|status| status.success()) {
            return Err("unshare -pmu is not permitted".to_string());
        }
        let at = place.path().join("slurm");
        ["state", "log", "spool"].iter().for_each(|name| fs::create_dir_all(at.join(name)).unwrap());
        fs::write(at.join("key"), [7; 64]).unwrap();
        fs::set_permissions(at.join("key"), fs::Permissions::from_mode(0o400)).unwrap();
        fs::write(at.join("slurm.conf"), configuration(&at, &root)).unwrap();
        let mut command = Command::new("setpriv");
        command.args([
            "--pdeathsig",
            "KILL",
            "unshare",
            "-pfm",
            "--mount-proc",
            "--kill-child",
            "sh",
            "-c",
            &daemons(),
        ]);
        command.arg("sh").args([&at, &root]).stdin(Stdio::null()).process_group(0);
        let log = fs::File::create(at.join("log/all")).unwrap();
        command.stdout(log.try_clone().unwrap()).stderr(log).envs(environment(&at, &root));
        let daemons = Job::of(command.spawn().map_err(|error| format!("setpriv: {error}"))?);
        let cluster = Cluster { _daemons: daemons, place: at, root };
        let ready = wait_for(Duration::from_secs(20), || (cluster.idle() == NODES.len()).then_some(()));
        ready.map(|()| cluster.shared()).ok_or_else(|| "its nodes do not come up".to_string())?;
        Ok(cluster)
    }

    /// What all nodes see.
    pub fn shared(&self) -> PathBuf {
        self.place.join("shared")
    }

    fn idle(&self) -> usize {
        let output = self.run("sinfo", &["--noheader", "--Node", "--states=idle", "--format=%N"]);
        String::from_utf8_lossy(&output.stdout).lines().count()
    }

    /// A program of Slurm's, with its output.
    pub fn run(&self, program: &str, arguments: &[&str]) -> Output {
        self.command(&self.root.join("usr/bin").join(program)).args(arguments).output().unwrap()
    }

    /// A command that finds Slurm's programs.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.envs(environment(&self.place, &self.root)).stdin(Stdio::null()).current_dir(&self.place);
        command
    }
}

fn environment(at: &Path, root: &Path) -> [(&'static str, String); 3] {
    let libraries = root.join("usr/lib/x86_64-linux-gnu");
    let path = std::env::var("PATH").unwrap_or_default();
    [
        ("SLURM_CONF", at.join("slurm.conf").display().to_string()),
        ("LD_LIBRARY_PATH", format!("{0}:{0}/slurm-wlm", libraries.display())),
        ("PATH", format!("{path}:{}", root.join("usr/bin").display())),
    ]
}

/// What the first process of the namespace runs, with the directory and Slurm's root as arguments: it waits for all.
fn daemons() -> String {
    let node = |name: &&str| {
        format!(
            "unshare -u sh -c 'hostname {name}; exec \"$@\"' sh \"$2/usr/sbin/slurmd-wlm\" -D -d \"$2/usr/sbin/slurmstepd-wlm\" &\n"
        )
    };
    let nodes: String = NODES.iter().map(node).collect();
    format!(
        "\"$2/usr/sbin/munged\" -F --force --socket=\"$1/munge\" --key-file=\"$1/key\" --log-file=\"$1/log/munge\" \
         --pid-file=\"$1/munge.pid\" --seed-file=\"$1/seed\" &\n\
         while [ ! -S \"$1/munge\" ]; do sleep 0.05; done\n\
         unshare -u sh -c 'hostname head; exec \"$@\"' sh \"$2/usr/sbin/slurmctld-wlm\" -D &\n{nodes}wait\n"
    )
}

/// Ports that nobody has.
fn ports() -> Vec<u16> {
    let listeners: Vec<TcpListener> = (0..=NODES.len()).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    listeners.iter().map(|listener| listener.local_addr().unwrap().port()).collect()
}

fn configuration(at: &Path, root: &Path) -> String {
    let (ports, at) = (ports(), at.display());
    let node = |(name, port): (&&str, &u16)| format!("NodeName={name} NodeAddr=127.0.0.1 Port={port} CPUs=2\n");
    let nodes: String = NODES.iter().zip(&ports[1..]).map(node).collect();
    format!(
        "ClusterName=test\nSlurmctldHost=head(127.0.0.1)\nSlurmctldPort={}\nSlurmUser=root\nSlurmdUser=root\n\
         AuthType=auth/munge\nCredType=cred/munge\nAuthInfo=socket={at}/munge\n\
         PluginDir={}/usr/lib/x86_64-linux-gnu/slurm-wlm\n\
         StateSaveLocation={at}/state\nSlurmdSpoolDir={at}/spool/%n\nSlurmctldPidFile={at}/ctld.pid\n\
         SlurmdPidFile={at}/d-%n.pid\nSlurmctldLogFile={at}/log/ctld\nSlurmdLogFile={at}/log/%n\n\
         SelectType=select/cons_tres\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
         AccountingStorageType=accounting_storage/none\nJobAcctGatherType=jobacct_gather/none\nMpiDefault=none\n\
         SlurmdParameters=config_overrides\nReturnToService=2\n\
         {nodes}PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n",
        ports[0],
        root.display(),
    )
}
