//! Advice on made profiles with paths: files that are opened again, names that are looked up in vain, temporary files.
use crate::advice::*;
use model::DescriptorKind::{Directory, File};

fn advice_with(calls: Vec<CallCount>, objects: Vec<ObjectCount>) -> Vec<Advice> {
    all_advice(&with_paths(calls, objects))
}

#[test]
fn files_are_opened_again_unless_they_change() {
    let close = || {
        class(
            |class| class.descriptor = Some(File),
            call("close", 40_000, 60_000),
        )
    };
    let opens = || vec![call("openat", 40_000, 40_000), close()];
    let one = only(&with_paths(opens(), vec![timed("/data", "openat", 40_000)]));
    assert_eq!((one.rule, one.calls, one.items), ("open-again", 39_999, 1));
    near(
        one.saved.unwrap().value,
        (0.040 + 0.060) * 39_999.0 / 40_000.0,
    );
    assert_eq!(one.paths[0].path, "/data");
    let quiet = |calls, objects| assert_eq!(all_advice(&with_paths(calls, objects)), []);
    quiet(
        opens(),
        (0..20_000)
            .map(|n| timed(&format!("/{n}"), "openat", 2))
            .collect(),
    );
    // A lock file; one that is replaced; one that is locked while it is open; relative to what is not known.
    quiet(
        opens(),
        vec![
            timed("/lock", "openat", 40_000),
            timed("/lock", "unlink", 40_000),
        ],
    );
    quiet(
        opens(),
        vec![
            timed("/new", "openat", 40_000),
            timed("/new", "rename", 40_000),
        ],
    );
    let shared = || [opens(), vec![blocked(9_000, call("flock", 40_000, 4_000))]].concat();
    quiet(shared(), vec![timed("/lock", "openat", 40_000)]);
    quiet(opens(), vec![timed("data", "openat", 40_000)]);
}

/// Twelve opens of one file, beside those of directories that are listed: `tar` looks up names of groups.
#[test]
fn listing_directories_is_not_charged_to_a_file() {
    let on = |kind, count| class(|class| class.descriptor = Some(kind), count);
    let calls = vec![
        call("openat", 2_050, 40_000),
        on(File, call("close", 390, 20)),
        on(Directory, call("close", 1_660, 2_400)),
        on(Directory, call("getdents64", 3_300, 900_000)),
        class(
            |class| class.operation = Some("getfl".into()),
            on(Directory, call("fcntl", 3_300, 700)),
        ),
        on(File, call("lseek", 390, 10_000)),
    ];
    let mut group = timed("/etc/group", "openat", 120);
    group.count.on_cpu_ns = Some(240_000_000);
    let one = only(&with_paths(calls, vec![group]));
    assert_eq!((one.rule, one.calls), ("open-again", 119));
    let names: Vec<&str> = one.names.iter().map(String::as_str).collect();
    assert_eq!(names, ["openat", "close"]);
    assert!((0.2..0.3).contains(&one.saved.unwrap().value), "{one:?}");
}

#[test]
fn paths_are_looked_up_again() {
    let stat = || {
        vec![class(
            |class| class.depth = Some(1),
            call("newfstatat", 100_000, 100_000),
        )]
    };
    let one = only(&with_paths(
        stat(),
        vec![
            timed("/a.h", "newfstatat", 60_000),
            timed("/b.h", "newfstatat", 40_000),
        ],
    ));
    assert_eq!((one.rule, one.items, one.calls), ("same-answer", 2, 99_998));
    let each = |times| -> Vec<ObjectCount> {
        (0..20_000)
            .map(|n| timed(&format!("/{n}.h"), "newfstatat", times))
            .collect()
    };
    let one = only(&with_paths(stat(), each(5)));
    assert_eq!((one.items, one.calls), (20_000, 80_000), "the sum counts");
    let quiet = all_advice(&with_paths(stat(), each(2)));
    assert_eq!(quiet, [], "once more, to see whether it changed");
    let links = (0..20_000).map(|n| timed(&format!("/{n}.h"), "readlink", 1));
    let other = each(2).into_iter().chain(links).collect();
    assert_eq!(
        all_advice(&with_paths(stat(), other)),
        [],
        "another question"
    );
    let access = (0..20_000).map(|n| timed(&format!("/{n}.h"), "access", 1));
    let same = each(2).into_iter().chain(access).collect();
    assert_eq!(only(&with_paths(stat(), same)).calls, 40_000);
    assert_eq!(
        all_advice(&profile(stat())),
        [],
        "nobody knows whether they are the same"
    );
}

