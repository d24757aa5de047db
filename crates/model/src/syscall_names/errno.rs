//! Names of errors, as strace(1) shows them.

use nix::errno::Errno;

/// Internal to the kernel (linux/errno.h); no program sees them.
const RESTARTS: [(i32, &str); 4] = [
    (512, "ERESTARTSYS"),
    (513, "ERESTARTNOINTR"),
    (514, "ERESTARTNOHAND"),
    (516, "ERESTART_RESTARTBLOCK"),
];

/// `E` and the number if it has none.
pub fn name(number: i32) -> String {
    if let Some((_, name)) = RESTARTS.iter().find(|(restart, _)| *restart == number) {
        return (*name).to_string();
    }
    match Errno::from_raw(number) {
        Errno::UnknownErrno => format!("E{number}"),
        errno => format!("{errno:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_their_names() {
        let names = [2, 11, 4, 512, 516, 4000].map(name);
        assert_eq!(
            names,
            [
                "ENOENT",
                "EAGAIN",
                "EINTR",
                "ERESTARTSYS",
                "ERESTART_RESTARTBLOCK",
                "E4000"
            ]
        );
    }
}
