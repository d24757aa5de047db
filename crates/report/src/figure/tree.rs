//! Stacks by weight as a tree, of one profile or of two: the widths and the changes of a flame graph's frames.

use super::{Frame, FrameKind};

pub type Step<'a> = (FrameKind, &'a str);

/// A function, with its own weight on either side.
#[derive(Default)]
pub struct Tree<'a> {
    pub weights: [f64; 2],
    below: Vec<(Step<'a>, Tree<'a>)>,
}

/// Narrower frames could not be seen.
const NARROWEST: f64 = 0.0005;

/// Smaller changes are none, and from `LARGE` on they are large; shares of the larger side.
const LEAST: f64 = 0.02;
const LARGE: f64 = 0.25;

impl<'a> Tree<'a> {
    /// The child for a step, which is added if it does not exist.
    pub fn child(&mut self, step: Step<'a>) -> &mut Tree<'a> {
        let at = self
            .below
            .iter()
            .position(|(other, _)| *other == step)
            .unwrap_or_else(|| {
                self.below.push((step, Tree::default()));
                self.below.len() - 1
            });
        &mut self.below[at].1
    }

    /// Adds weight to the last frame of a path, on one side.
    pub fn add(&mut self, path: impl Iterator<Item = Step<'a>>, side: usize, weight: f64) {
        // A path is as long as a stack, at most some hundred frames.
        path.fold(self, |above, step| above.child(step)).weights[side] += weight;
    }

    /// The weight with all children, as a frame's width shows it.
    pub fn sum(&self, side: usize) -> f64 {
        self.weights[side]
            + self
                .below
                .iter()
                .map(|(_, tree)| tree.sum(side))
                .sum::<f64>()
    }

    /// Room for the larger side, so that what is gone is seen too.
    fn width(&self) -> f64 {
        self.weights[0].max(self.weights[1])
            + self.below.iter().map(|(_, tree)| tree.width()).sum::<f64>()
    }

    /// Frames of the first side, labelled with their weight and share.
    pub fn flame(&self, value: &dyn Fn(f64) -> String) -> Vec<Frame> {
        let whole = self.sum(0);
        let words =
            |[weight, _]: [f64; 2]| format!("{}, {:.1}%", value(weight), 100.0 * weight / whole);
        self.frames(0, 0.0, whole, &|sums| (words(sums), None))
    }

    /// Frames as wide as the larger side, marked by how they changed.
    pub fn difference(&self, value: &dyn Fn(f64) -> String) -> Vec<Frame> {
        let words = |[before, after]: [f64; 2]| {
            let sign = if after < before { "-" } else { "+" };
            format!(
                "{} before, {} after ({sign}{})",
                value(before),
                value(after),
                value((after - before).abs())
            )
        };
        self.frames(0, 0.0, self.width(), &|sums| {
            (words(sums), Some(change(sums)))
        })
    }

    /// The widest first.
    fn frames(&self, depth: usize, left: f64, whole: f64, words: &Words) -> Vec<Frame> {
        let mut below: Vec<(f64, &(Step, Tree))> =
            self.below.iter().map(|one| (one.1.width(), one)).collect();
        below.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.0.cmp(&b.1.0)));
        let (mut frames, mut left) = (Vec::new(), left);
        for (width, ((kind, name), tree)) in below {
            let share = width / whole;
            if share >= NARROWEST {
                let (value, change) = words([tree.sum(0), tree.sum(1)]);
                let name = match kind {
                    FrameKind::NoSymbol => format!("[{name}]"),
                    _ => name.to_string(),
                };
                frames.push(Frame {
                    name: name.clone(),
                    words: format!("{name}: {value}"),
                    kind: *kind,
                    change,
                    depth,
                    left,
                    share,
                });
                frames.extend(tree.frames(depth + 1, left, whole, words));
            }
            // Frames that are too narrow to draw keep their place.
            left += share;
        }
        frames
    }
}

type Words<'w> = dyn Fn([f64; 2]) -> (String, Option<i8>) + 'w;

/// From -2, much less, to 2, much more.
fn change([before, after]: [f64; 2]) -> i8 {
    let share = (after - before).abs() / before.max(after).max(f64::MIN_POSITIVE);
    let size = i8::from(share >= LEAST) + i8::from(share >= LARGE);
    if after < before { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_and_what_is_new_have_their_room() {
        fn step(name: &str) -> (FrameKind, &str) {
            (FrameKind::Function, name)
        }

        let mut tree = Tree::default();
        tree.add([step("main"), step("old")].into_iter(), 0, 30.0);
        tree.add([step("main"), step("same")].into_iter(), 0, 50.0);
        tree.add([step("main"), step("same")].into_iter(), 1, 50.0);
        tree.add([step("main"), step("new")].into_iter(), 1, 20.0);
        let flame = tree.difference(&|weight| format!("{weight:.0}"));
        let frames: Vec<_> = flame
            .iter()
            .map(|f| (f.name.as_str(), f.change.unwrap(), f.share))
            .collect();
        assert_eq!(
            frames,
            [
                ("main", -1, 1.0),
                ("same", 0, 0.5),
                ("old", -2, 0.3),
                ("new", 2, 0.2)
            ]
        );
        assert_eq!(flame[0].words, "main: 80 before, 70 after (-10)");
    }
}
