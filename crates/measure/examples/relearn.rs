//! Kept runs, in the order of time, learn from each other again: FILE... are rewritten. `XDG_STATE_HOME` names the history.
//! For `bench/certainty`, which judges a changed rule on samples of before.

use std::path::PathBuf;
fn main() -> anyhow::Result<()> {
    for file in std::env::args_os().skip(1).map(PathBuf::from) {
        let mut run = store::read(&file)?;
        measure::session::learn(&mut run, true);
        store::write_again(&run, &file)?;
    }
    Ok(())
}
