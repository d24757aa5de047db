//! Functions of the places where samples found a CPU.

use super::process::Spot;
use super::{Stacks, UNKNOWN};
use sys::bpf::Place;

impl Stacks {
    /// Reads the mappings of a process that was sampled at an address, while it lives; of one that ends at once, nothing is known.
    pub fn look(&mut self, pid: u32, address: u64) {
        let process = self.on_cpus.entry(pid).or_default();
        let files = &self.files;
        let is_new = files
            .budget
            .timed(|| process.mapping_at(address).is_none() && process.read(pid, files));
        if process.mapping_at(address).is_none() {
            // Remembers where its map of compiled functions is.
            self.frame(pid, Spot::At(address));
        }
        if is_new == Some(true) {
            self.look_for_python(pid);
        }
    }

    /// The function at a sampled place, its file, and its line in a script. A process must have been read by `look`.
    pub fn function(&mut self, place: &Place) -> Option<(String, String, Option<i64>)> {
        let Place {
            process: pid,
            address,
            code,
            ..
        } = *place;
        if code > 0 {
            let version = self.pythons.get(&pid)?;
            let function = self.scripts.get(&(pid, code))?;
            let line = function.line(version.offset_of(address, code)?)?;
            return Some((
                function.name.to_string(),
                function.file.to_string(),
                Some(line),
            ));
        }
        let mut mappings = self
            .mapped_by(pid)
            .filter_map(|process| process.mapping_at(address));
        let Some(mapping) = mappings.next() else {
            drop(mappings);
            let compiled = self.frame(pid, Spot::At(address));
            let name = self.name(compiled);
            return (*name != *UNKNOWN).then(|| (name.to_string(), String::new(), None));
        };
        let offset = address - mapping.start + mapping.offset;
        let name = self.files.budget.timed(|| mapping.image.function(offset))?;
        Some((name, mapping.image.name.clone(), None))
    }
}
