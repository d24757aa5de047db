//! The colours of pages and figures, light and dark: one table for the page's stylesheet and for single SVG files. A
//! test checks the contrast that WCAG 2.2 requires.

/// On a light and on a dark background.
pub struct Colour {
    pub name: &'static str,
    pub light: &'static str,
    pub dark: &'static str,
}

const fn colour(name: &'static str, light: &'static str, dark: &'static str) -> Colour {
    Colour { name, light, dark }
}

/// `paper` and `panel` are backgrounds, `line`, `soft` and `warm` are decoration; the others carry
/// information.
pub const PALETTE: [Colour; 17] = [
    colour("paper", "#ffffff", "#14171b"),
    colour("panel", "#f5f6f8", "#1b2026"),
    colour("line", "#d8dde3", "#333b45"),
    colour("soft", "#e6eef7", "#22303e"),
    colour("warm", "#fbe6cf", "#46301a"),
    colour("ink", "#16191d", "#e6e9ed"),
    colour("muted", "#56606b", "#9ba6b2"),
    colour("link", "#0b5aa0", "#7fbcf5"),
    colour("good", "#12703a", "#63c78a"),
    colour("warn", "#855400", "#e3b65a"),
    colour("bad", "#b0241c", "#ff958c"),
    colour("bar", "#2f6fae", "#5fa3e0"),
    colour("s1", "#0b62a8", "#6cb2f0"),
    colour("s2", "#b04a08", "#f2a561"),
    colour("s3", "#187a56", "#5fd0a0"),
    colour("s4", "#8638a5", "#d79ff2"),
    colour("s5", "#6a5a00", "#dcc95e"),
];

pub const SERIES: usize = 5;

/// `--ink:#16191d;...`: declarations for a rule of a stylesheet.
pub fn variables(dark: bool) -> String {
    PALETTE
        .iter()
        .map(|c| format!("--{}:{};", c.name, if dark { c.dark } else { c.light }))
        .collect()
}

/// With each `var(--name)` replaced: not all SVG renderers support variables.
pub fn resolved(stylesheet: &str, dark: bool) -> String {
    PALETTE.iter().fold(stylesheet.to_string(), |text, c| {
        text.replace(
            &format!("var(--{})", c.name),
            if dark { c.dark } else { c.light },
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance, as WCAG 2.2 defines it.
    fn luminance(colour: &str) -> f64 {
        let channel = |i: usize| {
            let value = f64::from(u8::from_str_radix(&colour[i..i + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 {
                value / 12.92
            } else {
                ((value + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    fn ground(name: &str) -> bool {
        matches!(name, "paper" | "panel" | "soft" | "warm" | "line")
    }

    #[test]
    fn text_has_the_contrast_of_wcag_aa_on_every_ground() {
        assert!((contrast("#000000", "#ffffff") - 21.0).abs() < 1e-9);
        for shade_in_theme in [|c: &Colour| c.light, |c: &Colour| c.dark] {
            let grounds = PALETTE
                .iter()
                .filter(|c| ["paper", "panel", "soft"].contains(&c.name));
            for (ground, text) in grounds.flat_map(|g| {
                PALETTE
                    .iter()
                    .filter(|c| !ground(c.name))
                    .map(move |c| (g, c))
            }) {
                let least = if text.name == "bar" { 3.0 } else { 4.5 };
                let actual = contrast(shade_in_theme(ground), shade_in_theme(text));
                assert!(
                    actual >= least,
                    "{} on {}: {actual:.2}",
                    text.name,
                    ground.name
                );
            }
        }
    }

    #[test]
    fn a_resolved_stylesheet_has_no_variables() {
        let text = resolved("a{fill:var(--s1);stroke:var(--ink)}", true);
        assert_eq!(text, "a{fill:#6cb2f0;stroke:#e6e9ed}");
    }
}
