/// Which of these tests hold, by S. Holm's step-down method, A Simple Sequentially Rejective Multiple Test Procedure, 1979. The
/// chance of even one wrong yes is at most `level`, however the tests depend on each other. For the few pairs of a matrix.
pub fn holm(p_values: &[f64], level: f64) -> Vec<bool> {
    let mut sorted = p_values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let first_no = (0..sorted.len())
        .find(|rank| sorted[*rank] > level / (sorted.len() - *rank) as f64)
        .map(|rank| sorted[rank]);
    p_values
        .iter()
        .map(|p| first_no.is_none_or(|no| *p < no))
        .collect()
}

/// Which of these tests hold, by the procedure of Y. Benjamini and Y. Hochberg, Controlling the False Discovery Rate, 1995: of
/// those that do, a share of at most `level` is expected to be wrong. They may be independent or lean together. For the many
/// rows of a file, of which Holm would find only what changed by far more than the interval.
pub fn discoveries(p_values: &[f64], level: f64) -> Vec<bool> {
    let mut sorted = p_values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let largest = (0..sorted.len())
        .rev()
        .find(|rank| sorted[*rank] <= level * (*rank + 1) as f64 / p_values.len() as f64)
        .map(|rank| sorted[rank]);
    p_values
        .iter()
        .map(|p| largest.is_some_and(|largest| *p <= largest))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holm_steps_down_and_stops() {
        assert_eq!(
            holm(&[0.01, 0.04, 0.03, 0.005], 0.05),
            [true, false, false, true]
        );
        assert_eq!(holm(&[0.04], 0.05), [true]);
        assert_eq!(holm(&[0.04, 0.04], 0.05), [false, false]);
        assert_eq!(holm(&[], 0.05), Vec::<bool>::new());
    }

    #[test]
    fn all_up_to_the_last_that_passes_hold() {
        let table: [(&[f64], &[bool]); 5] = [
            (&[0.01, 0.04, 0.03, 0.005], &[true, true, true, true]),
            (&[0.01, 0.06, 0.04, 0.005], &[true, false, false, true]),
            (&[0.04], &[true]),
            (&[0.04, 0.06], &[false, false]),
            (&[], &[]),
        ];
        for (p_values, expected) in table {
            assert_eq!(discoveries(p_values, 0.05), expected, "{p_values:?}");
        }
    }
}
