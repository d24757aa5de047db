//! Lines that a command prints before the probe behind it answers, if one does.

use model::Failure;

#[derive(Default)]
pub struct Noise {
    bytes: usize,
    last: String,
}

const MOST_SHOWN: usize = 80;

impl Noise {
    /// Returns how many bytes there are so far.
    pub fn add(&mut self, line: &str) -> usize {
        self.bytes += line.len() + 1;
        if !line.trim().is_empty() {
            self.last = line
                .trim()
                .chars()
                .filter(|c| !c.is_control() && *c != char::REPLACEMENT_CHARACTER)
                .take(MOST_SHOWN)
                .collect();
        }
        self.bytes
    }

    /// The failure with the last line that was printed, the last error, and advice for commands that work only once.
    pub fn added_to(&self, failure: Failure, last_error: &str) -> Failure {
        let mut message = failure.message;
        if !self.last.is_empty() {
            message = format!(
                "{message}; the command printed '{}', but no probe answered",
                self.last
            );
        }
        if !last_error.is_empty() && !message.contains(last_error) {
            message = format!("{message}: {last_error}");
        }
        let mut advice = ADVICE.iter();
        if let Some((_, advice)) = advice.find(|(error, _)| message.contains(error)) {
            message = format!("{message}; {advice}");
        }
        Failure { message, ..failure }
    }
}

const ADVICE: [(&str, &str); 4] = [
    ("File exists", ONCE_PER_CASE),
    ("already exists", ONCE_PER_CASE),
    ("already in use", ONCE_PER_CASE),
    ("cannot open shared object file", OTHER_USER),
];
const OTHER_USER: &str = "another user may not read this run's directory, and another root has other libraries: end the command with {static}";
const ONCE_PER_CASE: &str = "the command runs once per case and must work each time: let it replace what it created before (mkdir -p, ln -sf), or copy files and start containers beforehand";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_what_was_printed() {
        let mut noise = Noise::default();
        let failure = Failure::timeout("no answer");
        assert_eq!(noise.added_to(failure.clone(), "").message, "no answer");
        let again = noise
            .added_to(failure.clone(), "mkdir: 'd': File exists")
            .message;
        assert!(
            again.starts_with("no answer: mkdir: 'd': File exists; the command runs once per case"),
            "{again}"
        );
        let library = "libsyscost_cross.so: cannot open shared object file";
        let refused = noise.added_to(failure.clone(), library).message;
        assert!(
            refused.ends_with("end the command with {static}"),
            "{refused}"
        );
        assert_eq!(
            (noise.add("Wel\x1b\u{fffd}come  "), noise.add("")),
            (14, 15)
        );
        let message = noise.added_to(failure, "x: not found").message;
        assert_eq!(
            message,
            "no answer; the command printed 'Welcome', but no probe answered: x: not found"
        );
        let ended = Failure::crashed("ended: x: not found");
        assert_eq!(
            Noise::default().added_to(ended, "x: not found").message,
            "ended: x: not found"
        );
    }
}
