//! `syscost kernel` against a mirror in a directory, made of tiny packages: no network is needed.

use crate::common::*;
use sha2::{Digest, Sha256};
use std::net::TcpListener;

/// A package: its suite, its name, and where in it the kernel is; the package depends on another if nowhere.
const PACKAGES: [(&str, &str, Option<&str>); 7] = [
    (
        "bookworm-backports",
        "linux-image-9.9.8-cloud-amd64",
        Some("boot/vmlinuz-9.9.8-cloud-amd64"),
    ),
    (
        "bookworm-backports",
        "linux-image-9.9.10-cloud-amd64",
        Some("boot/vmlinuz-9.9.10-cloud-amd64"),
    ),
    (
        "bookworm-backports",
        "linux-image-9.9.11-amd64",
        Some("boot/vmlinuz-9.9.11-amd64"),
    ),
    (
        "bookworm-backports",
        "linux-image-9.9.12-cloud-amd64-dbg",
        Some("boot/vmlinuz-9.9.12-cloud-amd64"),
    ),
    ("trixie", "linux-image-10.1.0-cloud-amd64", None),
    (
        "trixie",
        "linux-binary-10.1.0-cloud-amd64",
        Some("usr/lib/modules/10.1.0-cloud-amd64/vmlinuz"),
    ),
    ("trixie", "linux-image-10.2.0-cloud-amd64", None),
];

