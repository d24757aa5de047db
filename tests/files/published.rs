//! The published studies as their articles print them: the golden files were compared with the articles.

use crate::common::*;

/// Each file of published/, and how it is shown.
const FILES: [(&str, &str); 6] = [
    ("linux-2.6.32", "--view wide"),
    ("locking-2007", "--view cmpthese"),
    ("macosx-10.7", "--view wide"),
    ("perl-5.10.1-i686", "--view cmpthese"),
    ("perlio-2006", "--view cmpthese"),
    ("solaris-oi151", "--view wide"),
];

#[test]
fn published_files_are_as_the_store_writes_them() {
    let files = fs::read_dir(root().join("published")).unwrap();
    let there: BTreeSet<_> = files.map(|file| file.unwrap().file_name()).collect();
    assert_eq!(
        there,
        FILES.map(|(name, _)| format!("{name}.json").into()).into()
    );
    for (name, _) in FILES {
        let path = root().join(format!("published/{name}.json"));
        let mut written = Vec::new();
        store::write_to(&store::read(&path).unwrap(), &mut written).unwrap();
        let text = String::from_utf8(written).unwrap();
        expect_file(path, &text);
        expect_valid("result-1", &text);
    }
}

/// Seconds of one call at a time are those that the article prints, in `compare --study os-calls`.
#[test]
fn figures_are_those_of_the_articles() {
    for (name, view) in FILES {
        let file = file(&format!("published/{name}.json"));
        let shown = Place::new()
            .command(format!("show {file} {view}"))
            .env("COLUMNS", "120")
            .output();
        expect_file(
            format!("tests/golden/published-{name}.txt"),
            &stdout(&shown.unwrap()),
        );
    }
}
