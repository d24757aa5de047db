//! The options of `syscost report`, and the destination of its document.

use crate::error::bail_usage;
use crate::exit::Exit;
use crate::messages::is_quiet;
use crate::show::Only;
use anyhow::Result;
use clap::ValueEnum;
use model::Profile;
use report::figure::Figure;
use report::html::Page;
use report::{Weight, svg, write_lines};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Make a self-contained HTML page from result files or a profile.
///
/// It opens offline in any browser and loads nothing.
///
/// The question and the answer come first; then charts by area; for several files, costs and ratios side by side; a
/// table of all operations that can be sorted and filtered, with the distribution of their samples; for
/// parameters, cost against value with fitted lines; the machine and its warnings. For a profile: where wall
/// time went, the calls, their latency, paths and descriptors, stacks, and advice. For a kernel atlas or runs in
/// several kernels: a heat map of operations by kernel, the functions behind each step, and release notes.
#[derive(Clone, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ReportArgs {
    /// Result files of `syscost run --out`, or published figures from published/; or one profile of `syscost trace
    /// -o`, or two, before and after; '-' is standard input. Kernel explanations of `syscost explain --env linux-6.1
    /// --format json` become a section, or a page of their own. The directory of `syscost kernel atlas build`: the
    /// page about kernels.
    #[arg(value_name = "FILE|DIR", required = true)]
    pub files: Vec<PathBuf>,
    /// The file to write; '-' is standard output [default: report.html, or FIGURE.svg].
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Output: the whole page, or one figure of it.
    #[arg(long, default_value = "html")]
    pub format: Kind,
    /// Which figure [default: bars].
    #[arg(long)]
    pub figure: Option<FigureKind>,
    /// Label for each file, in order [default: its host name, else its file name].
    #[arg(long = "label", value_name = "TEXT")]
    pub labels: Vec<String>,
    /// File or label that the others are divided by [default: the first file].
    #[arg(long, value_name = "FILE|LABEL")]
    pub baseline: Option<String>,
    #[command(flatten)]
    pub only: Only,
    #[command(flatten)]
    pub of_profile: ProfileArgs,
}

const EXAMPLES: &str = "\
Examples:
  syscost report now.json
  syscost report before.json after.json -o change.html
  syscost report 5.15.json 6.1.json 6.18.json --label 5.15 --label 6.1 --label 6.18
  syscost report now.json --format svg --figure distribution --only 'file.*' -o file.svg
  syscost run io.read_zero --param size=1..1Mx4 --out size.json && syscost report size.json
  syscost report now.json fstat-6.1.json
  syscost report profile.json -o workload.html
  syscost report before.profile.json after.profile.json -o workload.html
  syscost report atlas/ -o atlas.html
  syscost report profile.json --format svg --figure stacks --weight on-cpu -o stacks.svg";

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum Kind {
    /// One page with everything.
    Html,
    /// One figure as a drawing of its own.
    Svg,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub enum FigureKind {
    /// Costs by area, on a logarithmic axis.
    Bars,
    /// Distribution of the samples of each case.
    Distribution,
    /// Cost over a parameter with fitted lines.
    Fit,
    /// Ratios to the first file.
    Ratios,
    /// Start-up of environments against their cost per call.
    StartUp,
    /// Percentiles of single calls; for a profile, histograms of them.
    Latency,
    /// For a profile: where the time went, as one bar.
    Time,
    /// For a profile: who makes the calls, as a flame graph.
    Stacks,
}

/// Options for profiles.
#[derive(Clone, clap::Args)]
pub struct ProfileArgs {
    /// For a profile, with --figure stacks: the quantity that widths represent. [default: calls]
    #[arg(long, value_name = "WHAT")]
    pub weight: Option<Weight>,
    /// For a profile, show only the program's name, without the command's arguments.
    #[arg(long)]
    pub no_arguments: bool,
}

impl ProfileArgs {
    /// Removes the command's arguments from the profile if that was asked for.
    pub fn hide(&self, profile: Profile) -> Profile {
        if self.no_arguments {
            profile.without_arguments()
        } else {
            profile
        }
    }

    pub fn check_for_runs(&self) -> Result<()> {
        if self.weight.is_some() || self.no_arguments {
            bail_usage!(
                "--weight and --no-arguments are for one profile of 'syscost trace -o': omit them"
            );
        }
        Ok(())
    }
}

fn is_same(a: &Path, b: &Path) -> bool {
    let facts = [a, b].map(std::fs::metadata);
    matches!(facts, [Ok(a), Ok(b)] if a.is_file() && (a.dev(), a.ino()) == (b.dev(), b.ino()))
}

impl ReportArgs {
    /// The output file: as given, else `report.html`, or the figure's name as SVG.
    pub fn destination(&self) -> PathBuf {
        let name = match self.format {
            Kind::Html => "report.html".to_string(),
            Kind::Svg => {
                let figure = self.figure.unwrap_or(FigureKind::Bars).to_possible_value();
                figure.map_or_else(String::new, |figure| format!("{}.svg", figure.get_name()))
            }
        };
        self.out.clone().unwrap_or_else(|| PathBuf::from(name))
    }

    /// `this` describes the file.
    pub fn check_no_runs(&self, this: &str) -> Result<()> {
        if !self.labels.is_empty() || self.baseline.is_some() || !self.only.patterns.is_empty() {
            bail_usage!(
                "--label, --baseline and --only are for result files, this is {this}: omit them"
            );
        }
        Ok(())
    }

    /// # Errors
    /// The output would replace one of the input files, also through a link. `this` describes an input file.
    pub fn check_output(&self, this: &str) -> Result<()> {
        let output = self.destination();
        if output != Path::new("-")
            && let Some(file) = self.files.iter().find(|file| is_same(file, &output))
        {
            let file = file.display();
            bail_usage!("--out {file} would replace {this}: choose another name");
        }
        Ok(())
    }

    /// Whole or not at all; prints where.
    pub fn deliver(
        &self,
        page: impl FnOnce() -> Page,
        figure: impl FnOnce() -> Result<Figure>,
        out: &mut dyn Write,
    ) -> Result<Exit> {
        let made = match self.format {
            Kind::Html => page().html(),
            Kind::Svg => svg::document(&figure()?).as_str().as_bytes().to_vec(),
        };
        let path = self.destination();
        if path == Path::new("-") {
            out.write_all(&made)?;
            return Ok(Exit::Success);
        }
        store::write_bytes(&path, &made)?;
        if !is_quiet() {
            write_lines([format!("wrote {}", path.display())], out)?;
        }
        Ok(Exit::Success)
    }
}
