//! Probes for other environments, and the programs of snippets: each is built at most once per run,
//! and kept in the cache.

use super::cache::Cache;
use super::child::ErrorWording;
use super::snippet::{Filled, fill, forms};
use super::{Environment, Language, NATIVE, command, key, replaced};
use model::{Case, Failure};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::rc::Rc;
use sys::limits::advice;
use sys::output::output;

pub enum Built {
    Probe(PathBuf),
    Snippet(Rc<Snippet>),
}

pub struct Snippet {
    language: Language,
    tool: Vec<OsString>,
    directory: PathBuf,
    filled: Filled,
}

impl Built {
    /// A snippet's program is started by its language's `run` words.
    pub fn command(&self) -> Command {
        match self {
            Built::Probe(path) => Command::new(path),
            Built::Snippet(snippet) => {
                command(&snippet.words(&snippet.language.run, &snippet.directory, &[]))
            }
        }
    }

    /// Maps error messages to the user's lines; `None` for a probe.
    pub fn wording(self) -> Option<ErrorWording> {
        let Built::Snippet(snippet) = self else {
            return None;
        };
        Some(Rc::new(move |message| {
            snippet.filled.explain(&snippet.language, message)
        }))
    }

    /// The cost and step of a clock reading in nanoseconds, as the snippet's language declares them. Empty for a probe, which measures its own.
    pub fn clock(&self) -> Vec<(&'static str, f64)> {
        let Built::Snippet(snippet) = self else {
            return Vec::new();
        };
        let language = &snippet.language;
        vec![
            ("clock_cost_ns", language.clock_cost_ns),
            ("clock_step_ns", language.clock_step_ns),
        ]
    }
}

impl Snippet {
    fn words(&self, words: &[String], directory: &Path, flags: &[String]) -> Vec<OsString> {
        let holes = [
            ("{source}", OsStr::new(&self.language.source)),
            ("{output}", OsStr::new("snippet")),
            ("{dir}", directory.as_os_str()),
        ];
        words
            .iter()
            .flat_map(|word| match word.as_str() {
                "{flags}" => flags.iter().map(OsString::from).collect(),
                "{program}" => self.tool.clone(),
                word => vec![replaced(word, &holes)],
            })
            .collect()
    }
}

type Tool = (Language, PathBuf, String);

pub struct Builds {
    pub cache: Cache,
    probes: BTreeMap<String, Result<PathBuf, Failure>>,
    snippets: BTreeMap<Case, Result<Rc<Snippet>, Failure>>,
    tools: BTreeMap<String, Result<Tool, Failure>>,
}

impl Builds {
    /// The cache is opened, or made in the run's directory `run`.
    pub fn new(run: &Path) -> Builds {
        Builds {
            cache: Cache::open(run),
            probes: BTreeMap::new(),
            snippets: BTreeMap::new(),
            tools: BTreeMap::new(),
        }
    }

    /// The built program of a case.
    ///
    /// # Errors
    /// The compiler's message, or the advice to install one.
    pub fn get(&mut self, case: &Case) -> Result<Built, Failure> {
        match &case.language {
            None => self.probe(&case.environment).map(Built::Probe),
            Some(language) => self.snippet(language, case).map(Built::Snippet),
        }
    }

    /// Building takes seconds.
    pub fn lacks(&self, environment: &str) -> bool {
        Environment::find(environment).is_ok_and(|environment| environment.is_unbuilt(&self.cache))
    }

    /// # Errors
    /// As `get`.
    pub fn probe(&mut self, environment: &str) -> Result<PathBuf, Failure> {
        self.probes
            .entry(environment.to_string())
            .or_insert_with(|| {
                Environment::find(environment)
                    .and_then(|environment| environment.probe(&self.cache))
                    .map_err(|error| unsupported(&error))
            })
            .clone()
    }

