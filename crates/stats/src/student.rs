//! Student's t distribution, implemented here because all crates that have it depend on linear algebra or a whole library of
//! distributions.

/// P(T > t) for `degrees` of freedom, which need not be an integer.
///
/// By the regularised incomplete beta function: for t >= 0 it is I(v / (v + t^2); v/2, 1/2) / 2
/// (Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.1).
pub fn upper_tail(t: f64, degrees: f64) -> f64 {
    if t < 0.0 {
        return 1.0 - upper_tail(-t, degrees);
    }
    0.5 * incomplete_beta(degrees / (degrees + t * t), degrees / 2.0, 0.5)
}

/// The t with an upper tail of probability `tail`, which must be under 0.5. By bisection, to 10 digits.
pub fn quantile(tail: f64, degrees: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    // With one degree of freedom, quantiles exceed any fixed upper bound.
    while upper_tail(high, degrees) > tail && high < 1e12 {
        high *= 2.0;
    }
    for _ in 0..80 {
        let middle = (low + high) / 2.0;
        if upper_tail(middle, degrees) > tail {
            low = middle
        } else {
            high = middle
        }
        if high - low < 1e-10 * high {
            break;
        }
    }
    (low + high) / 2.0
}

/// I(x; a, b) by its continued fraction, on the side that converges quickly (ibid., 26.5.8).
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let front = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p();
    front.exp() / (a * continued_fraction(x, a, b))
}

/// 1 + d1/(1 + d2/(1 + ...)), evaluated forwards (Lentz 1976) until terms no longer matter.
fn continued_fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let (mut value, mut c, mut d) = (1.0, 1.0, 0.0);
    for i in 1..2000 {
        let m = f64::from(i / 2);
        let numerator = match i % 2 {
            0 => m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            _ => -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        };
        // Lentz replaces a zero by a tiny number, so that neither recurrence divides by it.
        d = 1.0 / nonzero(1.0 + numerator * d, TINY);
        c = nonzero(1.0 + numerator / c, TINY);
        value *= c * d;
        if (c * d - 1.0).abs() < 1e-14 {
            break;
        }
    }
    value
}

fn nonzero(value: f64, tiny: f64) -> f64 {
    if value.abs() < tiny { tiny } else { value }
}

/// ln of the gamma function for x > 0: Stirling's series, after shifting x until it is exact to 14 digits.
fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut steps) = (x, 0.0);
    while x < 12.0 {
        steps += x.ln();
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    let series =
        (1.0 / 12.0 - inverse * (1.0 / 360.0 - inverse * (1.0 / 1260.0 - inverse / 1680.0))) / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series - steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        let table = [
            (0.025, 2.0, 4.302653),
            (0.025, 4.0, 2.776445),
            (0.005, 10.0, 3.169273),
            (0.025, 1e6, 1.959966),
        ];
        for (tail, degrees, t) in table {
            let actual = quantile(tail, degrees);
            assert!((actual - t).abs() < 2e-6, "{tail} {degrees}: {actual}");
            assert!((upper_tail(actual, degrees) - tail).abs() < 1e-9);
        }
    }

    #[test]
    fn small_cases_have_closed_forms() {
        for t in [-3.0f64, 0.0, 0.1, 1.0, 30.0] {
            let cauchy = 0.5 - t.atan() / std::f64::consts::PI;
            assert!((upper_tail(t, 1.0) - cauchy).abs() < 1e-12, "{t}");
            let two = 0.5 * (1.0 - t / (2.0 + t * t).sqrt());
            assert!((upper_tail(t, 2.0) - two).abs() < 1e-12, "{t}");
        }
        assert!((ln_gamma(0.5) - 0.5 * std::f64::consts::PI.ln()).abs() < 1e-12);
        assert!((ln_gamma(11.0) - 3_628_800f64.ln()).abs() < 1e-11);
    }
}
