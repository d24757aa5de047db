//! Records a batch in an emulated kernel, every instruction of it. All else of the guest goes on, timers too; an iteration
//! that is interrupted loses against those that were not (`cut`).

use super::cut::{self, Cut};
use super::emulator::{Blocks, Emulator, PAGE};
use super::explanation;
use super::log::Log;
use super::names::{KERNEL, Names};
use super::tree::tree;
use crate::recording::{NO_RUN, SINGLE, run_address};
use measure::guest::{Channel, Options, line_to_count};
use measure::runner::Workers;
use model::explained::{Call, KernelExplanation};
use model::{Case, Failure, Planned, Returned};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

const SNIPPET: &str = "snippet";
/// Iterations of a batch, and of one for operations that execute much.
const BATCH: u64 = 8;
const SHORT_BATCH: u64 = 3;
const MOST: usize = 12_000_000;

fn is_single(limit: Option<u64>) -> bool {
    limit.is_some_and(|limit| limit < 2)
}

pub struct Recorder<'a> {
    environment: String,
    program: PathBuf,
    emulator: Emulator<'a>,
}

impl<'a> Recorder<'a> {
    /// `environment` may have boot parameters: `linux-6.1 audit=1`. Operations are recorded in it, or one snippet.
    pub fn boot(
        workers: &'a Workers,
        environment: &str,
        snippet: Option<&Case>,
    ) -> Result<Recorder<'a>, Failure> {
        let program = snippet.map_or_else(
            || workers.probe_of(environment),
            |case| workers.program(case),
        )?;
        let emulator = Emulator::boot(
            workers,
            environment,
            &Options {
                programs: snippet
                    .iter()
                    .map(|_| (SNIPPET.to_string(), program.clone()))
                    .collect(),
                ..Options::default()
            },
        )?;
        Ok(Recorder {
            environment: environment.to_string(),
            program,
            emulator,
        })
    }

    pub fn is_alive(&self) -> bool {
        self.emulator.guest.is_alive()
    }

    pub fn explain(&mut self, planned: &Planned, what: &str) -> Result<KernelExplanation, Failure> {
        let Planned { case, limit, .. } = planned;
        let limit = *limit;
        let greeting = case.language.as_ref().map(|_| format!("run {SNIPPET}"));
        let greeting = greeting.unwrap_or_else(|| Workers::greeting(case));
        let counted = self.counted(planned, &greeting)?;
        let returned = self.emulator.guest.traced(&greeting);
        let returned = returned.and_then(|traced| traced.returned(limit));
        let channel = self.emulator.guest.channel(&greeting)?;
        let names = Names::of_program(&self.program)?;
        let ((iteration, iterations), mut notes) = self.cut(&channel, &names, limit)?;
        let returned = returned.unwrap_or_else(|failure: Failure| {
            notes.push(format!(
                "what it returned is not known: {}",
                failure.message
            ));
            Returned::default()
        });
        let pages: BTreeSet<u64> = iteration
            .iter()
            .map(|address| address & !(PAGE - 1))
            .collect();
        let code = self.emulator.code(&pages)?;
        let names = names.with(&self.emulator.functions()?);
        if names.lacks_kernel() && pages.last().is_some_and(|page| *page >= KERNEL) {
            notes.push(
                "the kernel does not tell its functions' names (built without CONFIG_KALLSYMS)"
                    .to_string(),
            );
        }
        let operation = Case {
            params: BTreeMap::new(),
            ..case.clone()
        }
        .to_string();
        let tree = tree(&iteration, &names, &|address| code.step(address));
        let tree = Call {
            name: operation.clone(),
            ..tree
        };
        notes.extend(explanation::notes(tree.total, counted, &iterations));
        let (groups, functions) = explanation::sums(&tree);
        Ok(KernelExplanation {
            operation,
            what: what.to_string(),
            params: case.effective_params(),
            environment: self.environment.clone(),
            kernel: self.emulator.guest.release.clone(),
            instructions: tree.total,
            counted,
            returned,
            iterations,
            groups,
            functions,
            tree,
            notes,
        })
    }

    /// Per iteration, as `run` counts them; `None` if a batch has room for one iteration only.
    fn counted(&mut self, planned: &Planned, greeting: &str) -> Result<Option<f64>, Failure> {
        if is_single(planned.limit) {
            return Ok(None);
        }
        let line = line_to_count(planned, greeting);
        Ok(self.emulator.counted(line)?.per_operation())
    }

    fn cut(
        &mut self,
        channel: &Channel,
        names: &Names,
        limit: Option<u64>,
    ) -> Result<(Cut, Vec<String>), Failure> {
        // The loop of a snippet is in its main function.
        let run = run_address(channel.facts().get("run"))
            .or_else(|| names.start_of("main"))
            .ok_or_else(|| Failure::failed(NO_RUN))?;
        let code = names.range(run);
        if is_single(limit) {
            let trace = self.batch(channel, 1)?.ok_or_else(too_long)?;
            let whole = cut::whole(&trace, &code).ok_or_else(not_found)?;
            return Ok((whole, vec![SINGLE.to_string()]));
        }
        for n in [BATCH, SHORT_BATCH].map(|n| limit.map_or(n, |limit| n.min(limit))) {
            if let Some(trace) = self.batch(channel, n)? {
                let cut = cut::cut(&trace, &code, n).ok_or_else(not_found)?;
                return Ok((cut, Vec::new()));
            }
        }
        Err(too_long())
    }

    fn batch(&mut self, channel: &Channel, n: u64) -> Result<Option<Vec<u64>>, Failure> {
        let (_, log) = self
            .emulator
            .log(Blocks::OneInstruction, Log::new(MOST), || {
                channel.request(n, 1)
            })?;
        Ok(log.addresses())
    }
}

fn too_long() -> Failure {
    Failure::failed(format!(
        "an iteration executes too many instructions to be shown: more than {} million",
        MOST / 1_000_000
    ))
}

fn not_found() -> Failure {
    Failure::failed(
        "the operation's loop was not found among the instructions that the emulator logged",
    )
}
