//! Pages of kernel explanations.

use super::*;

/// What `explain` recorded of fstat in Debian's 6.1 and 6.12.
fn fstat() -> Value {
    explained("fstat-versus")
}

/// The same of getppid in 6.1 alone.
fn getppid() -> Value {
    explained("getppid")
}

fn explained(name: &str) -> Value {
    parsed(&format!("tests/report/{name}.json"))
}

/// As the program writes it: what a file is stands first.
fn save_explained(place: &Place, name: &str, explained: &Value) -> String {
    let mut explained = explained.clone();
    let schema = explained.as_object_mut().unwrap().remove("schema").unwrap();
    let rest = explained.to_string();
    place.write(name, format!("{{\"schema\":{schema},{}", &rest[1..]));
    name.to_string()
}

#[test]
fn kernel_explanations_are_a_section_or_a_page() {
    let place = Place::new();
    let run = save(&place, "run.json", &golden());
    let (fstat, getppid) = (
        save_explained(&place, "fstat.json", &fstat()),
        save_explained(&place, "getppid.json", &getppid()),
    );
    let sections = |html: &str| html.matches("<section id=").count();
    let both = page(&place, &[&run, &fstat, &getppid]);
    after(
        &both,
        &[
            "id=\"charts\"",
            "Into the kernel</h2>",
            "<h3>file.fstat",
            "<h3>id.getppid",
            "id=\"host\"",
        ],
    );
    let alone = page(&place, &[&fstat]);
    assert_eq!(sections(&alone), 1);
    after(
        &alone,
        &[
            "What the kernel executes: file.fstat",
            "not time",
            ">spent on</th>",
            ">memset</th>",
            "<summary>before, 6.1.0",
            "file.fstat in linux-6.1: ",
            "<div class=\"tree\">",
            "<summary>after, 6.12",
        ],
    );
    assert!(
        alone.contains("what changed from 2,731 in linux-6.1 to 1,118 in linux-6.12 instructions")
    );
    let difference = page(&place, &[&fstat, "--format", "svg", "--figure", "stacks"]);
    assert!(difference.contains("change less2") && difference.contains("memset: "));
    let of_one = page(&place, &[&getppid]);
    after(
        &of_one,
        &[
            "<h3>id.getppid</h3>",
            "spectre mitigations",
            "__x64_sys_getppid",
            "<details open><summary>",
        ],
    );
    let svg = page(&place, &[&getppid, "--format", "svg", "--figure", "stacks"]);
    assert!(svg.starts_with("<?xml") && svg.contains("do_syscall_64"));
}

#[test]
fn what_is_wrong_with_an_explanation_is_said_in_one_line() {
    let place = Place::new();
    let (fstat, profile) = (
        save_explained(&place, "fstat.json", &fstat()),
        save(&place, "profile.json", &profile()),
    );
    let mut torn = getppid();
    torn["tree"]["total"] = json!(7);
    let torn = save_explained(&place, "torn.json", &torn);
    let mut newer = getppid();
    newer["schema"] = json!("syscost.explain-kernel/9");
    let newer = save_explained(&place, "newer.json", &newer);
    refused(&place, &[&torn], 1, "is not the sum of 'own'");
    refused(
        &place,
        &[&newer],
        1,
        "written by a newer syscost (explain-kernel/9)",
    );
    refused(
        &place,
        &[&profile, &fstat],
        2,
        "a profile has a page of its own",
    );
    refused(
        &place,
        &[&fstat, &fstat, "--format", "svg", "--figure", "stacks"],
        2,
        "one drawing is of one kernel",
    );
    refused(
        &place,
        &[&fstat, "--format", "svg"],
        2,
        "add --figure stacks",
    );
    refused(&place, &[&fstat, "--label", "a"], 2, "are for result files");
    refused(
        &place,
        &[&fstat, "-o", "fstat.json"],
        2,
        "would replace a kernel explanation",
    );
}

#[test]
fn kernel_explanations_in_a_browser() {
    let place = Place::new();
    let name = "</title><script>globalThis.hacked=1</script><img src=x onerror=hacked=1>";
    let mut hostile = getppid();
    for place in [
        "/operation",
        "/environment",
        "/kernel",
        "/what",
        "/functions/0/name",
        "/tree/children/0/name",
    ] {
        *hostile.pointer_mut(place).unwrap() = json!(name);
    }
    hostile["notes"] = json!([name]);
    let files = [
        ("getppid.json", getppid()),
        ("fstat.json", fstat()),
        ("hostile.json", hostile),
    ];
    let paths = files.map(|(name, value)| place.path().join(save_explained(&place, name, &value)));
    let paths: Vec<&str> = paths.iter().map(|path| path.to_str().unwrap()).collect();
    browse_with("kernel", &[large(golden())], &paths);
}
