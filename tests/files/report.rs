//! `syscost report`: pages and figures from result files alone, and what a real browser makes of them.

mod files;

use crate::common::*;
use files::place;

fn page(place: &Place, line: &str) -> String {
    succeeded(&mut place.command(("report -o -", line)))
}

const LABELS: &str = "--label before --label after";

/// A page, and what stands on it in this order.
const PAGES: [(&str, &[&str]); 32] = [
    (
        "one.json",
        &[
            "default-src &#39;none&#39;",
            "<section id=\"answer\"",
            "operations with a cost make no system call",
            "<section id=\"charts\"",
            "<section id=\"operations\"",
            "<section id=\"host\"",
        ],
    ),
    (
        "one.json two.json",
        &[
            "<section id=\"answer\"",
            "<section id=\"charts\"",
            "<section id=\"compared\"",
            "<section id=\"operations\"",
            "<section id=\"host\"",
        ],
    ),
    ("one.json two.json", &["<p class=\"lead\">other: "]),
    (
        "one.json two.json",
        &[" faster, 0 equal, ", " not known (95% confidence)"],
    ),
    ("one.json two.json", &[">other work</td>"]),
    ("one.json two.json", &[">none</td>"]),
    ("one.json two.json", &["call.getpid: "]),
    ("one.json two.json", &["data-k=\"never"]),
    ("one.json two.json", &["EINVAL: parameter entries"]),
    ("one.json two.json", &["samples and intervals</th>"]),
    // Costs may fall while the rows rise relative to the machine: one sentence has both.
    (
        "one.json faster.json",
        &[
            "the cost of one, not counting the machine as a whole, which was 20.0% faster (geometric mean over ",
        ],
    ),
    // Cautions name a column that is there.
    (
        "one.json moved.json",
        &["the reference call id.getppid costs", "class=\"side"],
    ),
    (
        "one.json moved.json",
        &["&#39;/getppid&#39;, also a column"],
    ),
    ("one.json moved.json", &[">/getppid</th>"]),
    (
        "large.json large-two.json",
        &[
            "slows every system call: seccomp: a filter runs at every system call (vm, other)",
            "Slower or faster than vm?",
            "<p class=\"lead\">other: ",
            "class=\"side",
        ],
    ),
    (
        "large.json",
        &[
            "slows every system call: seccomp: a filter runs at every system call",
            "How much does a system call cost here?",
            "getppid, a system call that does almost nothing",
        ],
    ),
    ("large.json", &["the file system may answer from a cache"]),
    (
        "sizes.json",
        &[
            "<section id=\"charts\"",
            "<section id=\"parameters\"",
            "<section id=\"host\"",
        ],
    ),
    (
        "sizes.json",
        &["io.read_file overtakes io.pread between size 1K and 64K"],
    ),
    ("sizes.json", &["per unit of size"]),
    ("sizes.json", &["class=\"fit s1\""]),
    ("odd.json", &["data-k=\"enters failed\""]),
    ("odd.json", &["1,000,000 samples"]),
    (
        "environments.json",
        &[
            "<h1>Cost of system calls in native, filter</h1>",
            "How much does each environment add to a system call?",
            "<caption>Cost of id.getppid in each environment",
            ">filter</th>",
            "<caption>Costs, all figures",
            ">filter ns/op</th>",
            ">samples, filter</th>",
        ],
    ),
    ("environments.json", &["Cost divided by that of native"]),
    (
        "runs.json",
        &["<caption>Each run", ">run 1</th>", ">run 3</th>"],
    ),
    ("runs.json", &["<p class=\"sub\">", "pool=web; 3 runs; "]),
    (
        "profile.json",
        &[
            "Where did the time go?",
            "waiting for disk: fdatasync",
            "<caption>System calls<",
            ">on CPU s</th>",
            ">runnable s</th>",
            ">blocked s</th>",
            ">pwrite64<",
            ">fdatasync<",
            ">clone<",
            "<tr><th scope=\"row\">total<",
            "the slowest calls",
            "Calls by path",
            "Calls by descriptor",
            "Who makes the calls, by calls",
            "The machine",
        ],
    ),
    (
        "profile.json changed.json",
        &[
            "<h1>From profile to changed</h1>",
            "Where 2.40 s of wall time went",
            "calls profile",
            "What changed, by calls",
        ],
    ),
    (
        "profile.json changed.json",
        &["brand_new_function: 0 calls before, 5,000 calls after (+5,000 calls)"],
    ),
    (
        "one.json fstat.json getppid.json",
        &[
            "id=\"charts\"",
            "Into the kernel</h2>",
            "<h3>file.fstat",
            "<h3>id.getppid",
            "id=\"host\"",
        ],
    ),
    (
        "fstat.json",
        &[
            "Instructions in the kernel: file.fstat",
            "not time",
            ">spent on</th>",
            ">memset</th>",
            "<summary>before, 6.1.0",
            "file.fstat in linux-6.1: ",
            "<div class=\"tree\">",
            "<summary>after, 6.12",
        ],
    ),
];

