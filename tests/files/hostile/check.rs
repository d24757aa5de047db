//! What text must not hold, by who reads it.

use serde_json::Value;

type Checked = Result<(), String>;

/// Characters that act on a reader; our own list, not the program's.
fn acts(c: char) -> bool {
    let code = u32::from(c);
    let marks = [
        0xad, 0x61c, 0x200b, 0x200c, 0x200d, 0x200e, 0x200f, 0x2028, 0x2029, 0x2060, 0xfeff,
    ];
    c.is_control()
        || marks.contains(&code)
        || (0x202a..=0x202e).contains(&code)
        || (0x2066..=0x2069).contains(&code)
        || (0xe0000..=0xe007f).contains(&code)
}

fn text(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|error| error.to_string())
}

fn clean<'a>(bytes: &'a [u8], stay: &[char]) -> Result<&'a str, String> {
    let text = text(bytes)?;
    match text
        .char_indices()
        .find(|(_, c)| acts(*c) && !stay.contains(c))
    {
        Some((at, c)) => {
            let around: String = text[..at]
                .chars()
                .rev()
                .take(60)
                .collect::<Vec<_>>()
                .into_iter()
                .rev()
                .collect();
            Err(format!("{c:?} after {around:?}"))
        }
        None => Ok(text),
    }
}

pub fn output(format: &str, bytes: &[u8]) -> Checked {
    match format {
        "text" => terminal(bytes),
        "markdown" => markdown(clean(bytes, &['\n'])?),
        "csv" => csv(clean(bytes, &['\n', '\t'])?),
        "json" => json(bytes),
        "rows" => bytes
            .split_inclusive(|byte| *byte == b'\n')
            .try_for_each(json),
        "go-benchmark" => clean(bytes, &['\n'])?.lines().try_for_each(go_benchmark),
        "html" => html(clean(bytes, &['\n'])?),
        "svg" => well_formed(clean(bytes, &['\n'])?),
        new => Err(format!("no check is known for the format '{new}': add one")),
    }
}

pub fn terminal(bytes: &[u8]) -> Checked {
    match clean(bytes, &['\n'])?.lines().map(str::len).max() {
        Some(long) if long > 40_000 => Err(format!("a line of {long} bytes")),
        _ => Ok(()),
    }
}

pub fn json(bytes: &[u8]) -> Checked {
    // Most of what acts is no control character for JSON; what is one must be escaped.
    serde_json::from_slice::<Value>(bytes)
        .map(drop)
        .map_err(|error| error.to_string())
}

fn csv(text: &str) -> Checked {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| error.to_string())?.clone();
    for record in std::iter::once(Ok(header)).chain(reader.records()) {
        let record = record.map_err(|error| error.to_string())?;
        let computed = |cell: &&str| {
            cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) && cell.len() > 1
        };
        if let Some(cell) = record
            .iter()
            .find(|cell| computed(cell) && cell.parse::<f64>().is_err())
        {
            return Err(format!("a formula: {cell:?}"));
        }
    }
    Ok(())
}

/// Nothing live once what is escaped is gone, and no line that begins a block of its own.
fn markdown(text: &str) -> Checked {
    for line in text.lines() {
        let mut plain = String::new();
        let mut characters = line.chars();
        while let Some(c) = characters.next() {
            match c {
                '\\' => _ = characters.next(),
                c => plain.push(c),
            }
        }
        // Our own way to write an @ that makes no link.
        let plain = plain.replace("`@`", "");
        let live = ["<", "[", "`", "://", "www.", "@a", "@x", "&", "**", "__"];
        if let Some(found) = live
            .iter()
            .find(|live| plain.to_lowercase().contains(**live))
        {
            return Err(format!("{found} in {line:?}"));
        }
        if ['#', '>', '+', ' ']
            .iter()
            .any(|sign| line.starts_with(&format!("{sign} ")))
            || line.starts_with("```")
        {
            return Err(format!("a block: {line:?}"));
        }
    }
    Ok(())
}

fn go_benchmark(line: &str) -> Checked {
    let words: Vec<&str> = line.split(' ').collect();
    let is_figure = line.starts_with("Benchmark")
        && (words.len() == 4 || words.len() == 6)
        && ["ns/op", "instructions/op"].contains(&words[3]);
    let known = ["goos: ", "goarch: ", "pkg: ", "cpu: ", "# ", "Unit "]
        .iter()
        .any(|start| line.starts_with(start));
    if is_figure || known {
        Ok(())
    } else {
        Err(format!("no line of a benchmark: {line:?}"))
    }
}

