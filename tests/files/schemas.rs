//! JSON Schemas as files, which `.ci/release` packs.

use crate::common::*;
#[test]
fn schemas_are_written() {
    let folder = root().join("target/documents/schema");
    fs::create_dir_all(&folder).unwrap();
    for (kind, schema) in cli::schemas::all() {
        let file = format!("{}.json", schema_name(kind, &schema));
        fs::write(folder.join(file), format!("{schema:#}\n")).unwrap();
    }
}