/// The least that passes for a kernel image for x86 with 64 bits; `mark` makes it another one.
fn kernel(mark: &str) -> Vec<u8> {
    let mut image = vec![0; 0x400];
    image[0x1fe..0x200].copy_from_slice(&[0x55, 0xaa]);
    image[0x202..0x206].copy_from_slice(b"HdrS");
    image[0x236] = 1;
    image.extend(mark.as_bytes());
    image
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn package(mirror: &Path, name: &str, holds: Option<&str>) -> String {
    let tree = mirror.join("tree").join(name);
    fs::create_dir_all(tree.join("DEBIAN")).unwrap();
    let control = format!(
        "Package: {name}\nVersion: 1-1\nArchitecture: amd64\nMaintainer: Nobody <nobody@example.org>\nDescription: a test\n"
    );
    fs::write(tree.join("DEBIAN/control"), &control).unwrap();
    if let Some(path) = holds {
        fs::create_dir_all(tree.join(path).parent().unwrap()).unwrap();
        fs::write(tree.join(path), kernel(name)).unwrap();
    }
    let file = mirror.join(format!("{name}.deb"));
    let built = Command::new("dpkg-deb")
        .args(["--root-owner-group", "--build"])
        .arg(&tree)
        .arg(&file)
        .output()
        .unwrap();
    expect_status(&built, 0);
    let bytes = fs::read(&file).unwrap();
    format!(
        "{control}Filename: {name}.deb\nSize: {}\nSHA256: {}\n\n",
        bytes.len(),
        digest(&bytes)
    )
}

fn make_mirror(place: &Place) -> PathBuf {
    let mirror = place.path().join("mirror");
    for suite in ["bookworm-backports", "trixie"] {
        let directory = mirror.join("dists").join(suite);
        fs::create_dir_all(directory.join("main/binary-amd64")).unwrap();
        let own = PACKAGES.iter().filter(|(of, _, _)| *of == suite);
        let list: String = own
            .map(|(_, name, holds)| package(&mirror, name, *holds))
            .collect();
        fs::write(directory.join("main/binary-amd64/Packages"), &list).unwrap();
        let release = format!(
            "Suite: {suite}\nCodename: {suite}\nDate: Thu, 01 Jan 2026 00:00:00 UTC\nArchitectures: amd64\nComponents: main\n\
             SHA256:\n {} {} main/binary-amd64/Packages\n",
            digest(list.as_bytes()),
            list.len()
        );
        fs::write(directory.join("Release"), release).unwrap();
    }
    configure(
        place,
        &format!(
            "deb [trusted=yes] file:{} bookworm main\n",
            mirror.display()
        ),
    );
    mirror
}

/// The configuration by which apt knows these sources and no others. Its hook must not run: those of a system change it.
fn configure(place: &Place, sources: &str) {
    let list = place.path().join("sources.list");
    fs::write(&list, sources).unwrap();
    let configuration = format!(
        "Dir::Etc::sourcelist \"{}\";\nDir::Etc::sourceparts \"/dev/null\";\n",
        list.display()
    );
    let hook = format!(
        "APT::Update::Post-Invoke {{ \"touch {}\"; }};\n",
        place.path().join("hook-ran").display()
    );
    place.write("apt.conf", configuration + &hook);
}

fn command(place: &Place, arguments: impl Line) -> Command {
    let mut command = place.command(("kernel", arguments));
    command.env("APT_CONFIG", place.path().join("apt.conf"));
    command
}

fn run(place: &Place, arguments: impl Line) -> Output {
    command(place, arguments).output().unwrap()
}

fn fetch(place: &Place, version: &str) -> Output {
    run(place, format!("fetch {version} --arch amd64 --format csv"))
}

fn kernels(output: &Output) -> Vec<BTreeMap<String, String>> {
    csv::Reader::from_reader(&output.stdout[..])
        .deserialize()
        .map(Result::unwrap)
        .collect()
}

fn kept(place: &Place) -> Vec<String> {
    let entries = fs::read_dir(place.path().join("state/syscost/kernels"))
        .into_iter()
        .flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// A place with a mirror; `None`, with a word about it, without apt.
fn place() -> Option<Place> {
    for program in ["apt-get", "dpkg-deb"] {
        if Command::new(program).arg("--version").output().is_err() {
            skip(&format!("{program} is not installed"));
            return None;
        }
    }
    let place = Place::new();
    make_mirror(&place);
    Some(place)
}

/// A directory as machines with that kernel keep their states.
fn state(place: &Place, kernel: &str) -> PathBuf {
    let directory = format!("cache/syscost/machine-{kernel}-0");
    let directory = place.path().join(directory);
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("memory"), "").unwrap();
    directory
}

#[test]
fn a_kernel_is_fetched_listed_and_removed() {
    let place = needs!(place());
    let own = kernels(&fetch(&place, "9.9")).remove(0);
    assert_eq!(
        own["release"], "9.9.10-cloud-amd64",
        "the newest for virtual machines"
    );
    assert_eq!(
        (own["suite"].as_str(), own["architecture"].as_str()),
        ("bookworm-backports", "x86_64")
    );
    let image = fs::read(&own["path"]).unwrap();
    assert_eq!(image, kernel("linux-image-9.9.10-cloud-amd64"));
    assert_eq!(kept(&place), ["9.9.10-cloud-amd64"], "nothing else is left");
    assert!(
        !place.path().join("hook-ran").exists(),
        "a hook of the system ran"
    );
    let again = fetch(&place, "9.9");
    assert!(
        stderr(&again).ends_with("9.9.10-cloud-amd64 is already here\n"),
        "{}",
        stderr(&again)
    );
    assert_eq!(
        kernels(&fetch(&place, "10.1"))[0]["package"],
        "linux-binary-10.1.0-cloud-amd64"
    );
    let table = stdout(&run(&place, "list"));
    expect_in(&table, ["10.1.0-cloud-amd64", "9.9.10-cloud-amd64"]);
    let available = kernels(&run(&place, "list --available --arch amd64 --format csv"));
    let here = available
        .iter()
        .filter(|kernel| !kernel["path"].is_empty())
        .count();
    assert_eq!((available.len(), here), (5, 2), "{available:?}");
    let facts = Path::new(&own["path"]).with_file_name("image.json");
    let facts: Value = serde_json::from_slice(&fs::read(facts).unwrap()).unwrap();
    let its = state(&place, facts["sha256"].as_str().unwrap());
    let another = state(&place, "00");
    let remove = || {
        let mut remove = command(&place, "remove 9.9.10-cloud-amd64");
        remove.env("XDG_CACHE_HOME", place.path().join("cache"));
        remove.status().unwrap().code()
    };
    assert_eq!(remove(), Some(0));
    assert!(!its.exists() && another.exists(), "states of its machines");
    assert_eq!(
        run(&place, "remove 9.9.10-cloud-amd64").status.code(),
        Some(2)
    );
    assert_eq!(kept(&place), ["10.1.0-cloud-amd64"]);
    assert_eq!(run(&place, "remove --all").status.code(), Some(0));
    assert!(stdout(&run(&place, "list")).contains("no kernel has been fetched"));
}

#[test]
fn what_cannot_be_fetched_says_why_and_leaves_nothing() {
    let place = needs!(place());
    let expect = |arguments: &str, status: i32, said: &str| {
        let output = run(&place, (arguments, "--arch amd64"));
        expect_error(&output, status, said);
        assert!(kept(&place).is_empty(), "{:?}", kept(&place));
    };
    // The first is not fetched either.
    expect(
        "fetch 9.9 4.19",
        2,
        "the mirror has no kernel '4.19': it has 10.2, 10.1, 9.9",
    );
    expect(
        "fetch 10.2",
        1,
        "linux-image-10.2.0-cloud-amd64 has no kernel",
    );
    let package = place.path().join("mirror/linux-image-9.9.11-amd64.deb");
    let mut damaged = fs::read(&package).unwrap();
    *damaged.last_mut().unwrap() ^= 1;
    fs::write(&package, damaged).unwrap();
    expect(
        "fetch 9.9.11",
        1,
        "apt-get download linux-image-9.9.11-amd64=1-1: ",
    );
    configure(&place, "deb http://127.0.0.1:1/apt other main\n");
    expect(
        "fetch 9.9",
        1,
        "no package source on this machine is a Debian mirror",
    );
    configure(&place, "deb http://127.0.0.1:1/debian bookworm main\n");
    expect(
        "fetch 9.9",
        1,
        "the mirror has no kernel for amd64: Failed to fetch",
    );
    let unknown = run(&place, "fetch 9.9 --arch mips");
    expect_in(
        stderr(&unknown),
        "no kernels exist for 'mips': give amd64 or arm64",
    );
}

/// Only the archive's signature tells that its lists, and so the packages, are the archive's.
#[test]
fn an_archive_that_is_not_signed_is_not_believed_whatever_the_system_allows() {
    let place = needs!(place());
    configure(
        &place,
        &format!(
            "deb file:{} bookworm main\n",
            place.path().join("mirror").display()
        ),
    );
    let configuration = place.path().join("apt.conf");
    let allowed = [
        "AllowInsecureRepositories",
        "AllowWeakRepositories",
        "AllowDowngradeToInsecureRepositories",
    ];
    let lines: String = allowed
        .iter()
        .map(|name| format!("Acquire::{name} \"true\";\n"))
        .collect();
    let allowing = fs::read_to_string(&configuration).unwrap()
        + &lines
        + "APT::Get::AllowUnauthenticated \"true\";\n";
    fs::write(&configuration, allowing).unwrap();
    let output = fetch(&place, "9.9");
    expect_error(&output, 1, "is not signed");
    assert!(kept(&place).is_empty(), "{:?}", kept(&place));
}

/// No directory of root's is needed.
#[test]
fn an_ordinary_user_fetches() {
    let place = needs!(place());
    if !geteuid().is_root() {
        return skip("all other tests run as an ordinary user here");
    }
    let state = place.path().join("nobody");
    fs::create_dir(&state).unwrap();
    chown(&state, Some(65534), Some(65534)).unwrap();
    let mut command = place.command_as_nobody("kernel fetch 9.9 --arch amd64");
    command
        .env("XDG_STATE_HOME", &state)
        .env("HOME", &state)
        .env("APT_CONFIG", place.path().join("apt.conf"));
    let output = command.output().unwrap();
    expect_status(&output, 0);
    assert!(
        state
            .join("syscost/kernels/9.9.10-cloud-amd64/vmlinuz")
            .exists()
    );
}

#[test]
fn several_may_fetch_the_same_at_once() {
    let place = needs!(place());
    let start = || {
        command(&place, "fetch 9.9 --arch amd64 -q")
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut all: Vec<_> = (0..4).map(|_| start()).collect();
    assert!(all.iter_mut().all(|one| one.wait().unwrap().success()));
    assert_eq!(kept(&place), ["9.9.10-cloud-amd64"]);
}

#[test]
fn a_killed_fetch_leaves_what_the_next_one_removes() {
    let place = needs!(place());
    for milliseconds in [20, 60, 120, 200, 300] {
        let mut killed = command(&place, "fetch 9.9 --arch amd64 -q")
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        sleep(Duration::from_millis(milliseconds));
        killed.kill().unwrap();
        killed.wait().unwrap();
        let listed = kernels(&run(&place, "list --format csv"));
        assert!(
            listed.iter().all(|kernel| kernel["error"].is_empty()),
            "{listed:?}"
        );
    }
    assert!(fetch(&place, "9.9").status.success());
    // What apt was doing for a killed one may still be writing there for a moment.
    let clean = || {
        fetch(&place, "9.9");
        (kept(&place) == ["9.9.10-cloud-amd64"]).then_some(())
    };
    assert!(wait_for(clean).is_some(), "{:?}", kept(&place));
}

#[test]
fn an_interrupt_ends_a_fetch_from_a_mirror_that_does_not_answer() {
    let place = needs!(place());
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    configure(
        &place,
        &format!(
            "deb http://{}/debian bookworm main\n",
            silent.local_addr().unwrap()
        ),
    );
    let mut fetching = command(&place, "fetch 9.9 --arch amd64");
    let fetching = fetching
        .stderr(Stdio::piped())
        .env_remove("http_proxy")
        .spawn()
        .unwrap();
    let pid = Pid::from_raw(fetching.id().try_into().unwrap());
    let _asked = silent.accept().unwrap();
    kill(pid, Signal::SIGINT).unwrap();
    let output = fetching.wait_with_output().unwrap();
    expect_status(&output, 130);
    assert!(kept(&place).is_empty(), "{:?}", kept(&place));
}

#[test]
fn without_apt_it_says_how_to_give_an_image() {
    let place = Place::new();
    let output = place
        .command("kernel fetch 6.1")
        .env("PATH", place.path())
        .output()
        .unwrap();
    expect_status(&output, 1);
    let said = stderr(&output);
    expect_in(&said, ["apt-get is not on PATH", "--env linux:PATH"]);
}
