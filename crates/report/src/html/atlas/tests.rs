use super::atlas_page;
use model::atlas::{
    Atlas, AtlasCell, AtlasCount, AtlasFunction, AtlasKernel, AtlasMachine, AtlasStep, AtlasSteps,
    UNCHANGED,
};
use model::explained::Group;
use serde_json::Value;

fn cell(operation: &str, mode: f64) -> AtlasCell {
    let count = Some(AtlasCount {
        mode,
        least: mode,
        most: mode + 1.5,
    });
    AtlasCell {
        operation: operation.into(),
        count,
        reason: None,
    }
}

fn kernel(release: &str, cells: Vec<AtlasCell>) -> AtlasKernel {
    AtlasKernel {
        release: release.into(),
        boots: 3,
        package: "linux-image".into(),
        cells,
        ..AtlasKernel::default()
    }
}

fn function(name: &str, before: u64, after: u64) -> AtlasFunction {
    AtlasFunction {
        name: name.into(),
        group: Group::PathWalk,
        before,
        after,
    }
}

fn step(operation: &str, before: f64, after: f64) -> AtlasStep {
    let functions = vec![
        function("getname_flags", 310, 0),
        function("link_path_walk", 300, 20),
    ];
    AtlasStep {
        operation: operation.into(),
        before,
        after,
        functions,
        reason: None,
    }
}

fn steps(before: &str, after: &str, steps: Vec<AtlasStep>) -> AtlasSteps {
    AtlasSteps {
        before: before.into(),
        after: after.into(),
        steps,
        ..AtlasSteps::default()
    }
}

const RELEASES: [&str; 3] = [
    "6.1.0-56-cloud-amd64",
    "6.12.90+deb13-cloud-amd64",
    "6.12.118+deb13-cloud-amd64",
];

fn small() -> Atlas {
    let refused = AtlasCell {
        operation: "a.b</script><b>\u{202e}\n\u{1b}[2J".into(),
        count: None,
        reason: Some("<i>ENOSYS</i>".into()),
    };
    let count = |release, mode| kernel(release, vec![cell("file.fstat", mode), refused.clone()]);
    let kernels = vec![
        count(RELEASES[0], 2500.0),
        count(RELEASES[1], 2731.0),
        count(RELEASES[2], 1115.0),
    ];
    let first = steps(
        RELEASES[0],
        RELEASES[1],
        vec![step("file.fstat", 2500.0, 2731.0)],
    );
    let second = steps(
        RELEASES[1],
        RELEASES[2],
        vec![step("file.fstat", 2731.0, 1115.0)],
    );
    Atlas {
        kernels,
        steps: vec![first, second],
    }
}

fn page(atlas: &Atlas) -> String {
    String::from_utf8(atlas_page(atlas).html()).unwrap()
}

fn block(html: &str) -> Value {
    let (_, rest) = html.split_once("id=\"data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn notes_are_sentences_what_a_series_changed_first() {
    let html = page(&small());
    let newest = "6.12.118+deb13: file.fstat executes 59% fewer instructions (2,731 to 1,115): path walk: \
                  getname_flags −310, link_path_walk −280.";
    let at = |text: &str| {
        html.find(text)
            .unwrap_or_else(|| panic!("no '{text}' in the page"))
    };
    let order = [
        "Linux 6.12",
        "1 operation differs from series 6.1 to 6.12.",
        "executes 9% more instructions (2,500 to 2,731)",
        "1 operation differs inside series 6.12: a backport, a fix, or another build.",
        newest,
    ];
    assert!(order.map(at).is_sorted(), "{html}");
    at("syscost kernel atlas build DIR");
}

#[test]
fn counts_that_differ_without_a_changed_function_are_no_news() {
    let mut atlas = small();
    let unchanged = AtlasStep {
        functions: Vec::new(),
        reason: Some(UNCHANGED.into()),
        ..step("mem.mmap_munmap", 1000.0, 1010.0)
    };
    atlas.steps[1].steps.push(unchanged);
    let html = page(&atlas);
    assert!(
        html.contains(
            "or another build. 1 other count differs, but no function changed in one iteration"
        ),
        "{html}"
    );
    assert!(!html.contains("mem.mmap_munmap executes"));
}

#[test]
fn names_are_escaped_and_the_block_can_be_read() {
    let html = page(&small());
    assert!(!html.contains("<b>") && !html.contains("<i>ENOSYS"));
    let block = block(&html);
    assert_eq!(
        block["operations"],
        serde_json::json!(["file.fstat", "a.b</script><b>\u{fffd} \u{fffd}[2J"])
    );
    assert_eq!(block["reasons"], serde_json::json!(["<i>ENOSYS</i>"]));
    let machine = &block["machines"][0];
    assert_eq!(
        machine["cells"][2],
        serde_json::json!([[1115, 1115, 1116.5], [0]])
    );
    assert_eq!(
        machine["steps"][1].as_array().unwrap()[..5],
        [1, 2, 0, 2731, 1115].map(Value::from)
    );
}

#[test]
fn machines_are_apart() {
    let mut atlas = small();
    let machine = AtlasMachine {
        append: "mitigations=off".into(),
        ..AtlasMachine::default()
    };
    atlas.kernels.push(AtlasKernel {
        machine,
        ..kernel(RELEASES[2], vec![cell("file.fstat", 9.0)])
    });
    let block = block(&page(&atlas));
    let releases = |index: usize| {
        block["machines"][index]["releases"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!((releases(0), releases(1)), (3, 1));
    assert_eq!(block["machines"][1]["name"], "mitigations=off");
    assert_eq!(block["machines"][0]["ends"], serde_json::json!([0, 2]));
    assert_eq!(
        block["machines"][1]["environments"][0],
        format!("linux-{} mitigations=off", RELEASES[2])
    );
}
