//! The processor: its name, and what determines its frequency.
//!
//! /proc/cpuinfo has other fields on each architecture.

use super::Sources;

const CPUS: &str = "sys/devices/system/cpu";
const NAMES: &[&str] = &[
    "model name",
    "cpu model",
    "cpu",
    "uarch",
    "Processor",
    "Hardware",
];
/// The fields of x86, then those of ARM.
const REVISION: &[(&str, &str)] = &[
    ("cpu family", "family"),
    ("model", "model"),
    ("stepping", "stepping"),
    ("microcode", "microcode"),
    ("CPU implementer", "implementer"),
    ("CPU variant", "variant"),
    ("CPU part", "part"),
    ("CPU revision", "revision"),
];

pub struct Cpu {
    number: u32,
    fields: Vec<(String, String)>,
}

impl Cpu {
    /// Reads that processor's fields, or the first one's.
    pub fn read(sources: &Sources, number: Option<u32>) -> Cpu {
        let blocks: Vec<Cpu> = sources
            .text("proc/cpuinfo")
            .unwrap_or_default()
            .split("\n\n")
            .enumerate()
            .map(|(i, block)| Cpu::parse(i as u32, block))
            .collect();
        blocks
            .into_iter()
            .find(|cpu| number.is_none_or(|number| cpu.number == number))
            .unwrap_or(Cpu {
                number: number.unwrap_or(0),
                fields: Vec::new(),
            })
    }

    fn parse(position: u32, block: &str) -> Cpu {
        let fields: Vec<(String, String)> = block
            .lines()
            .filter_map(|line| {
                let (key, value) = line.split_once(':')?;
                Some((key.trim().to_string(), value.trim().to_string()))
            })
            .collect();
        let number = fields.iter().find(|(key, _)| key == "processor");
        Cpu {
            number: number
                .and_then(|(_, value)| value.parse().ok())
                .unwrap_or(position),
            fields,
        }
    }

    fn field(&self, name: &str) -> Option<&str> {
        self.fields
            .iter()
            .find(|(key, value)| key == name && !value.is_empty())
            .map(|(_, value)| value.as_str())
    }

    /// The model, by whichever field this architecture has for it.
    pub fn name(&self) -> Option<String> {
        NAMES
            .iter()
            .find_map(|name| self.field(name))
            .map(str::to_string)
    }

    /// The details that distinguish processors of one name, such as `family 26, model 2, microcode 0x1`.
    pub fn revision(&self) -> Option<String> {
        let parts: Vec<String> = REVISION
            .iter()
            .filter_map(|(key, word)| Some(format!("{word} {}", self.field(key)?)))
            .collect();
        if parts.is_empty() {
            return None;
        }
        Some(parts.join(", "))
    }

    /// `None` if the architecture lists no flags.
    pub fn flag(&self, name: &str) -> Option<bool> {
        Some(
            self.field("flags")?
                .split_whitespace()
                .any(|flag| flag == name),
        )
    }

    /// Such as `performance`; `None` if the kernel does not control the frequency.
    pub fn governor(&self, sources: &Sources) -> Option<String> {
        sources.text(&self.frequency_file("scaling_governor"))
    }

    /// Drivers differ in the file and in the meaning of 1.
    pub fn turbo(&self, sources: &Sources) -> Option<bool> {
        let forbidden = sources.flag(&format!("{CPUS}/intel_pstate/no_turbo"));
        forbidden
            .map(|forbidden| !forbidden)
            .or_else(|| sources.flag(&format!("{CPUS}/cpufreq/boost")))
            .or_else(|| sources.flag(&self.frequency_file("boost")))
    }

    /// The present frequency in MHz. In a VM the kernel shows the nominal frequency of its clock, unless the CPU's own
    /// counters (`aperfmperf`) are passed through; that is not the CPU's frequency, so it is left out.
    pub fn frequency_mhz(&self, sources: &Sources) -> Option<f64> {
        let scaled = sources
            .number(&self.frequency_file("scaling_cur_freq"))
            .map(|khz| khz / 1000.0);
        let nominal_only =
            self.flag("hypervisor") == Some(true) && self.flag("aperfmperf") != Some(true);
        scaled.or_else(|| if nominal_only { None } else { self.shown_mhz() })
    }

    /// The frequency in /proc/cpuinfo: the present one on hardware, usually the nominal one in a VM.
    pub fn shown_mhz(&self) -> Option<f64> {
        self.field("cpu MHz")?.parse().ok()
    }

    fn frequency_file(&self, name: &str) -> String {
        format!("{CPUS}/cpu{}/cpufreq/{name}", self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::tree;

    const TWO: &str = "processor\t: 0\ncpu family\t: 26\nmodel\t\t: 2\nmodel name\t: Fast\nmicrocode\t: 0x1\n\
        cpu MHz\t\t: 2596.094\nflags\t\t: fpu tsc\n\nprocessor\t: 1\nmodel name\t: Slow\ncpu MHz\t\t: 1000.0\n\
        flags\t\t: fpu hypervisor\n\n";

    #[test]
    fn the_measuring_cpu_is_read_and_a_virtual_one_does_not_know_its_frequency() {
        let (_keep, sources) = tree(&[("proc/cpuinfo", TWO)]);
        let [any, first, second] = [None, Some(0), Some(1)].map(|cpu| Cpu::read(&sources, cpu));
        let names = [&any, &first, &second].map(Cpu::name);
        assert_eq!(
            names,
            ["Fast", "Fast", "Slow"].map(|name| Some(name.into()))
        );
        let revision = "family 26, model 2, microcode 0x1";
        assert_eq!(first.revision().as_deref(), Some(revision));
        assert_eq!(first.frequency_mhz(&sources), Some(2596.094));
        assert_eq!(second.frequency_mhz(&sources), None);
        assert_eq!(second.shown_mhz(), Some(1000.0));
    }

    #[test]
    fn the_frequency_driver_is_believed_first() {
        let (_keep, sources) = tree(&[
            ("proc/cpuinfo", TWO),
            (
                "sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq",
                "3400000\n",
            ),
            (
                "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor",
                "powersave\n",
            ),
            ("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n"),
        ]);
        let cpu = Cpu::read(&sources, Some(1));
        assert_eq!(cpu.frequency_mhz(&sources), Some(3400.0));
        assert_eq!(cpu.governor(&sources).as_deref(), Some("powersave"));
        assert_eq!(cpu.turbo(&sources), Some(false));
    }

    #[test]
    fn boost_is_turbo() {
        for (path, text, expected) in [
            ("cpufreq/boost", "1\n", true),
            ("cpu0/cpufreq/boost", "0\n", false),
        ] {
            let (_keep, sources) = tree(&[(&format!("{CPUS}/{path}"), text)]);
            assert_eq!(Cpu::read(&sources, None).turbo(&sources), Some(expected));
        }
    }
}
