//! Bars and histograms on the terminal: `syscost show --view bars` and `--view distribution`. They are made from the
//! same figures as on the page.

use crate::model::{Run, Unit};
use crate::report::Screen;
use crate::report::figure::axis::LogAxis;
use crate::report::figure::{Bar, Bars, Chart, Distribution, Figure, Kernel, TALLEST};
use crate::report::numbers::{instructions, nanoseconds};
use crate::report::run::detail::Detail;
use crate::report::run::figures::{self, modes_in_words};
use crate::write::markup::cut;
use crate::write::text::write_lines;
use anyhow::Result;
use std::io::Write;

/// Default width of the screen and maximum width of a name, in characters.
const WIDTH: usize = 80;
const NAME: usize = 30;

/// Writes the costs of `run` as bars on a logarithmic axis, by area.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_bars(run: &Run, screen: Screen, out: &mut dyn Write) -> Result<()> {
    let detail = Detail::new(run);
    for (i, unit) in figures::units(&detail).into_iter().enumerate() {
        let Figure { chart: Chart::Bars(bars), .. } = figures::bars("", &detail, None, unit) else { continue };
        write_lines((i > 0).then(String::new), out)?;
        write_lines(bar_lines(&bars, width(screen)), out)?;
    }
    Ok(())
}

/// Writes a histogram of the samples of each case of `run`.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_distributions(run: &Run, out: &mut dyn Write) -> Result<()> {
    let detail = Detail::new(run);
    write_lines(detail.distributions.iter().flatten().map(distribution_line), out)?;
    if detail.distributions.iter().flatten().any(|one| one.modes.is_some()) {
        writeln!(out, "\n{}", crate::stats::TWO_MODES_RULE)?;
    }
    Ok(())
}

fn width(screen: Screen) -> usize {
    screen.width.map_or(WIDTH, usize::from).clamp(50, 120)
}

fn bar_lines(bars: &Bars, width: usize) -> Vec<String> {
    let rows = || bars.groups.iter().flat_map(|group| &group.rows);
    let name = rows().map(|bar| bar.label.chars().count()).max().unwrap_or(0).min(NAME);
    let axis = LogAxis::holding(rows().filter_map(|bar| bar.value)).begun_at_decade();
    let room = width.saturating_sub(name + 14);
    let mut lines = Vec::new();
    for group in &bars.groups {
        lines.extend((!lines.is_empty()).then(String::new));
        lines.push(cut(&group.name, width));
        lines.extend(group.rows.iter().map(|bar| bar_line(bar, (&axis, bars.unit), name, room)));
    }
    let first =
        axis.ticks(0.1).first().map_or(String::new(), |tick| format!(" from {}", figures::with_unit(*tick, bars.unit)));
    lines.push(String::new());
    lines.push(format!("logarithmic axis{first}; █ makes system calls, ░ makes none, ? not counted"));
    lines
}

fn bar_line(bar: &Bar, (axis, unit): (&LogAxis, Unit), name: usize, room: usize) -> String {
    let mark = match bar.kernel {
        Kernel::Enters => "█",
        Kernel::Never => "░",
        Kernel::Unknown => "?",
    };
    let label = cut(&bar.label, name);
    let number = if unit == Unit::Instructions { instructions } else { nanoseconds };
    let (cost, length) = match bar.value {
        Some(value) => (number(value), ((axis.share(value) * room as f64).round() as usize).max(1)),
        None => ("-".to_string(), 0),
    };
    format!("  {label:name$} {cost:>10} {}", mark.repeat(length)).trim_end().to_string()
}

/// `id.getppid   104.0 ▁▂█▃▁ 115.0 ns`, and the modes if there are two.
fn distribution_line(one: &Distribution) -> String {
    const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let block = |height: &u8| BLOCKS[usize::from((*height).min(TALLEST)).div_ceil(2)];
    let bins: String = one.heights.iter().map(block).collect();
    let label = cut(&one.label, NAME);
    let modes = modes_in_words(one).map(|words| format!("  two modes: {words}")).unwrap_or_default();
    let (low, high) = (nanoseconds(one.low), nanoseconds(one.high));
    format!("{label:NAME$} {low:>10} {bins} {high} ns{modes}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::TwoModes;

    #[test]
    fn bars_are_as_long_as_their_logarithms() {
        let bar =
            |label: &str, ns, kernel| Bar { label: label.into(), value: ns, low_high: None, kernel, others: vec![] };
        let rows = vec![
            bar("id.a", Some(10.0), Kernel::Enters),
            bar("id.b", Some(1000.0), Kernel::Never),
            bar("id.bc", None, Kernel::Unknown),
        ];
        let group = crate::report::figure::Group { name: "id".to_string(), rows };
        let lines = bar_lines(&Bars { unit: Unit::default(), series: vec![], groups: vec![group] }, 50);
        assert_eq!(lines[1], format!("  id.a        10.0 {}", "█"));
        assert_eq!(lines[2], format!("  id.b       1,000 {}", "░".repeat(31)));
        assert_eq!(lines[3], "  id.bc          -");
    }

    #[test]
    fn a_histogram_is_one_line_and_names_its_modes() {
        let modes = Some(TwoModes { low: 100.0, high: 120.0, share_high: 0.25 });
        let heights = vec![0, 1, 16, 8, 0];
        let one = Distribution { label: "a".into(), low: 95.0, high: 125.0, heights, samples: 9, modes };
        let name = format!("{:30}", "a");
        assert_eq!(
            distribution_line(&one),
            format!("{name}       95.0  ▁█▄  125.0 ns  two modes: 100.0 ns 75%, 120.0 ns 25%")
        );
    }
}
