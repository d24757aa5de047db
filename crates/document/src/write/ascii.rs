//! Text for terminals whose character set is ASCII.

/// The replacement of each character, of the same width; `?` for others. Only `±` takes two: the space before it, if there
/// is another one, so that columns stay aligned.
const REPLACED: [(&str, char); 13] = [
    ("·⠄▂", '.'),
    ("░▃", ':'),
    ("─−▄", '-'),
    ("▅", '='),
    ("▆", '+'),
    ("▇", '*'),
    ("█", '#'),
    ("▁", '_'),
    ("│┤", '|'),
    ("└┬", '+'),
    ("…", '~'),
    ("µ", 'u'),
    ("×", 'x'),
];

/// Replaces all characters beyond ASCII, and keeps the alignment of columns.
pub fn ascii(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '±' => {
                if written.ends_with("  ") {
                    written.pop();
                }
                written.push_str("+-");
            }
            c if c.is_ascii() => written.push(c),
            c => {
                let replacement = REPLACED.iter().find(|(all, _)| all.contains(c));
                written.push(replacement.map_or('?', |(_, plain)| *plain));
            }
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stay_aligned() {
        assert_eq!(
            ascii("ns/op     ±  x\n101.4  1.4%  1"),
            "ns/op    +-  x\n101.4  1.4%  1"
        );
        assert_eq!(ascii("5 ± 2 µs ×1.2 …"), "5 +- 2 us x1.2 ~");
        assert_eq!(ascii("├日█░"), "??#:");
    }
}
