//! State of the kernel on which costs depend, and which its release does not determine.

use super::super::Sources;
use flate2::read::GzDecoder;
use std::io::Read;

/// When the kernel itself is preempted: `none`, `voluntary`, `full`, `lazy` or `rt`. `dynamic` if the mode can be switched at run
/// time and the current one is not readable; `None` if the kernel's version does not show it.
pub fn preemption(sources: &Sources) -> Option<String> {
    let switched = sources
        .text("sys/kernel/debug/sched/preempt")
        .and_then(|modes| bracketed(&modes, '(', ')'));
    if switched.is_some() {
        return switched;
    }
    let version = sources.text("proc/sys/kernel/version")?;
    let flags: Vec<&str> = version.split_whitespace().collect();
    if flags.contains(&"PREEMPT_RT") {
        return Some("rt".into());
    }
    let is_dynamic = flags.contains(&"PREEMPT_DYNAMIC");
    if is_dynamic && let Some(mode) = boot_option(sources, "preempt=") {
        return Some(mode);
    }
    let built = built_mode(sources).map(str::to_string);
    built.or_else(|| is_dynamic.then(|| "dynamic".to_string()))
}

/// The default if the mode can be switched.
fn built_mode(sources: &Sources) -> Option<&'static str> {
    const MODES: [(&str, &str); 4] = [
        ("CONFIG_PREEMPT_NONE=y", "none"),
        ("CONFIG_PREEMPT_VOLUNTARY=y", "voluntary"),
        ("CONFIG_PREEMPT_LAZY=y", "lazy"),
        ("CONFIG_PREEMPT=y", "full"),
    ];
    let configuration = configuration(sources)?;
    let (_, mode) = MODES
        .into_iter()
        .find(|(option, _)| configuration.lines().any(|line| line == *option))?;
    Some(mode)
}

fn configuration(sources: &Sources) -> Option<String> {
    if let Some(packed) = sources.bytes("proc/config.gz") {
        let mut text = String::new();
        GzDecoder::new(packed.as_slice())
            .read_to_string(&mut text)
            .ok()?;
        return Some(text);
    }
    let release = sources.text("proc/sys/kernel/osrelease")?;
    sources.text(&format!("boot/config-{release}"))
}

fn boot_option(sources: &Sources, start: &str) -> Option<String> {
    let line = sources.text("proc/cmdline")?;
    let mut words = line.split_whitespace();
    // The kernel takes the last of several.
    words
        .rfind(|word| word.starts_with(start))
        .map(|word| word[start.len()..].to_string())
}

/// Transparent ones: `always`, `madvise` or `never`.
pub fn huge_pages(sources: &Sources) -> Option<String> {
    bracketed(
        &sources.text("sys/kernel/mm/transparent_hugepage/enabled")?,
        '[',
        ']',
    )
}

/// Such as `1-3`; `None` if it is empty.
pub fn listed_cpus(sources: &Sources, name: &str) -> Option<String> {
    sources
        .text(&format!("sys/devices/system/cpu/{name}"))
        .filter(|list| list != "(null)")
}

fn bracketed(choices: &str, open: char, close: char) -> Option<String> {
    let (_, rest) = choices.split_once(open)?;
    let (chosen, _) = rest.split_once(close)?;
    Some(chosen.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::tree;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    const VERSION: &str = "proc/sys/kernel/version";

    #[test]
    fn preemption_is_the_mode_in_use_or_what_the_kernel_was_built_with() {
        let dynamic = (VERSION, "#1 SMP PREEMPT_DYNAMIC Debian 6.12\n");
        let release = ("proc/sys/kernel/osrelease", "6.12.1\n");
        let booted = ("proc/cmdline", "quiet preempt=lazy\n");
        let switched = (
            "sys/kernel/debug/sched/preempt",
            "none voluntary (full) lazy\n",
        );
        let built = ("boot/config-6.12.1", "CONFIG_PREEMPT_VOLUNTARY=y\n");
        fn mode(files: &[(&str, &str)]) -> Option<String> {
            let (_keep, sources) = tree(files);
            preemption(&sources)
        }

        assert_eq!(mode(&[]), None);
        assert_eq!(mode(&[(VERSION, "#1 SMP\n"), release]), None);
        assert_eq!(mode(&[(VERSION, "#1 SMP PREEMPT_RT\n")]).unwrap(), "rt");
        assert_eq!(mode(&[dynamic]).unwrap(), "dynamic");
        assert_eq!(mode(&[dynamic, release, built]).unwrap(), "voluntary");
        assert_eq!(mode(&[dynamic, release, built, booted]).unwrap(), "lazy");
        assert_eq!(mode(&[dynamic, booted, switched]).unwrap(), "full");
    }

    #[test]
    fn a_packed_configuration_is_read() {
        let (keep, sources) = tree(&[(VERSION, "#1 SMP PREEMPT_DYNAMIC\n")]);
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed
            .write_all(b"# CONFIG_PREEMPT is not set\nCONFIG_PREEMPT_NONE=y\n")
            .unwrap();
        std::fs::write(keep.path().join("proc/config.gz"), packed.finish().unwrap()).unwrap();
        assert_eq!(preemption(&sources).as_deref(), Some("none"));
    }

    #[test]
    fn lists_and_modes_are_read_from_sysfs() {
        let (_keep, sources) = tree(&[
            (
                "sys/kernel/mm/transparent_hugepage/enabled",
                "always [madvise] never\n",
            ),
            ("sys/devices/system/cpu/nohz_full", "(null)\n"),
            ("sys/devices/system/cpu/isolated", "2-3\n"),
        ]);
        assert_eq!(huge_pages(&sources).as_deref(), Some("madvise"));
        assert_eq!(listed_cpus(&sources, "nohz_full"), None);
        assert_eq!(listed_cpus(&sources, "isolated").as_deref(), Some("2-3"));
    }
}
