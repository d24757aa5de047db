//! The figure of costs over a parameter.

use crate::figure::palette::SERIES;
use crate::figure::{Chart, Figure, Line, Lines, PlotPoint};
use analysis::fit::{Family, Member, Overtaking};
use stats::{Interval, Ranged};

pub fn over_parameter(family: &Family) -> Figure {
    let mut lines = lines(family);
    let shown = lines.series.len().min(SERIES);
    let more = lines.series.len() - shown;
    // Crossovers of lines that are not drawn would be riddles.
    if more > 0 {
        lines.crossovers.clear();
    }
    let left_out = if more > 0 {
        format!(" {more} more are not drawn; they are in the table.")
    } else {
        String::new()
    };
    let description = format!(
        "{} over {}, both axes logarithmic: measured costs with their intervals, fitted models dashed, crossovers \
         dotted.{left_out}",
        if shown == 1 {
            "One line".to_string()
        } else {
            format!("{shown} lines")
        },
        family.parameter
    );
    Figure {
        title: format!("Cost over {}", family.parameter),
        description,
        chart: Chart::Lines(lines),
    }
}

pub fn lines(family: &Family) -> Lines {
    let crossovers = family.pairs.iter().flat_map(|pair| match &pair.overtaking {
        Overtaking::Crossings(crossings) => crossings.iter().map(|crossing| crossing.at).collect(),
        Overtaking::AlwaysFaster(_) | Overtaking::Unresolved => Vec::new(),
    });
    Lines {
        parameter: family.parameter.clone(),
        crossovers: crossovers.collect(),
        series: family.members.iter().map(line).collect(),
    }
}

fn line(member: &Member) -> Line {
    let points = member.series.points.iter().filter_map(|point| {
        let cost = point.cost.as_ref()?;
        Some(PlotPoint {
            value: point.value as f64,
            ns: Ranged {
                value: cost.ns,
                low_high: cost.interval.map(Interval::ends),
            },
        })
    });
    let model = member
        .model
        .as_ref()
        .ok()
        .map(|line| (line.fixed.ns, line.per_unit.ns));
    Line {
        label: member.series.label(),
        points: points.collect(),
        model,
    }
}