fn html(text: &str) -> Checked {
    for (what, most) in [
        ("<script", 1),
        ("<style", 1),
        ("<img", 0),
        ("<iframe", 0),
        ("<!--", 0),
        ("<b>bold", 0),
    ] {
        let found = text.matches(what).count();
        if found > most {
            return Err(format!("{found} times {what}"));
        }
    }
    let tags = text
        .split('<')
        .skip(1)
        .map(|part| part.split('>').next().unwrap_or_default());
    tags.filter(|tag| !tag.starts_with('/'))
        .try_for_each(attributes)
}

/// No attribute that fetches or runs something; a link within the page is none, nor our icon, which is empty.
fn attributes(tag: &str) -> Checked {
    let outside_of_values: String = tag.split('"').step_by(2).collect::<Vec<_>>().join("\"");
    let names: Vec<&str> = outside_of_values
        .split(['"', ' '])
        .filter_map(|word| word.strip_suffix('='))
        .collect();
    let values: Vec<&str> = tag.split('"').skip(1).step_by(2).collect();
    for (name, value) in names.iter().zip(values) {
        let fetches = [
            "src",
            "href",
            "srcset",
            "action",
            "formaction",
            "data",
            "xlink:href",
        ]
        .contains(name);
        if name.starts_with("on") || (fetches && !value.starts_with('#') && value != "data:,") {
            return Err(format!("{name}={value:?} in <{tag}>"));
        }
    }
    Ok(())
}

/// XML: elements are closed in their order, and only the five references are used.
fn well_formed(text: &str) -> Checked {
    let mut open: Vec<&str> = Vec::new();
    let body = text.split_once("?>").map_or(text, |(_, body)| body);
    for part in body.split('<').skip(1) {
        let (tag, content) = part
            .split_once('>')
            .ok_or_else(|| format!("'<{part}' has no end"))?;
        let name = tag
            .split([' ', '/'])
            .find(|word| !word.is_empty())
            .unwrap_or_default();
        match (tag.starts_with('/'), tag.ends_with('/')) {
            (true, _) if open.pop() != Some(name) => {
                return Err(format!("</{name}> closes nothing"));
            }
            (true, _) | (_, true) => {}
            (false, false) => open.push(name),
        }
        attributes(tag)?;
        let references = content.split('&').skip(1).chain(tag.split('&').skip(1));
        let known = ["amp;", "lt;", "gt;", "quot;", "#39;"];
        for reference in references {
            if !known.iter().any(|known| reference.starts_with(known)) {
                return Err(format!("&{reference}"));
            }
        }
    }
    if open.is_empty() && body.trim_start().starts_with("<svg") {
        Ok(())
    } else {
        Err(format!("{open:?} is left open"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A check that finds nothing would pass everything.
    #[test]
    fn each_check_finds_what_it_looks_for() {
        let bad = [
            ("text", "a\u{1b}b"),
            ("text", "a\u{202e}b"),
            ("text", "a\rb"),
            ("markdown", "| [a](b) |"),
            ("markdown", "| http://x |"),
            ("markdown", "| \\\\<b> |"),
            ("markdown", "# a"),
            ("csv", "a\n=1+1\n"),
            ("csv", "a,b\n1\n"),
            ("csv", "a\n\u{200b}\n"),
            ("json", "{"),
            ("go-benchmark", "BenchmarkA b 1 2 ns/op"),
            ("html", "<script>a</script><script>b</script>"),
            ("html", "<p onclick=\"a\">"),
            ("html", "<a href=\"http://x\">"),
            ("svg", "<svg><g></svg>"),
            ("svg", "<svg>&nbsp;</svg>"),
            ("new", ""),
        ];
        for (format, text) in bad {
            assert!(
                output(format, text.as_bytes()).is_err(),
                "{format}: {text:?}"
            );
        }
        let good = [("csv", "a,b\n-1.5,x\n"), ("svg", "<svg><g/>&amp;</svg>")];
        for (format, text) in good {
            output(format, text.as_bytes()).unwrap();
        }
    }
}
