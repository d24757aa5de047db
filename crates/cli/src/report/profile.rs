//! What `syscost report` makes of a profile: a page, or one figure of it.

use super::args::{FigureKind, Kind, ReportArgs};
use crate::error::{bail_usage, usage_error};
use crate::exit::Exit;
use crate::result_files::{counted_profile, label};
use analysis::compare::{ProfileColumn, compare_profiles};
use anyhow::Result;
use model::Profile;
use report::figure::Figure;
use report::html::{profile_page, profiles_page};
use report::{Weight, flame_difference, flame_figure, latency_histograms, time_figure};
use std::io::Write;
use std::path::Path;

pub fn run(profile: Profile, args: &ReportArgs, out: &mut dyn Write) -> Result<Exit> {
    check(args)?;
    let profile = args.of_profile.hide(profile);
    args.deliver(|| profile_page(&profile), || figure(&profile, args), out)
}

pub fn run_two(args: &ReportArgs, out: &mut dyn Write) -> Result<Exit> {
    check_two(args)?;
    let read =
        |file: &Path| -> Result<Profile> { Ok(args.of_profile.hide(counted_profile(file)?)) };
    let sides = [read(&args.files[0])?, read(&args.files[1])?];
    let mut columns = sides.each_ref().map(|side| ProfileColumn::new("", side));
    label(&mut columns, &args.files, &args.labels, None)?;
    let comparison = compare_profiles(&columns, 0, |_| true);
    let sides = sides.each_ref();
    args.deliver(
        || profiles_page(sides, &comparison),
        || {
            flame_difference(sides, &weight(args)).ok_or_else(|| {
                usage_error!(
                    "--figure stacks: both profiles need stacks of this weight; trace with --stacks"
                )
            })
        },
        out,
    )
}

fn check_two(args: &ReportArgs) -> Result<()> {
    if args.baseline.is_some() || !args.only.patterns.is_empty() {
        bail_usage!(
            "--baseline and --only are not for two profiles: the second is compared with the first"
        );
    }
    if args.format == Kind::Svg && args.figure != Some(FigureKind::Stacks) {
        bail_usage!(
            "--format svg: two profiles have one figure, the difference of their stacks: add --figure stacks"
        );
    }
    check_weight(args)
}

fn check_weight(args: &ReportArgs) -> Result<()> {
    if args.of_profile.weight.is_some() && args.figure != Some(FigureKind::Stacks) {
        bail_usage!("--weight is for --figure stacks: a page has a flame graph for each weight");
    }
    Ok(())
}

fn check(args: &ReportArgs) -> Result<()> {
    args.check_no_runs("a profile")?;
    if args.format == Kind::Svg && args.figure.is_none() {
        bail_usage!(
            "--format svg needs one figure of the profile: add --figure time, latency or stacks"
        );
    }
    check_weight(args)
}

fn figure(profile: &Profile, args: &ReportArgs) -> Result<Figure> {
    match args.figure {
        Some(FigureKind::Time) => time_figure(profile).ok_or_else(|| {
            usage_error!("--figure time: the profile does not record where wall time went; trace as root, with eBPF")
        }),
        Some(FigureKind::Latency) => latency_histograms(profile)
            .ok_or_else(|| usage_error!("--figure latency: the profile has no latencies; trace as root, with eBPF")),
        Some(FigureKind::Stacks) => flame_figure(profile, &weight(args))
            .ok_or_else(|| usage_error!("--figure stacks: the profile has no stacks of this weight; trace with --stacks")),
        _ => bail_usage!("a profile has no such figure: choose --figure time, latency or stacks"),
    }
}

fn weight(args: &ReportArgs) -> Weight {
    args.of_profile.weight.unwrap_or_default()
}