#[test]
fn pages_have_their_parts_in_order_and_ask_for_nothing() {
    let place = place();
    for (line, parts) in PAGES {
        let html = page(&place, line).replace("<wbr>", "");
        let places: Vec<_> = parts
            .iter()
            .map(|part| {
                html.find(part)
                    .unwrap_or_else(|| panic!("{line}: no {part}"))
            })
            .collect();
        assert!(places.is_sorted(), "{line}: {parts:?}: {places:?}");
        let foreign = [
            "http:", "https:", "src=", "@import", "url(", "fetch(", "XMLHttp", "=\"NaN", ">NaN",
        ];
        expect_not_in(&html, foreign);
    }
    let compared = page(&place, "large.json large-two.json");
    expect_not_in(&compared, "How much does a system call cost here?");
    // Notes are words.
    expect_not_in(page(&place, "large.json"), "<abbr");
    assert_eq!(
        page(&place, "fstat.json").matches("<section id=").count(),
        1
    );
}

#[test]
fn articles_are_compared_without_claims() {
    let published = file("published/perlio-2006.json");
    let html = page(&place(), &format!("{published} {published} {LABELS}"));
    expect_in(
        &html,
        "these results have no samples, so no row is called slower or faster",
    );
    expect_in(&html, ">one figure</td>");
    for word in ["slower", "faster", "equal", "not known"] {
        expect_not_in(&html, &format!(">{word}</td>"));
    }
}

#[test]
fn comparisons_draw_the_samples_and_intervals_of_both() {
    let html = page(&place(), "one.json two.json");
    let rows: Vec<_> = html.split("class=\"over cell\"").skip(1).collect();
    assert!(rows.len() > 3, "{}", rows.len());
    for row in rows {
        let drawing = row.split("</td>").next().unwrap();
        let shapes = ["<path", "<circle"].map(|shape| drawing.matches(shape).count());
        assert_eq!(shapes, [2, 2], "{drawing}");
    }
}

#[test]
fn figures_are_files_of_their_own() {
    let place = place();
    for (figure, files) in [
        ("bars", "one.json"),
        ("distribution", "one.json"),
        ("fit", "sizes.json"),
        ("ratios", "one.json two.json"),
        ("time", "profile.json"),
        ("latency", "profile.json"),
        ("stacks", "profile.json"),
    ] {
        let said = place.printed(format!("report {files} --format svg --figure {figure}"));
        assert_eq!(said, format!("wrote {figure}.svg\n"));
        let svg = place.read(format!("{figure}.svg"));
        assert!(
            svg.starts_with("<?xml") && svg.ends_with("</svg>\n"),
            "{figure}"
        );
        expect_in(&svg, "<title id=\"t\">");
    }
    let only = page(&place, "one.json --only io --format svg");
    expect_in(&only, "io.fgets");
    expect_not_in(&only, "id.umask");
    let stacks = |files: &str| page(&place, &format!("{files} --format svg --figure stacks"));
    expect_in(stacks("fstat.json"), ["change less2", "memset: "]);
    expect_in(stacks("getppid.json"), ["<?xml", "do_syscall_64"]);
    let blocked = stacks("profile.json changed.json --weight blocked");
    expect_in(
        &blocked,
        ["<?xml", "What changed, by time blocked in calls"],
    );
    let changed = page(&place, "profile.json changed.json");
    expect_in(
        &changed,
        ["class=\"change more2\"", "class=\"change less2\""],
    );
}

#[test]
fn the_page_is_written_whole_under_its_name() {
    let place = Place::with_run();
    assert_eq!(place.printed("report run.json"), "wrote report.html\n");
    assert!(place.read("report.html").ends_with("</html>\n"));
    let names: Vec<_> = fs::read_dir(place.path())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(names.len(), 3, "tmp, run.json and report.html: {names:?}");
}

