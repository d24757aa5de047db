//! docs/format has a page for each kind of file and document, as `cargo run -p xtask` writes it.

use crate::common::*;
use crate::store::data::{example, json};

#[test]
fn pages_of_formats_are_what_the_types_say() {
    expect_file("tests/golden/example.json", &json(&example()));
    let mut names = BTreeSet::from(["csv.md".to_string()]);
    for (path, page) in xtask::pages().unwrap() {
        expect_file(&path, &page);
        names.insert(path.file_name().unwrap().to_string_lossy().into_owned());
    }
    let files = fs::read_dir(root().join("docs/format")).unwrap();
    let there = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    assert_eq!(there.collect::<BTreeSet<_>>(), names);
}