    fn snippet(&mut self, language: &str, case: &Case) -> Result<Rc<Snippet>, Failure> {
        if let Some(known) = self.snippets.get(case) {
            return known.clone();
        }
        let tool = self
            .tools
            .entry(language.to_string())
            .or_insert_with(|| find_tool(language).map_err(|e| unsupported(&e)));
        let built = tool
            .as_ref()
            .map_err(Failure::clone)
            .and_then(|tool| build_snippet(&self.cache, tool, case));
        self.snippets.insert(case.clone(), built.clone());
        built
    }
}

fn unsupported(error: &anyhow::Error) -> Failure {
    Failure::unsupported(format!("{error:#}"))
}

/// An interpreter's version does not matter: its snippets are built by writing their text.
fn find_tool(language: &str) -> anyhow::Result<Tool> {
    let language = Language::find(language)?;
    let program = language.program()?;
    let is_compiled = !language.build.is_empty();
    let version = if is_compiled {
        language.version_of(&program)
    } else {
        None
    };
    Ok((language, program, version.unwrap_or_default()))
}

/// The error is that of the last form, which has the user's own text without an expression around it.
fn build_snippet(cache: &Cache, tool: &Tool, case: &Case) -> Result<Rc<Snippet>, Failure> {
    let (language, program, version) = tool;

    let environment = Environment::find(&case.environment).map_err(|e| unsupported(&e))?;
    if !language.environments && case.environment != NATIVE {
        return Err(Failure::unsupported(format!(
            "{} is not built in environments: {} is for C",
            language.title, case.environment
        )));
    }
    let tool = if environment.compilers.is_empty() {
        vec![program.into()]
    } else {
        environment.compiler().map_err(|e| unsupported(&e))?
    };
    // The path of the compiler is part of the key: another one of the same name may be installed later.
    let (path, flags) = (tool.join(OsStr::new(" ")), environment.flags.join(" "));
    let mut last = Failure::start("no body for this language");
    // A body may be an expression or a statement; only the compiler can tell.
    for form in forms(language, &case.operation) {
        let snippet = Snippet {
            language: language.clone(),
            tool: tool.clone(),
            directory: "".into(),
            filled: fill(language, case, form),
        };
        let key = key(&[
            b"snippet",
            language.name.as_bytes(),
            path.as_bytes(),
            version.as_bytes(),
            flags.as_bytes(),
            snippet.filled.text.as_bytes(),
        ]);
        match cache.get(&key, |directory| {
            build(cache, &snippet, &environment, directory)
        }) {
            Ok(directory) => {
                return Ok(Rc::new(Snippet {
                    directory,
                    ..snippet
                }));
            }
            Err(error) => {
                last = error
                    .downcast()
                    .unwrap_or_else(|e| Failure::start(format!("{e:#}")))
            }
        }
    }
    Err(last)
}

fn build(
    cache: &Cache,
    snippet: &Snippet,
    environment: &Environment,
    directory: &Path,
) -> anyhow::Result<()> {
    fs::write(
        directory.join(&snippet.language.source),
        &snippet.filled.text,
    )?;
    for command in &snippet.language.build {
        let words = snippet.words(command, directory, &environment.flags);
        let output = output(cache.compiler(&words[0], directory).args(&words[1..]));
        let output = output.map_err(|e| {
            anyhow::anyhow!("cannot start {}: {e}{}", words[0].display(), advice(&e))
        })?;
        if !output.status.success() {
            return Err(complaint(snippet, environment, &output).into());
        }
    }
    Ok(())
}

/// With the user's line numbers; or what to install if it cannot build for the environment at all.
fn complaint(snippet: &Snippet, environment: &Environment, output: &Output) -> Failure {
    let printed = [output.stderr.as_slice(), output.stdout.as_slice()].concat();
    let explained = snippet
        .filled
        .explain(&snippet.language, &String::from_utf8_lossy(&printed));
    // A message without a line of the snippet is about the toolchain, e.g. a missing library for the target.
    if environment.toolchain.is_some() && !explained.starts_with("line ") {
        Failure::unsupported(environment.cannot_build(&explained))
    } else {
        Failure::failed(explained)
    }
}
