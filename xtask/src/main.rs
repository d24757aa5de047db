//! `cargo run -p xtask` writes the pages of docs/format.

fn main() -> std::io::Result<()> {
    for (path, page) in xtask::pages()? {
        std::fs::write(path, page)?;
    }
    Ok(())
}
