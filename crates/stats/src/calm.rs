//! Which rounds of a run were undisturbed, by a panel of cheap operations that every run measures to its end.
//!
//! A neighbour on the other hardware thread, a tracer or an interrupt slows nearly all operations of the rounds that it meets, and a
//! round has a slot of each case. So the panel decides for all rows at once, and no row is selected by its own speed.

use super::{median, median_ns};
use model::{Block, Measurement, Slot};
use std::borrow::Cow;

/// Fewer members cannot distinguish the machine's state from one of their own oddities.
pub const FEWEST_MEMBERS: usize = 5;
// With 5%, rows of one machine scattered by 1.2% in place of 0.7% (METHOD.md).
/// The very fastest slots of a member are luck.
const FLOOR: f64 = 0.02;
// Anything from 4 to 8% does as well.
/// A round is undisturbed if its median member is at most this much above its floor.
const MARGIN: f64 = 0.06;
// Rejected: waiting for calm. A run measures all rows all the time, and disturbances last.
/// With fewer undisturbed rounds, the calmest ones count, so many or a quarter of all: operations that take milliseconds have few.
const FEWEST_ROUNDS: usize = 30;

/// The undisturbed rounds of a run; by default all of them.
#[derive(Debug, Default, PartialEq)]
pub struct Calm {
    /// Whether each round was undisturbed, by time block. `None` if nothing is known.
    rounds: Option<Vec<Vec<bool>>>,
    /// Above its floor, by block and round; NaN for a slot without samples.
    above: Vec<Vec<Vec<f64>>>,
    share: Option<f64>,
    is_short: bool,
}

impl Calm {
    /// Nothing is known with fewer than [`FEWEST_MEMBERS`] of the panel's measurements.
    pub fn by_panel(members: &[&Measurement]) -> Calm {
        let above: Vec<Vec<Vec<f64>>> = members
            .iter()
            .map(|m| above_floor(m).unwrap_or_default())
            .collect();
        if above.iter().filter(|member| !member.is_empty()).count() < FEWEST_MEMBERS {
            return Calm::default();
        }
        // All members are measured to the end, unless one fails.
        let longest = above.iter().max_by_key(|member| member.len());
        let blocks = longest.iter().flat_map(|member| member.iter().enumerate());
        let indices: Vec<Vec<f64>> = blocks
            .map(|(block, slots)| {
                (0..slots.len())
                    .map(|round| median_above(&above, block, round))
                    .collect()
            })
            .collect();
        Calm {
            above,
            ..Calm::from_indices(&indices)
        }
    }

    /// ln of how much slower a round was, by these members of the panel: the mean of the middle half of what they were above their
    /// floors. 0 where none of them is known.
    pub(super) fn slower_ln(&self, members: &[usize], block: usize, round: usize) -> f64 {
        let mut logs = in_round(&self.above, members, block, round);
        logs.sort_by(f64::total_cmp);
        // The mean of the middle half ignores a member with an oddity of its own and is steadier than the median.
        let quarter = logs.len() / 4;
        let middle = &logs[quarter..logs.len() - quarter];
        match middle {
            [] => 0.0,
            _ => middle.iter().sum::<f64>() / middle.len() as f64,
        }
    }

    /// Selects rounds by how far the median member was above its floor, by block and round; infinite if that is unknown.
    fn from_indices(indices: &[Vec<f64>]) -> Calm {
        let rounds = indices.iter().enumerate().flat_map(|(block, rounds)| {
            rounds
                .iter()
                .enumerate()
                .map(move |(round, index)| (*index, block, round))
        });
        let mut calmest: Vec<(f64, usize, usize)> = rounds.collect();
        calmest.sort_by(|a, b| a.0.total_cmp(&b.0));
        let undisturbed = calmest.partition_point(|(index, ..)| *index <= MARGIN);
        let fewest = FEWEST_ROUNDS.min(calmest.len().div_ceil(4));
        let share = if calmest.is_empty() {
            None
        } else {
            Some(undisturbed as f64 / calmest.len() as f64)
        };
        let mut rounds: Vec<Vec<bool>> = indices
            .iter()
            .map(|block| vec![false; block.len()])
            .collect();
        for (index, block, round) in calmest.into_iter().take(undisturbed.max(fewest)) {
            // A round that too few members have is not known to be calm, even if it is among the calmest.
            rounds[block][round] = index.is_finite();
        }
        Calm {
            rounds: Some(rounds),
            share,
            is_short: undisturbed < fewest,
            ..Calm::default()
        }
    }

    /// 0 to 1; `None` if nothing is known.
    pub fn share(&self) -> Option<f64> {
        self.share
    }

    /// Others count as well then.
    pub fn is_short(&self) -> bool {
        self.is_short
    }

    /// The measurement with its samples of undisturbed rounds, or with all if that would be none: the other slots are empty.
    pub fn only<'a>(&self, m: &'a Measurement) -> Cow<'a, Measurement> {
        self.undisturbed(m).unwrap_or(Cow::Borrowed(m))
    }

    /// `None` without such a sample.
    pub fn undisturbed<'a>(&self, m: &'a Measurement) -> Option<Cow<'a, Measurement>> {
        let Some(rounds) = &self.rounds else {
            return Some(Cow::Borrowed(m));
        };
        let blocks: Vec<Block> = m
            .blocks
            .iter()
            .enumerate()
            .map(|(block, all)| Block {
                launch: all.launch,
                slots: all
                    .slots
                    .iter()
                    .enumerate()
                    .map(|(round, slot)| {
                        // A round that the panel lacks cannot be judged, so it does not count.
                        if rounds.get(block).and_then(|rounds| rounds.get(round)) == Some(&true) {
                            slot.clone()
                        } else {
                            Slot::new()
                        }
                    })
                    .collect(),
            })
            .collect();
        if blocks
            .iter()
            .flat_map(|block| &block.slots)
            .all(Vec::is_empty)
        {
            return None;
        }
        // All but the blocks, whose copy would be thrown away.
        Some(Cow::Owned(Measurement {
            blocks,
            earlier: m.earlier.clone(),
            preempted_ns: m.preempted_ns.clone(),
            ..*m
        }))
    }
}

