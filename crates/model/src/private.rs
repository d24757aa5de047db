use super::Profile;
use std::path::Path;

impl Profile {
    /// Arguments may hold secrets: of `/usr/bin/curl -H 'Authorization: x'`, `curl` remains.
    pub fn without_arguments(mut self) -> Profile {
        self.command.truncate(1);
        for program in &mut self.command {
            *program = Path::new(program.as_str())
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_command_the_program_remains() {
        fn remaining(words: &[&str]) -> Vec<String> {
            let command = words.iter().map(ToString::to_string).collect();
            Profile {
                command,
                ..Profile::default()
            }
            .without_arguments()
            .command
        }

        assert_eq!(
            remaining(&["/home/me/bin/curl", "-H", "Authorization: x"]),
            ["curl"]
        );
        assert_eq!(remaining(&[]), Vec::<String>::new());
    }
}
