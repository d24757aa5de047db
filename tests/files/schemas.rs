//! JSON Schemas as files, which `.ci/release` packs.

use crate::common::*;

#[test]
fn schemas_are_written() {
    let folder = root().join("target/documents/schema");
    fs::create_dir_all(&folder).unwrap();
    for (name, schema) in xtask::schemas() {
        fs::write(folder.join(name), schema).unwrap();
    }
}
