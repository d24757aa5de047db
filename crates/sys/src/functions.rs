//! The kernel's functions by address, from /proc/kallsyms. Called by `trace::bpf`.

use super::Sources;

/// Functions by the lower half of their addresses: the upper half is the same for all of them. Empty if the kernel hides addresses
/// (kernel.kptr_restrict).
#[derive(Default)]
pub struct Functions {
    starts: Vec<(u32, String)>,
}

impl Functions {
    /// The kernel's functions, without those of modules.
    pub fn of_kernel() -> Functions {
        Functions::read("tT")
    }

    /// The kernel's variables instead, if kallsyms has them (CONFIG_KALLSYMS_ALL).
    pub fn variables_of_kernel() -> Functions {
        Functions::read("dDbBrR")
    }

    fn read(kinds: &str) -> Functions {
        let text = Sources::default().text("proc/kallsyms");
        Functions::parse(&text.unwrap_or_default(), kinds)
    }

    /// Lines of `ADDRESS TYPE NAME`, and `[MODULE]` for those of modules.
    pub fn parse(text: &str, kinds: &str) -> Functions {
        let mut starts: Vec<(u32, String)> = text
            .lines()
            .filter_map(|line| {
                let mut words = line.split_ascii_whitespace();
                let (address, kind, name) = (words.next()?, words.next()?, words.next()?);
                let address = u64::from_str_radix(address, 16)
                    .ok()
                    .filter(|address| *address > 0)?;
                let is_wanted = kinds.contains(kind) && words.next().is_none();
                if is_wanted {
                    Some((address as u32, name.to_string()))
                } else {
                    None
                }
            })
            .collect();
        starts.sort_by_key(|(start, _)| *start);
        Functions { starts }
    }

    /// The last function also for all addresses behind it, because lengths are not listed.
    pub fn containing(&self, address: u32) -> Option<&str> {
        let after = self.starts.partition_point(|(start, _)| *start <= address);
        Some(self.starts.get(after.checked_sub(1)?)?.1.as_str())
    }

    pub fn starting_at(&self, address: u32) -> Option<&str> {
        let at = self.starts.partition_point(|(start, _)| *start < address);
        let (start, name) = self.starts.get(at)?;
        (*start == address).then_some(name.as_str())
    }
}