#[test]
fn what_cannot_be_done_is_said_in_one_line() {
    let place = place();
    let one = place.read("one.json");
    place.refusals(
        "report",
        "report",
        &[
            "missing.json",
            "cut.json",
            "negative.json",
            "empty.json",
            "one.json -o one.json",
            "one.json -o link.json",
            "one.json -o no/such/place.html",
            "one.json --figure bars",
            "one.json --format svg --figure ratios",
            "one.json --format svg --figure fit",
            "one.json --only nothing.*",
            "one.json one.json --baseline third",
            "one.json --label a --label b",
            "one.json --no-arguments",
            "one.json --format svg --figure stacks",
            "bare.json --format svg --figure stacks",
            "bare.json --format svg --figure latency",
            "bare.json --format svg --figure time",
            "bare.json --format svg --figure bars",
            "bare.json --format svg",
            "bare.json --only io",
            "profile.json changed.json --format svg",
            "profile.json changed.json --only io",
            "torn.json",
            "newer.json",
            "profile.json fstat.json",
            "fstat.json fstat.json --format svg --figure stacks",
            "fstat.json --format svg",
            "fstat.json --label a",
            "fstat.json -o fstat.json",
        ],
    );
    assert_eq!(place.read("one.json"), one);
}

#[test]
fn a_page_of_fifty_files_says_what_it_leaves_out() {
    let (place, mut run) = (Place::new(), parsed(RUN));
    let names = (0..50).map(|number| {
        run["host"]["name"] = json!(format!("machine-{number:02}"));
        place.write(format!("{number}.json"), run.to_string());
        format!("{number}.json ")
    });
    let html = page(&place, &names.collect::<String>());
    assert!(html.len() < 1 << 20, "{} bytes", html.len());
    expect_in(&html, "machine-49");
    expect_in(
        &html,
        "For 49 more files this page has only costs and ratios",
    );
}

#[test]
fn arguments_are_left_out_of_a_page_where_asked() {
    let place = place();
    expect_in(page(&place, "profile.json"), "hunter2");
    let hidden = page(&place, "profile.json --no-arguments");
    expect_not_in(&hidden, "hunter2");
    expect_in(&hidden, "fdatasync");
}

fn browser() -> Result<(PathBuf, PathBuf), String> {
    let in_path = |name: &str| {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&folders)
            .map(|folder| folder.join(name))
            .find(|file| file.is_file())
    };
    in_path("node").ok_or("no node: see .ci/browser")?;
    let chromium = ["chromium", "chromium-browser", "google-chrome"]
        .iter()
        .find_map(|name| in_path(name));
    let chromium = chromium.ok_or("no chromium: see .ci/browser")?;
    let variable = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let cache = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    let folder = variable("SYSCOST_PLAYWRIGHT").or_else(|| Some(cache?.join("syscost/browser")));
    let has = |folder: &PathBuf, package| folder.join("node_modules").join(package).is_dir();
    let folder = folder
        .filter(|folder| has(folder, "playwright-core") && has(folder, "axe-core"))
        .ok_or("no playwright-core or no axe-core: see .ci/browser")?;
    Ok((chromium, folder))
}

/// Runs the checks of tests/report/browser.mjs on pages. SYSCOST_SHOTS keeps the screenshots, to be looked at.
#[test]
fn pages_work_in_a_browser() {
    let (chromium, playwright) = match browser() {
        Ok(found) => found,
        Err(missing) => return skip(&missing),
    };
    let place = place();
    let shots = std::env::var_os("SYSCOST_SHOTS").map_or(place.path(), PathBuf::from);
    for (kind, line) in [
        ("one", "large.json"),
        ("profile", "profile.json"),
        ("hostile", "hostile.json"),
        ("two", "large.json large-two.json"),
        ("sizes", "sizes.json"),
        ("atlas-brief", &file("atlas")),
        ("profile-hostile", "hostile-profile.json"),
        ("profiles-brief", "profile.json changed.json"),
        ("hostile-two", "hostile.json one.json"),
        (
            "kernel",
            "large.json getppid.json fstat.json hostile-getppid.json",
        ),
        ("environments", "environments.json"),
        ("runs", "runs.json"),
        ("race-brief", &file("tests/report/race.json")),
        ("explain-brief", "getppid.json"),
        ("versus-brief", "fstat.json"),
    ] {
        if !["one", "profile", "hostile"].contains(&kind) && is_left_to_heavy(kind) {
            continue;
        }
        let html = page(&place, line);
        assert!(html.len() < 3_000_000, "{kind}: {} bytes", html.len());
        place.write("page.html", html);
        let mut node = Command::new("node");
        node.arg(file("tests/report/browser.mjs"))
            .arg(place.path().join("page.html"));
        node.arg(&shots).arg(kind).env("TMPDIR", place.tmp());
        node.env("SYSCOST_PLAYWRIGHT", &playwright)
            .env("SYSCOST_CHROMIUM", &chromium);
        let output = node.output().unwrap();
        expect_status(&output, 0);
        let checks = if kind.ends_with("-brief") {
            "15 checks\n"
        } else {
            "28 checks\n"
        };
        expect_in(stdout(&output), checks);
    }
}
