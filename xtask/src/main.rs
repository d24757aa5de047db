//! `cargo run -p xtask` writes the pages of docs/format; with a directory, JSON Schemas into it.

use std::path::Path;

fn main() -> std::io::Result<()> {
    if let Some(directory) = std::env::args_os().nth(1) {
        for (name, schema) in xtask::schemas() {
            std::fs::write(Path::new(&directory).join(name), schema)?;
        }
        return Ok(());
    }
    for (path, page) in xtask::pages()? {
        std::fs::write(path, page)?;
    }
    Ok(())
}
