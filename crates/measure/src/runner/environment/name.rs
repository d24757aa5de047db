//! Names of environments: the name of a file, or for guests `linux-6.1`, `linux:build/bzImage`,
//! `linux-arm64-6.1`, `linux-6.1 cpu=Haswell memory=512 audit=1`. Pure.

use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq)]
pub enum Kernel {
    /// E.g. `6.1`.
    Version(String),
    File(PathBuf),
}

#[derive(Debug, PartialEq)]
pub struct Name {
    pub file: String,
    pub kernel: Option<Kernel>,
    pub cpu: Option<String>,
    pub memory: Option<String>,
    pub confine: Option<String>,
    pub append: String,
}

/// None if it belongs to no file.
pub fn parse(name: &str, is_file: impl Fn(&str) -> bool) -> Option<Name> {
    let (base, words) = name.split_once(' ').unwrap_or((name, ""));
    let (file, kernel) = file_and_kernel(base, is_file)?;
    let (mut cpu, mut memory, mut confine, mut append) = (None, None, None, Vec::new());
    for word in words.split_whitespace() {
        // The kernel has no parameters of these names.
        match word.split_once('=') {
            // Commas separate environments, so that a processor's features are set apart by colons: `cpu=Haswell:-erms`.
            Some(("cpu", chosen)) => cpu = Some(chosen.replace(':', ",")),
            Some(("memory", mib)) => memory = Some(mib.to_string()),
            Some(("confine", way)) => confine = Some(way.to_string()),
            _ => append.push(word),
        }
    }
    Some(Name {
        file,
        kernel,
        cpu,
        memory,
        confine,
        append: append.join(" "),
    })
}

fn file_and_kernel(base: &str, is_file: impl Fn(&str) -> bool) -> Option<(String, Option<Kernel>)> {
    if is_file(base) {
        return Some((base.to_string(), None));
    }
    if let Some((file, path)) = base
        .split_once(':')
        .filter(|(file, path)| is_file(file) && !path.is_empty())
    {
        return Some((file.to_string(), Some(Kernel::File(path.into()))));
    }
    let (file, version) = base
        // The longest file name first: `linux-arm64-6.1` is not version `arm64-6.1` of `linux`.
        .rmatch_indices('-')
        .map(|(at, _)| (&base[..at], &base[at + 1..]))
        .find(|(file, _)| is_file(file))?;
    // The end of a release tells the processor: `linux-6.1.0-54-arm64` is for the file `linux-arm64`.
    let ending = format!("{file}-{}", version.rsplit('-').next()?);
    let file = if is_file(&ending) {
        ending
    } else {
        file.to_string()
    };
    if version.is_empty() {
        return None;
    }
    Some((file, Some(Kernel::Version(version.to_string()))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Name> {
        parse(text, |file| {
            ["linux", "linux-arm64", "uml", "qemu-x86"].contains(&file)
        })
    }

    #[test]
    fn a_guest_has_a_kernel_and_boot_parameters() {
        for (text, file, kernel, append) in [
            ("linux-6.1", "linux", "6.1", ""),
            (
                "linux-6.1.0-54-arm64 audit=1 nopti",
                "linux-arm64",
                "6.1.0-54-arm64",
                "audit=1 nopti",
            ),
            ("linux-arm64-6.1", "linux-arm64", "6.1", ""),
            ("linux-6.1.0-54-amd64", "linux", "6.1.0-54-amd64", ""),
            ("linux-arm64", "linux-arm64", "", ""),
            ("linux:a-b/bzImage", "linux", "file a-b/bzImage", ""),
            ("uml mem=64M", "uml", "", "mem=64M"),
            ("qemu-x86", "qemu-x86", "", ""),
        ] {
            let read = read(text).unwrap();
            let actual = match read.kernel {
                Some(Kernel::Version(version)) => version,
                Some(Kernel::File(path)) => format!("file {}", path.display()),
                None => String::new(),
            };
            assert_eq!(
                (read.file.as_str(), actual.as_str(), read.append.as_str()),
                (file, kernel, append)
            );
        }
        let cpu = read("linux-6.1 pti=on cpu=Haswell:-avx audit=1 memory=64 confine=landlock:16")
            .unwrap();
        assert_eq!(
            [cpu.cpu, cpu.memory, cpu.confine],
            ["Haswell,-avx", "64", "landlock:16"].map(|text| Some(text.to_string()))
        );
        assert_eq!(cpu.append, "pti=on audit=1");
        for none in ["", "other", "linux-", "linux:", "other-6.1", " linux"] {
            assert_eq!(read(none), None, "{none}");
        }
    }
}
