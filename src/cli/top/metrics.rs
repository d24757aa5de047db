//! All counts as OpenMetrics for a collector, by HTTP.

use super::serve::{Served, serve};
use crate::report::top::Series;
use crate::top::Counts;
use anyhow::Result;

pub struct Metrics {
    served: Served,
    series: Series,
}

impl Metrics {
    /// Listens. Errors: what cannot be listened on.
    pub fn open(address: &str) -> Result<Metrics> {
        let mut metrics = Metrics { served: serve(address)?, series: Series::default() };
        metrics.publish(&Counts::default(), "")?;
        Ok(metrics)
    }

    /// Replaces what was published.
    pub fn publish(&mut self, counts: &Counts, scope: &str) -> Result<()> {
        let mut text = Vec::new();
        self.series.write(counts, scope, &mut text)?;
        self.served.replace(text);
        Ok(())
    }
}