/// Infinite if too few of them have samples in it.
fn median_above(above: &[Vec<Vec<f64>>], block: usize, round: usize) -> f64 {
    let all: Vec<usize> = (0..above.len()).collect();
    let logs = in_round(above, &all, block, round);
    if logs.len() < FEWEST_MEMBERS {
        return f64::INFINITY;
    }
    median(logs).unwrap_or(f64::INFINITY)
}

fn in_round(above: &[Vec<Vec<f64>>], members: &[usize], block: usize, round: usize) -> Vec<f64> {
    members
        .iter()
        .filter_map(|member| above.get(*member)?.get(block)?.get(round))
        .copied()
        .filter(|log| log.is_finite())
        .collect()
}

/// ln of each slot's median over the member's floor, by block and round; NaN for a slot without samples. `None` without any.
fn above_floor(m: &Measurement) -> Option<Vec<Vec<f64>>> {
    let blocks: Vec<Vec<f64>> = m
        .blocks
        .iter()
        .map(|block| {
            let slots = block.slots.iter();
            slots
                .map(|slot| median_ns(slot).unwrap_or(f64::NAN))
                .collect()
        })
        .collect();
    let mut known: Vec<f64> = blocks
        .iter()
        .flatten()
        .copied()
        .filter(|ns| *ns > 0.0)
        .collect();
    known.sort_by(f64::total_cmp);
    let floor = *known.get((FLOOR * known.len() as f64) as usize)?;
    Some(
        blocks
            .into_iter()
            .map(|block| block.into_iter().map(|ns| (ns / floor).ln()).collect())
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costing(ns: impl Fn(usize) -> u64) -> Measurement {
        Measurement {
            iterations: 1,
            blocks: (0..3)
                .map(|block| Block {
                    launch: 0,
                    slots: (0..40)
                        .map(|round| vec![ns(40 * block + round); 3])
                        .collect(),
                })
                .collect(),
            ..Measurement::default()
        }
    }

    fn by(panel: &[Measurement]) -> Calm {
        Calm::by_panel(&panel.iter().collect::<Vec<_>>())
    }

    #[test]
    fn the_panel_tells_which_rounds_were_undisturbed() {
        fn slow(round: usize) -> bool {
            matches!(round / 10, 3 | 6)
        }

        let mut panel: Vec<Measurement> = (0..FEWEST_MEMBERS as u64)
            .map(|i| costing(move |round| 1000 * (i + 1) * if slow(round) { 13 } else { 10 }))
            .collect();
        // One member alone is odd, in a round in which nothing else is.
        panel[0].blocks[2].slots[10] = vec![99_000; 3];
        let calm = by(&panel);
        assert_eq!(calm.share(), Some(10.0 / 12.0));
        let row = costing(|round| {
            if slow(round) {
                5000
            } else {
                70 + round as u64 % 2
            }
        });
        let left = calm.only(&row);
        for (block, round) in [(0, 30), (1, 20)] {
            assert!(left.blocks[block].slots[round].is_empty());
        }
        assert_eq!(left.samples().count(), 300);
        assert!(left.samples().all(|ns| ns.0 <= 71.0));
    }

    /// A row with two costs keeps both, whichever rounds are left.
    #[test]
    fn no_row_is_selected_by_its_own_speed() {
        let panel: Vec<Measurement> = (0..FEWEST_MEMBERS as u64)
            .map(|i| costing(move |round| 1000 * (i + 1) * if round < 60 { 10 } else { 20 }))
            .collect();
        let row = costing(|round| if round % 2 == 0 { 100 } else { 200 });
        let calm = by(&panel);
        let left = calm.only(&row);
        let ns: Vec<u64> = left
            .blocks
            .iter()
            .flat_map(|b| &b.slots)
            .flatten()
            .copied()
            .collect();
        assert_eq!(
            (ns.len(), ns.iter().filter(|ns| **ns == 200).count()),
            (180, 90)
        );
    }

    #[test]
    fn without_a_panel_or_a_sample_everything_counts() {
        let row = costing(|_| 5);
        let few: Vec<Measurement> = vec![costing(|_| 9); FEWEST_MEMBERS - 1];
        assert_eq!(by(&few), Calm::default());
        assert_eq!(
            (by(&few).share(), by(&few).only(&row).into_owned()),
            (None, row.clone())
        );
        let panel = vec![costing(|round| if round < 40 { 100 } else { 900 }); FEWEST_MEMBERS];
        let late = Measurement {
            blocks: [vec![Block::default()], row.blocks[1..].to_vec()].concat(),
            ..row
        };
        assert_eq!(
            by(&panel).only(&late).into_owned(),
            late,
            "no sample of an undisturbed round"
        );
    }

    #[test]
    fn where_few_rounds_are_undisturbed_the_calmest_count() {
        let panel = vec![costing(|round| 1000 + 100 * (119 - round as u64)); FEWEST_MEMBERS];
        let calm = by(&panel);
        assert!(calm.is_short() && calm.share() < Some(0.05), "{calm:?}");
        let left = calm.only(&panel[0]).into_owned();
        assert_eq!(left.samples().count(), 3 * FEWEST_ROUNDS);
        assert!(left.samples().all(|ns| ns.0 < 4000.0));
    }
}
