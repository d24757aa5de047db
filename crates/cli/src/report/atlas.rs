//! `syscost report DIR`: the page about kernels, of an atlas.

use super::args::{Kind, ReportArgs};
use crate::error::{bail_usage, usage};
use crate::exit::Exit;
use anyhow::Result;
use report::html::atlas_page;
use std::io::Write;
use std::path::Path;

pub fn run(directory: &Path, args: &ReportArgs, out: &mut dyn Write) -> Result<Exit> {
    check(args)?;
    let atlas = usage(store::atlas::read(directory))?;
    args.deliver(
        || atlas_page(&atlas),
        || bail_usage!("--format svg: an atlas has no figure"),
        out,
    )
}

fn check(args: &ReportArgs) -> Result<()> {
    if args.format != Kind::Html || args.figure.is_some() {
        bail_usage!(
            "--figure and --format svg are for single files: a directory has a page, so omit them"
        );
    }
    args.check_no_runs("an atlas")?;
    args.of_profile.check_for_runs()
}
