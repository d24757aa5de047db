//! Sections of manual pages that are not in the help: files, environment variables and exit statuses, each with its commands.

/// A name, its description, and the commands whose pages contain it.
pub struct Fact {
    pub name: &'static str,
    pub what: &'static str,
    /// Separated by blanks.
    commands: &'static str,
}

impl Fact {
    /// Whether the page of `command` contains it; `None` is the page of syscost, which contains all.
    pub fn is_for(&self, command: Option<&str>) -> bool {
        let is_it = |own: &str, command: &str| {
            command == own || command.strip_prefix(own).is_some_and(|rest| rest.starts_with('-'))
        };
        command.is_none_or(|command| self.commands.split(' ').any(|own| is_it(own, command)))
    }
}

const ALL: &str =
    "run why race list show report compare explain attribute doctor trace top kernel fleet probe completions man";
/// Those that write tables for people.
const TABLES: &str = "run why race list show compare explain attribute doctor trace top kernel fleet";
/// Those that start the probe.
const PROBE: &str = "run why race list explain doctor kernel";

pub const FILES: &[Fact] = &[
    Fact {
        name: "$TMPDIR/syscost-run-*",
        what: "Private directory of a running syscost: the probe and the files that operations work on. It is removed at \
               the end of the run, or by the next run if this one was killed.",
        commands: PROBE,
    },
    Fact {
        name: "~/.cache/syscost",
        what: "Probes built for environments (--env) and compiled C snippets. It can be removed at any time.",
        commands: "run",
    },
    Fact {
        name: "~/.local/state/syscost/kernels",
        what: "Kernel images that were fetched, a directory each; 'syscost kernel remove' removes them.",
        commands: "run kernel",
    },
    Fact {
        name: "~/.local/state/syscost/unit-costs",
        what: "Runs that priced a program since the machine booted. They can be removed at any time.",
        commands: "why race",
    },
    Fact {
        name: "DIR/nodes",
        what: "Of each node of a job that 'fleet script' printed: when it began and its exit status (NAME.status), and what it wrote on standard error (NAME.stderr).",
        commands: "fleet",
    },
    Fact {
        name: "DIR/RELEASE.json.gz, DIR/steps",
        what: "The counts of one kernel of an atlas, and what changed between two neighbours: compressed JSON. DIR/README says \
               where kernels come from, and that the data are free (CC0).",
        commands: "kernel-atlas",
    },
    Fact { name: "report.html", what: "The page, unless --output names another file.", commands: "report" },
    Fact {
        name: "/sys/fs/cgroup",
        what: "Where control groups and containers are looked for, or wherever /proc/self/mounts has a cgroup2.",
        commands: "why trace top",
    },
    Fact {
        name: "/proc/sys/kernel/perf_event_paranoid",
        what: "Decides who may use performance counters.",
        commands: "doctor trace",
    },
];

pub const ENVIRONMENT: &[Fact] = &[
    Fact { name: "COLUMNS", what: "Width of tables, 40 or more [default: the terminal's].", commands: TABLES },
    Fact { name: "TERM", what: "If it is 'dumb', the table of top is printed, not live.", commands: "top" },
    Fact { name: "NO_COLOR", what: "Turns colour off if set and not empty.", commands: ALL },
    Fact {
        name: "TMPDIR",
        what: "Where the private directory is made. If unset: /tmp, or XDG_RUNTIME_DIR where /tmp cannot be used. The file \
               system it is on is the one that file operations are measured on.",
        commands: PROBE,
    },
    Fact { name: "XDG_RUNTIME_DIR", what: "See TMPDIR.", commands: PROBE },
    Fact {
        name: "XDG_CACHE_HOME",
        what: "The cache is its subdirectory syscost. If unset: HOME/.cache/syscost.",
        commands: "run",
    },
    Fact {
        name: "XDG_STATE_HOME",
        what: "Kernel images are in its subdirectory syscost/kernels, unit costs of programs in syscost/unit-costs. If unset: \
               HOME/.local/state/syscost.",
        commands: "run why race kernel",
    },
    Fact { name: "HOME", what: "See XDG_CACHE_HOME and XDG_STATE_HOME.", commands: "run why race kernel" },
    Fact { name: "CC", what: "C compiler for environments and C snippets [default: cc].", commands: "run probe" },
    Fact {
        name: "PATH",
        what: "Where the interpreters of snippets and the traced command are looked for.",
        commands: "run why race list trace top",
    },
    Fact {
        name: "SUDO_UID",
        what: "Under sudo: the user who called it. Traced commands run as this user unless --user names another, and the \
               cache is root's own.",
        commands: "run why race trace top",
    },
    Fact { name: "SUDO_GID", what: "The group that goes with SUDO_UID.", commands: "why race trace top" },
    Fact { name: "container", what: "Set by container managers; recorded with the run.", commands: "run doctor" },
    Fact {
        name: "SYSCOST_LABEL_KEY",
        what: "A label of the run, as --label key=VALUE: the key in lower case. --label goes first.",
        commands: "run",
    },
    Fact {
        name: "SYSCOST_COMPLETE",
        what: "Set by the completion script to ask for candidates.",
        commands: "completions",
    },
];

/// All but trace, whose status is the command's.
const OWN_STATUS: &str =
    "run race list show report compare explain attribute doctor top kernel fleet probe completions man";

pub const EXIT_STATUS: &[Fact] = &[
    Fact { name: "0", what: "Success.", commands: OWN_STATUS },
    Fact {
        name: "1",
        what: "syscost failed; also where compare --fail-over or --fail-on-entries fails, race --fail-over, or a command of race.",
        commands: OWN_STATUS,
    },
    Fact {
        name: "2",
        what: "Usage error: nothing was done. Of compare also: no row could be judged.",
        commands: OWN_STATUS,
    },
    Fact {
        name: "3",
        what: "Of run: some cases failed or did not enter the kernel as their study says; their rows are in the table. Of \
               compare --history, fleet rows and report DIR: files that are not result files were skipped.",
        commands: "run compare fleet-rows report",
    },
    Fact { name: "130", what: "Interrupted. What was measured is shown and stored.", commands: "run race" },
    Fact { name: "130", what: "Interrupted. Kernels that were fetched before stay.", commands: "kernel" },
    Fact {
        name: "Of fleet check",
        what: "0 if every expected node has a complete run, all of one version and plan; 1 if not; 3 if files were skipped, \
               regardless of the nodes. A disturbed run does not change it.",
        commands: "fleet",
    },
    Fact {
        name: "Of kernel atlas build",
        what: "0 if all kernels are counted, 3 if one could not be fetched, booted or compared, 130 if interrupted: the same command \
               goes on.",
        commands: "kernel-atlas-build",
    },
    Fact {
        name: "Of kernel atlas check",
        what: "0 if all counts are in their ranges, 1 if one is not or could not be counted again.",
        commands: "kernel-atlas-check",
    },
    Fact {
        name: "Of compare --bisect",
        what: "0 if all rows are certainly within the limits, 1 if one is certainly over, 125 if neither is certain or the file \
               of this commit is missing, 255 for any other error.",
        commands: "compare",
    },
    Fact {
        name: "Of trace and why",
        what: "The traced command's own status; 128+N if signal N ended it; 126 if it cannot be run, 127 if it is not found; \
               1 if tracing failed or lost events, or a budget was exceeded; 2 for a usage error; 130 if a SIGINT to syscost alone ended the tracing, \
               while the command goes on.",
        commands: "trace why",
    },
    Fact {
        name: "Of top",
        what: "126 if COMMAND cannot be run, 127 if it is not found; 0 when interrupted.",
        commands: "top",
    },
];