#[test]
fn names_that_do_not_exist_are_looked_up() {
    let nowhere = |existing: u64| {
        let calls = CallCount {
            calls: 20_000 + existing,
            ..failing("ENOENT", 20_000, call("access", 0, 20_000))
        };
        let absent = (0..20_000).map(|n| ObjectCount {
            count: failing("ENOENT", 1, call("access", 1, 1)),
            ..on_path(&format!("/{n}"), "", 0, 0)
        });
        advice_with(vec![calls], absent.collect())
    };
    let phrases = |all: Vec<Advice>| all.iter().map(|one| one.phrase).collect::<Vec<_>>();
    assert_eq!(
        phrases(nowhere(0)),
        ["{calls}, all of names that do not exist"]
    );
    assert_eq!(phrases(nowhere(1_000)), [""; 0], "some exist");
    // A journal that is absent while locks are taken.
    let missing = |calls| failing("ENOENT", calls, call("access", calls, 90_000));
    let absent = || ObjectCount {
        count: missing(50_000),
        ..on_path("/d/x.db-journal", "access", 0, 0)
    };
    assert_eq!(
        only(&with_paths(vec![missing(50_000)], vec![absent()])).rule,
        "same-answer"
    );
    let locked = vec![
        missing(50_000),
        blocked(90_000, many("fcntl", "setlk", 50_000, 9_000)),
    ];
    assert_eq!(all_advice(&with_paths(locked, vec![absent()])), []);
}

#[test]
fn what_is_searched_for_is_missing_in_two_places_and_found_in_another() {
    let miss = |name: &str| ObjectCount {
        count: failing("ENOENT", 40_000, call("openat", 40_000, 40_000)),
        ..on_path(name, "", 0, 0)
    };
    let hit = || on_path("/c/x.h", "openat", 40_000, 0);
    let calls = || vec![failing("ENOENT", 80_000, call("openat", 80_000, 80_000))];
    let one = all_advice(&with_paths(
        calls(),
        vec![miss("/a/x.h"), miss("/b/x.h"), hit()],
    ))
    .remove(0);
    assert_eq!((one.rule, one.calls, one.items), ("search", 80_000, 40_000));
    near(one.saved.unwrap().value, 0.080);
    // Files that are nowhere, a file that is checked for in one place.
    for objects in [
        vec![miss("/a/.rc"), miss("/b/.rc")],
        vec![miss("/a/x.h"), hit()],
    ] {
        assert!(
            all_advice(&with_paths(calls(), objects))
                .iter()
                .all(|one| one.rule != "search")
        );
    }
}

#[test]
fn temporary_files_hold_data_and_locks_do_not() {
    let create = || operation("create", call("openat", 10_000, 90_000));
    let write = |bytes| CallCount {
        bytes: Some(bytes),
        ..sized(File, 512, call("pwrite64", 10_000, 900))
    };
    let journal = || {
        vec![
            timed("/t/journal", "openat", 10_000),
            timed("/t/journal", "unlink", 10_000),
        ]
    };
    let work = |bytes| vec![create(), call("unlink", 10_000, 80_000), write(bytes)];
    let one = only(&with_paths(work(5_120_000), journal()));
    assert_eq!((one.rule, one.items), ("temporary-files", 10_000));
    assert_eq!(
        all_advice(&with_paths(work(50_000), journal())),
        [],
        "a process id in a lock file"
    );
    let and = |more: CallCount| {
        all_advice(&with_paths(
            [work(5_120_000), vec![more]].concat(),
            journal(),
        ))
    };
    assert_eq!(and(call("rename", 10_000, 9)), [], "they are published");
}
