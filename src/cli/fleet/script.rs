//! `syscost fleet script`: prints the job that a launcher takes.

use super::super::error::usage;
use super::super::exit::Exit;
use super::super::run::RunArgs;
use crate::fleet::{Job, Launcher, NodeList, Nodes, script};
use crate::model::Label;
use crate::plan::Study;
use anyhow::{Context, Result, anyhow, ensure};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Print a job for Slurm, Kubernetes, Ansible or clush that runs syscost once on each node.
///
/// Each node writes its result file into the directory, with its name as the label 'node'. Its exit status and what it said on
/// standard error are in nodes/NAME.status and nodes/NAME.stderr there (in Kubernetes: in its pod). 'syscost fleet check' tells
/// which nodes are missing.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ScriptArgs {
    /// The launcher that takes it.
    #[arg(value_enum)]
    launcher: Launcher,
    /// What to measure, as for 'syscost run'.
    #[arg(value_name = "PATTERN")]
    patterns: Vec<String>,
    /// Run a study: a name, or a TOML file that all nodes have.
    #[arg(long, value_name = "NAME|FILE", conflicts_with = "patterns")]
    study: Option<String>,
    /// How many nodes (Slurm, Kubernetes), or which: names with ranges, as n[1-3,7],login, or @FILE with a list a line.
    #[arg(long, value_name = "N|LIST|@FILE")]
    nodes: String,
    /// The directory for result files. Nodes share it; with Ansible it is the caller's, and files are fetched into it.
    #[arg(long, value_name = "DIR")]
    out_dir: PathBuf,
    /// A label of every run. Repeatable.
    #[arg(long = "label", value_name = "KEY=VALUE")]
    labels: Vec<Label>,
    /// Stop a node that takes longer.
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = clap::value_parser!(u32).range(1..=86400))]
    limit: u32,
    /// The program on the nodes.
    #[arg(long, value_name = "FILE", default_value = "syscost")]
    program: String,
    /// The job's name.
    #[arg(long, default_value = "syscost")]
    name: String,
    /// Kubernetes: the image that has syscost.
    #[arg(long)]
    image: Option<String>,
    /// Kubernetes: the claim of a volume to mount at --out-dir, which many nodes can write to [default: that directory of each
    /// node, which must exist].
    #[arg(long, value_name = "NAME")]
    claim: Option<String>,
    /// Further flags of 'syscost run'.
    #[arg(last = true, value_name = "FLAG")]
    flags: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  syscost fleet script slurm --study quick --nodes 3 --out-dir /shared/costs >job.sh && sbatch job.sh
  syscost fleet script clush file id --nodes 'n[001-100]' --out-dir /shared/costs --label pool=a -- --time 5
  syscost fleet script kubernetes --nodes 50 --out-dir /costs --claim costs --image registry/syscost | kubectl apply -f -
  syscost fleet check /shared/costs --expect nodes.txt";

/// Prints the job. Errors: what of the command line cannot be run on a node.
pub fn run(args: &ScriptArgs, out: &mut dyn Write) -> Result<Exit> {
    let job = usage(args.job())?;
    let text = usage(script(args.launcher, &job))?;
    out.write_all(text.as_bytes())?;
    Ok(Exit::Success)
}

impl ScriptArgs {
    fn job(&self) -> Result<Job> {
        let words = self.words();
        // A thousand nodes must not find out that a flag is misspelt.
        RunArgs::from_words(&words)?;
        self.study.as_deref().map(Study::find).transpose()?;
        Ok(Job {
            command: [vec![self.program.clone(), "--quiet".into()], words].concat(),
            nodes: nodes(&self.nodes).with_context(|| "--nodes")?,
            out_dir: absolute(&self.out_dir)?,
            limit_s: self.limit,
            name: self.name.clone(),
            image: self.image.clone(),
            claim: self.claim.clone(),
        })
    }

    /// The words of `syscost run`, of which the first is `run`.
    fn words(&self) -> Vec<String> {
        let mut words = vec!["run".to_string()];
        words.extend(self.patterns.iter().cloned());
        words.extend(self.study.iter().flat_map(|study| ["--study".to_string(), study.clone()]));
        words.extend(
            self.labels.iter().flat_map(|Label { key, value }| ["--label".to_string(), format!("{key}={value}")]),
        );
        words.extend(self.flags.iter().cloned());
        words
    }
}

/// A number, a list, or the lists of a file.
fn nodes(text: &str) -> Result<Nodes> {
    if let Some(file) = text.strip_prefix('@') {
        return Ok(Nodes::Named(node_file(Path::new(file))?));
    }
    match text.parse() {
        Ok(0) => Err(anyhow!("0 nodes: give at least one")),
        Ok(count) => Ok(Nodes::Any(count)),
        Err(_) => Ok(Nodes::Named(text.parse()?)),
    }
}

pub(super) fn node_file(file: &Path) -> Result<NodeList> {
    let text = std::fs::read_to_string(file).with_context(|| format!("{}", file.display()))?;
    NodeList::from_lines(&text).with_context(|| format!("{}", file.display()))
}

fn absolute(directory: &Path) -> Result<String> {
    let text = directory.to_str().with_context(|| "--out-dir: not UTF-8")?;
    ensure!(directory.is_absolute(), "--out-dir {text}: give an absolute path, which is the same on all nodes");
    Ok(text.to_string())
}
