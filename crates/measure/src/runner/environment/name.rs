//! Names of environments: the name of a file, or for guests `linux-6.1`, `linux:build/bzImage`,
//! `linux-arm64-6.1`, `linux-6.1 cpu=Haswell memory=512 audit=1`. Pure.

use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// Of a fetched image, e.g. `6.1`.
    Version(String),
    File(PathBuf),
}

#[derive(Debug, PartialEq, Eq)]
pub struct Name {
    pub file: String,
    pub kernel: Option<Kernel>,
    pub cpu: Option<String>,
    pub memory: Option<String>,
    pub append: String,
}

/// The kernel has no parameters of these names.
const CPU: &str = "cpu=";
const MEMORY: &str = "memory=";

/// `None` if it belongs to no file.
pub fn parse(name: &str, is_file: impl Fn(&str) -> bool) -> Option<Name> {
    let (base, words) = name.split_once(' ').unwrap_or((name, ""));
    let chosen = |key: &str| {
        words
            .split_whitespace()
            .filter_map(|word| word.strip_prefix(key))
            .next_back()
    };
    let is_parameter = |word: &&str| !word.starts_with(CPU) && !word.starts_with(MEMORY);
    let append: Vec<&str> = words.split_whitespace().filter(is_parameter).collect();
    let name = |file: &str, kernel| Name {
        file: file.to_string(),
        kernel,
        // Commas separate environments, so that a processor's features are set apart by colons: `cpu=Haswell:-erms`.
        cpu: chosen(CPU).map(|cpu| cpu.replace(':', ",")),
        memory: chosen(MEMORY).map(str::to_string),
        append: append.join(" "),
    };
    if is_file(base) {
        return Some(name(base, None));
    }
    if let Some((file, path)) = base
        .split_once(':')
        .filter(|(file, path)| is_file(file) && !path.is_empty())
    {
        return Some(name(file, Some(Kernel::File(path.into()))));
    }
    let (file, version) = base
        .rmatch_indices('-')
        .map(|(at, _)| (&base[..at], &base[at + 1..]))
        .find(|(f, _)| is_file(f))?;
    // The end of a release tells the processor: `linux-6.1.0-54-arm64` is for the file `linux-arm64`.
    let ending = version
        .rsplit('-')
        .next()
        .map(|last| format!("{file}-{last}"))
        .filter(|ending| is_file(ending));
    let file = ending.as_deref().unwrap_or(file);
    (!version.is_empty()).then(|| name(file, Some(Kernel::Version(version.to_string()))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_has_a_kernel_and_boot_parameters() {
        let read = |text: &str| {
            parse(text, |file| {
                ["linux", "linux-arm64", "uml", "qemu-x86"].contains(&file)
            })
        };
        let name = |file: &str, kernel, append: &str| {
            Some(Name {
                file: file.into(),
                kernel,
                cpu: None,
                memory: None,
                append: append.into(),
            })
        };
        assert_eq!(
            read("linux-6.1"),
            name("linux", Some(Kernel::Version("6.1".into())), "")
        );
        let arm = Some(Kernel::Version("6.1.0-54-arm64".into()));
        assert_eq!(
            read("linux-6.1.0-54-arm64 audit=1 nopti"),
            name("linux-arm64", arm, "audit=1 nopti")
        );
        let version = |text: &str| Some(Kernel::Version(text.into()));
        assert_eq!(
            read("linux-arm64-6.1"),
            name("linux-arm64", version("6.1"), "")
        );
        assert_eq!(
            read("linux-6.1.0-54-amd64"),
            name("linux", version("6.1.0-54-amd64"), "")
        );
        assert_eq!(read("linux-arm64"), name("linux-arm64", None, ""));
        assert_eq!(
            read("linux:a-b/bzImage"),
            name("linux", Some(Kernel::File("a-b/bzImage".into())), "")
        );
        assert_eq!(read("uml mem=64M"), name("uml", None, "mem=64M"));
        assert_eq!(read("qemu-x86"), name("qemu-x86", None, ""));
        let cpu = read("linux-6.1 pti=on cpu=Haswell:-avx audit=1 memory=64").unwrap();
        assert_eq!(
            (cpu.cpu.as_deref(), cpu.append.as_str()),
            (Some("Haswell,-avx"), "pti=on audit=1")
        );
        assert_eq!(cpu.memory.as_deref(), Some("64"));
        for none in ["", "other", "linux-", "linux:", "other-6.1", " linux"] {
            assert_eq!(read(none), None, "{none}");
        }
    }
}
