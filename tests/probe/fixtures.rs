//! What a study's fixtures may do to the machine: they end with ^C, and what does not fit is refused before it is begun.

use crate::common::*;
/// A study of one case that needs a file of `size`, in the place's own directory.
fn study(place: &Place, size: &str) -> String {
    let text = format!(
        "title = 'one'\n[[case]]\nname = 'a'\nlanguage = 'perl'\nbody = '-e \"{{fixtures}}/f\"'\n[[fixture]]\nfile = \
         'f'\nsize = '{size}'\n"
    );
    let path = place.path().join("study.toml");
    fs::write(&path, text).unwrap();
    path.to_string_lossy().into_owned()
}

fn fixture(place: &Place) -> Option<PathBuf> {
    let path = place.left_behind().first()?.join("fixtures/f");
    fs::metadata(&path)
        .is_ok_and(|facts| facts.len() > 0)
        .then_some(path)
}

fn has_room(place: &Place, bytes: u64) -> bool {
    nix::sys::statvfs::statvfs(&place.path())
        .is_ok_and(|s| s.blocks_available() * s.fragment_size() > bytes)
}

#[test]
fn an_interrupt_ends_the_making_of_a_large_one() {
    let place = Place::new();
    if !has_room(&place, 8 << 30) {
        return skip("needs 8 GiB free, of which it uses little");
    }
    let job = place.start(format!(
        "run --study {} --time 0.1 --quiet",
        study(&place, "6G")
    ));
    let file = wait_for(|| fixture(&place)).expect("no fixture");
    kill(job.pid(), Signal::SIGINT).unwrap();
    let largest = largest_until_gone(&file);
    let output = job.output();
    expect_status(&output, 130);
    assert!(largest < 6 << 30, "it was written to its end");
    assert!(place.left_behind().is_empty(), "{:?}", place.left_behind());
}

fn largest_until_gone(file: &Path) -> u64 {
    let mut largest = 0;
    while let Ok(facts) = fs::metadata(file) {
        largest = largest.max(facts.len());
        sleep(Duration::from_millis(1));
    }
    largest
}

#[test]
fn one_beyond_the_free_space_is_refused_before_its_first_byte() {
    let place = Place::new();
    let output = place.run(format!(
        "run --study {} --time 0.1",
        study(&place, "8000000G")
    ));
    let said = stderr(&output);
    expect_status(&output, 2);
    assert!(
        said.starts_with("syscost: the fixtures need 8192000000 MiB, and /")
            && said.lines().count() == 1,
        "{said}"
    );
}

#[test]
fn a_limit_of_file_size_is_told_and_leaves_nothing_behind() {
    let place = Place::new();
    let size = fs::metadata(env!("CARGO_BIN_EXE_syscost"))
        .unwrap()
        .len()
        .max(20 << 20)
        / 512;
    let study = study(&place, "4G");
    let out = place.path().join("out.html").to_string_lossy().into_owned();
    let cases = [
        (
            size,
            format!("run --study {study} --time 0.1 --quiet"),
            "cannot make the fixture 'f' of 4294967296 bytes",
        ),
        (
            8,
            "run id.getppid --time 0.1 --quiet".to_string(),
            "cannot start the janitor",
        ),
        (
            1,
            format!("report {} --out {out}", file("tests/golden/run.json")),
            "an earlier file of that name is unchanged",
        ),
    ];
    fs::write(&out, "old").unwrap();
    let names = || fs::read_dir(place.path()).unwrap().count();
    let before = names();
    let fits = has_room(&place, 5 << 30);
    if !fits {
        skip("the fixture needs 5 GiB free, of which it uses little");
    }
    for (blocks, line, words) in cases.into_iter().skip(usize::from(!fits)) {
        let script = format!("ulimit -f {blocks} && exec \"$@\"");
        let output = in_shell(&script, &place.command(line)).output().unwrap();
        let said = stderr(&output);
        assert!(
            output.status.code().is_some_and(|code| code != 0),
            "{:?} {said}",
            output.status
        );
        assert!(
            said.contains(words) && said.contains("File too large"),
            "{said}"
        );
        assert!(place.left_behind().is_empty(), "{:?}", place.left_behind());
    }
    assert_eq!(
        (fs::read_to_string(&out).unwrap().as_str(), names()),
        ("old", before)
    );
}
