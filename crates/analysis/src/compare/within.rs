//! One run compared within itself: the ratios that its study derives, as the rows of a comparison.

use super::cell::Cell;
use super::column::{Column, ColumnInfo};
use super::row::{ComparedRow, Key, area};
use super::verdict::{Mark, PlainRatio, Ratio, RatioOf, Verdict};
use super::{Caution, Comparison, Options, cautions, select};
use crate::derive::DerivedRow;
use model::Combination;

/// The labels of the sides if the ratios have different cases there.
const SIDES: [&str; 2] = ["divisor", "dividend"];

/// The divisor is the first column.
pub fn within(column: &Column, options: &Options) -> Comparison {
    let ratios: Vec<&DerivedRow> = column
        .derived
        .iter()
        .filter(|row| {
            row.combination == Combination::Ratio
                && options.selection.takes_derived(&row.name, &row.pair)
        })
        .collect();
    let columns = [1, 0].map(|side| {
        let first = ratios.first().map(|row| row.pair[side].as_str());
        let common = first.filter(|first| ratios.iter().all(|row| row.pair[side] == *first));
        ColumnInfo {
            label: common.unwrap_or(SIDES[1 - side]).to_string(),
            ..column.info.clone()
        }
    });
    let mut rows: Vec<ComparedRow> = ratios
        .iter()
        .filter_map(|derived| row(column, derived, options.margin))
        .collect();
    select::sort(&mut rows, options.order, 0);
    let mut cautions = cautions::cautions(std::slice::from_ref(column), &[], 0, &[]);
    cautions.push(Caution::SameRounds);
    Comparison {
        columns: columns.into(),
        margin: options.margin,
        rows,
        reference: vec![Verdict::Baseline, Verdict::Missing],
        machine: vec![None; 2],
        cautions,
        ..Comparison::default()
    }
}

fn row(column: &Column, derived: &DerivedRow, margin: f64) -> Option<ComparedRow> {
    fn cell(row: Option<&Cell>) -> Option<Box<Cell>> {
        row.map(|row| Box::new(row.clone()))
    }

    let [dividend, base] = derived.pair.each_ref().map(|label| {
        column.rows.iter().find(|row| {
            let case = &row.case;
            case.label() == label
                && case.environment == derived.environment
                && case.params == derived.params
        })
    });
    let case = &dividend.or(base)?.case;
    let key = Key {
        label: derived.name.clone(),
        title: derived.name.clone(),
        language: None,
        ..Key::from_case(case)
    };
    Some(ComparedRow {
        key,
        operation: case.operation.clone(),
        area: area(case).to_string(),
        other_code: false,
        cells: vec![cell(base), cell(dividend)],
        verdicts: vec![Verdict::Baseline, verdict(derived, margin)],
        since: None,
    })
}

/// Unlike between files, other kernel entries do not keep costs from being compared: the study asks for the ratio.
fn verdict(derived: &DerivedRow, margin: f64) -> Verdict {
    let Ok(value) = derived.value else {
        return Verdict::Missing;
    };
    let Some(((low, high), mark)) = value.low_high.zip(Mark::on(value, margin)) else {
        return Verdict::OneFigure(PlainRatio {
            ratio: value.value,
            relative: None,
        });
    };
    Verdict::Ratio(Ratio {
        ratio: value.value,
        low,
        high,
        kind: RatioOf::time(value.value),
        mark,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{EntriesRule, Gate, GateVerdict};
    use crate::derive::DerivedKey;
    use model::fixtures::{counted, named, run};
    use model::{Derived, Record, Unit};
    use stats::Ranged;

    fn judged(range: (f64, f64, f64), entries: f64, gate: Gate) -> (Option<Mark>, GateVerdict) {
        let (value, low, high) = range;

        fn side(name: &str, entries: f64) -> Record {
            counted(named(name, "file.stat", 100), &[("openat", entries)])
        }

        let mut column = Column::new("x", &run(vec![side("head", entries), side("base", 10.0)]));
        let names = ["head".into(), "base".into()];
        let derived = Derived {
            name: "head over base".into(),
            combination: Combination::Ratio,
            pair: names,
        };
        column.derived = vec![DerivedRow {
            key: DerivedKey::new(&derived, &column.rows[0].case, Unit::Nanoseconds),
            value: Ok(Ranged {
                value,
                low_high: Some((low, high)),
            }),
            verdict: None,
            entries: None,
            scale: None,
        }];
        let mut comparison = within(&column, &Options::default());
        assert_eq!([comparison.label(0), comparison.label(1)], ["base", "head"]);
        comparison.gate(&gate);
        (
            comparison.rows[0].verdicts[1].mark(),
            comparison.gate.unwrap().rows[0].verdict.clone(),
        )
    }

    #[test]
    fn a_ratio_is_judged_also_where_entries_differ() {
        let over = Gate {
            limit: Some(0.05),
            entries: None,
        };
        let (slower, same) = ((1.2, 1.1, 1.3), (1.0, 0.98, 1.02));
        let (mark, findings) = judged(slower, 10.0, over);
        assert_eq!(mark, Some(Mark::Slower));
        assert!(matches!(findings, GateVerdict::Grown { .. }));
        let findings = judged(slower, 9.0, over).1;
        assert!(
            matches!(findings, GateVerdict::Grown { .. }),
            "fewer entries, more time"
        );
        let unclear = (Some(Mark::NotKnown), GateVerdict::Passed);
        assert_eq!(judged(same, 9.0, over), unclear);
        assert!(matches!(
            judged(same, 12.0, over).1,
            GateVerdict::Entries(_)
        ));
        let more = Gate {
            limit: None,
            entries: Some(EntriesRule::More),
        };
        assert!(matches!(
            judged(same, 11.0, more).1,
            GateVerdict::Entries(_)
        ));
        assert_eq!(judged(slower, 9.0, more).1, GateVerdict::Passed);
    }
}
