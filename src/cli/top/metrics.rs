//! All counts as OpenMetrics for a collector: in a file that is replaced at each interval, and by HTTP.

use super::serve::{Served, serve};
use crate::cli::error::usage;
use crate::kernel::temporary;
use crate::report::top::Series;
use crate::top::Counts;
use anyhow::{Context, Result};
use std::path::PathBuf;

pub struct Metrics {
    file: Option<PathBuf>,
    served: Option<Served>,
    series: Series,
}

impl Metrics {
    /// Listens, and writes the first file; `None` if neither is wanted. Errors: what cannot be written or listened on.
    pub fn open(file: Option<PathBuf>, address: Option<&str>) -> Result<Option<Metrics>> {
        if file.is_none() && address.is_none() {
            return Ok(None);
        }
        let served = address.map(serve).transpose()?;
        let mut metrics = Metrics { file, served, series: Series::default() };
        usage(metrics.publish(&Counts::default(), ""))?;
        Ok(Some(metrics))
    }

    /// Replaces what was published. Errors: if the file cannot be replaced.
    pub fn publish(&mut self, counts: &Counts, scope: &str) -> Result<()> {
        let mut text = Vec::new();
        self.series.write(counts, scope, &mut text)?;
        if let Some(path) = &self.file {
            // Readers see the old file or the new one. Collectors run as other users, so that all may read it.
            temporary::put(path, 0o644, &text).with_context(|| format!("--textfile {}", path.display()))?;
        }
        if let Some(served) = &self.served {
            served.replace(text);
        }
        Ok(())
    }
}
