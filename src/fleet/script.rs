//! The script of a job: a template of its launcher, filled. For `syscost fleet script`.

use super::nodes::Nodes;
use super::quote::{Value, Values, fill};
use anyhow::{Result, bail, ensure};
use std::collections::BTreeMap;

/// What starts programs on many nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Launcher {
    /// A batch script for sbatch, which starts one task on each node with srun.
    Slurm,
    /// An Indexed Job whose pods keep off each other's nodes.
    Kubernetes,
    /// A playbook; each node's files are fetched.
    Ansible,
    /// A line for clush, of ClusterShell.
    Clush,
}

/// What each node runs, and what its launcher must know.
#[derive(Clone, Debug)]
pub struct Job {
    /// The program and its arguments, without the directory for results and the node's label.
    pub command: Vec<String>,
    pub nodes: Nodes,
    /// Absolute.
    pub out_dir: String,
    /// Seconds after which a node is stopped.
    pub limit_s: u32,
    pub name: String,
    /// Of Kubernetes: the image that has the program.
    pub image: Option<String>,
    /// Of Kubernetes: the claim of a volume that is mounted at `out_dir`; without one it is a directory of the nodes.
    pub claim: Option<String>,
}

const NODE: &str = include_str!("templates/node.sh");
/// What a launcher gets beyond a node's limit to end it and to report.
const PATIENCE_S: u32 = 60;

/// The script that `launcher` takes.
///
/// # Errors
/// What the launcher needs and the job does not say, or says and the launcher cannot do.
pub fn script(launcher: Launcher, job: &Job) -> Result<String> {
    ensure!(is_name(&job.name), "--name '{}': give lower-case letters, digits and '-', 63 at most", job.name);
    let template = match launcher {
        Launcher::Slurm => include_str!("templates/slurm.sh"),
        Launcher::Kubernetes => include_str!("templates/kubernetes.yaml"),
        Launcher::Ansible => include_str!("templates/ansible.yaml"),
        Launcher::Clush => include_str!("templates/clush.sh"),
    };
    if launcher == Launcher::Kubernetes {
        ensure!(job.image.is_some(), "--image is needed: the image that has syscost");
    } else {
        ensure!(job.image.is_none() && job.claim.is_none(), "--image and --claim are for kubernetes");
    }
    if let (Launcher::Ansible | Launcher::Clush, Nodes::Any(count)) = (launcher, &job.nodes) {
        bail!("--nodes {count}: this launcher needs the nodes' names: give a list, or @FILE")
    }
    Ok(fill(template, &values(launcher, job)))
}

/// As Kubernetes names objects.
fn is_name(text: &str) -> bool {
    let permitted = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=63).contains(&text.len()) && text.chars().all(permitted) && !text.starts_with('-') && !text.ends_with('-')
}

fn values(launcher: Launcher, job: &Job) -> Values {
    let text = |text: &str| Value::Text(text.to_string());
    let patience_s = job.limit_s.saturating_add(PATIENCE_S);
    let mut values = BTreeMap::from([
        ("name", text(&job.name)),
        ("out_dir", text(&job.out_dir)),
        ("command", Value::List(job.command.clone())),
        ("limit", Value::Text(job.limit_s.to_string())),
        ("patience", Value::Text(patience_s.to_string())),
        ("minutes", Value::Text(patience_s.div_ceil(60).to_string())),
        ("node", Value::Text(node_script(launcher, job))),
    ]);
    let count = match &job.nodes {
        Nodes::Any(count) => *count,
        Nodes::Named(list) => {
            values.insert("nodes", Value::List(list.names().to_vec()));
            list.names().len()
        }
    };
    values.insert("count", Value::Text(count.to_string()));
    job.image.iter().for_each(|image| drop(values.insert("image", text(image))));
    let volume = job.claim.as_ref().map_or(("host_path", &job.out_dir), |claim| ("claim", claim));
    values.insert(volume.0, text(volume.1));
    values
}

/// What a shell of the node runs.
fn node_script(launcher: Launcher, job: &Job) -> String {
    let dir = if launcher == Launcher::Ansible { "fetched" } else { "out_dir" };
    let values = BTreeMap::from([
        (dir, Value::Text(job.out_dir.clone())),
        ("command", Value::List(job.command.clone())),
        ("limit", Value::Text(job.limit_s.to_string())),
    ]);
    fill(NODE, &values)
}
