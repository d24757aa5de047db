//! `trace --stacks` of programs whose files were made to exhaust or to hold the tracer. It gets 1 GB of memory and 60 s of CPU time.

use crate::common::*;

/// Of the ELF file that tests/trace_stacks/hostile.c becomes.
struct Header {
    name: &'static str,
    kind: u32,
    contents: Vec<u8>,
    /// If it has more than its contents: a hole behind the file.
    size: u64,
    link: u32,
}

const PROGRESS: u32 = 1;
const SYMBOLS: u32 = 2;
const STRINGS: u32 = 3;

impl Header {
    fn new(name: &'static str, kind: u32, contents: Vec<u8>) -> Header {
        let size = contents.len() as u64;
        Header {
            name,
            kind,
            contents,
            size,
            link: 0,
        }
    }
}

/// An ELF file with these sections alone, `times` each but the first, behind what it has.
fn with_sections(program: &Path, mut sections: Vec<Header>, times: usize, made: &Path) {
    let mut bytes = fs::read(program).unwrap();
    let names = sections
        .iter()
        .map(|own| own.name)
        .collect::<Vec<_>>()
        .join("\0");
    sections.insert(
        0,
        Header::new("names", STRINGS, format!("\0{names}\0names\0").into_bytes()),
    );
    let mut headers = vec![0; 64];
    let mut end = 0;
    for (number, own) in sections.iter().enumerate() {
        let name = 1 + format!("{names}\0names")
            .split('\0')
            .take_while(|name| *name != own.name)
            .map(|name| name.len() + 1)
            .sum::<usize>();
        let mut header = Vec::new();
        header.extend((name as u32).to_le_bytes());
        header.extend(own.kind.to_le_bytes());
        let words = [0, 0x4000_0000, bytes.len() as u64, own.size];
        header.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        header.extend(own.link.to_le_bytes());
        header.extend([0; 4]);
        header.extend([8, 24].iter().flat_map(|word: &u64| word.to_le_bytes()));
        end = end.max(bytes.len() as u64 + own.size);
        bytes.extend(&own.contents);
        headers.extend(header.repeat(if number == 1 { times } else { 1 }));
    }
    let count = (headers.len() / 64) as u16;
    let at = bytes.len() as u64;
    bytes[0x28..0x30].copy_from_slice(&at.to_le_bytes());
    bytes[0x3c..0x3e].copy_from_slice(&count.to_le_bytes());
    bytes[0x3e..0x40].copy_from_slice(&1u16.to_le_bytes());
    bytes.extend(headers);
    end = end.max(bytes.len() as u64);
    write_program_bytes(made, &bytes, end);
}

fn write_program_bytes(path: &Path, bytes: &[u8], size: u64) {
    let mut file = fs::File::create(path).unwrap();
    file.write_all(bytes).unwrap();
    file.set_len(size).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

/// Functions at other addresses than those of the program, each with the name at `name(number)`.
fn symbols(count: u64, name: u32) -> Vec<u8> {
    let symbol = |number: u64| {
        let mut symbol = name.to_le_bytes().to_vec();
        symbol.extend([2, 0, 1, 0]);
        symbol.extend((0x10_0000 + 16 * number).to_le_bytes());
        symbol.extend(16u64.to_le_bytes());
        symbol
    };
    (0..count).flat_map(symbol).collect()
}

/// `.eh_frame` with a CIE and FDEs for 16 bytes each.
fn frames(count: u64) -> Vec<u8> {
    let entry = |head: u32, rest: &[u8]| {
        [
            &(rest.len() as u32 + 4).to_le_bytes(),
            &head.to_le_bytes(),
            rest,
        ]
        .concat()
    };
    let cie = [
        1, b'z', b'R', 0, 1, 0x78, 16, 1, 0x04, 0x0c, 7, 8, 0, 0, 0, 0,
    ];
    let mut all = entry(0, &cie);
    for number in 0..count {
        let words = [0x10_0000 + 16 * number, 16];
        let mut rest: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        rest.extend([0; 4]);
        all.extend(entry(all.len() as u32 + 4, &rest));
    }
    all.extend([0; 4]);
    all
}

fn compiled(place: &Place, flags: &str) -> Option<PathBuf> {
    if !has_bpf() {
        return None;
    }
    let program = place.path().join("hostile");
    let source = file("tests/trace_stacks/hostile.c");
    if !cc(format!(
        "-O2 -fomit-frame-pointer {flags} -o {} {source}",
        program.display()
    )) {
        skip("no C compiler");
        return None;
    }
    Some(program)
}

/// What a file holds, and what the profile then warns of.
#[track_caller]
fn expect_traced(place: &Place, program: &Path, arguments: &str, warned: bool) {
    let line = format!(
        "trace -q --stacks -o made.json -- {} {arguments}",
        program.display()
    );
    let output = in_shell("ulimit -v 1000000 -t 60; exec \"$@\"", &place.command(line))
        .output()
        .unwrap();
    expect_status(&output, 0);
    let made = place.parsed("made.json");
    let calls = |rows: &Value| -> u64 {
        let rows = rows
            .as_array()
            .unwrap()
            .iter()
            .filter(|row| row["call"] == "getppid");
        rows.map(|row| row["calls"].as_u64().unwrap()).sum()
    };
    assert_eq!(calls(&made["stacks"]), 512, "{made:#}");
    let warnings = made["warnings"].to_string();
    assert_eq!(
        warnings.contains("functions without names"),
        warned,
        "{warnings}"
    );
}

#[test]
fn small_files_that_mean_much_do_not_exhaust_the_tracer() {
    let place = Place::new();
    let program = needs!(compiled(&place, ""));
    let made = place.path().join("made");
    let long = || {
        Header::new(
            ".strtab",
            STRINGS,
            [&[0][..], &[b'a'; 1 << 20], &[0]].concat(),
        )
    };
    let table = |count, link| Header {
        link,
        ..Header::new(".symtab", SYMBOLS, symbols(count, 1))
    };
    // Three thousand symbols, one name of a megabyte.
    with_sections(&program, vec![table(3_000, 3), long()], 1, &made);
    expect_traced(&place, &made, "", false);
    // Two thousand tables, which are one.
    with_sections(&program, vec![table(60_000, 1)], 2_000, &made);
    expect_traced(&place, &made, "", true);
    // Unwind entries without an index.
    let entries = Header::new(".eh_frame", PROGRESS, frames(80_000));
    with_sections(&program, vec![entries], 1, &made);
    expect_traced(&place, &made, "", false);
    // Ten files that are holes.
    let hole = || Header {
        size: 256 << 20,
        ..Header::new(".eh_frame", PROGRESS, Vec::new())
    };
    let mut names = Vec::new();
    for number in 0..10 {
        names.push(format!("hole-{number}"));
        with_sections(
            &program,
            vec![hole()],
            1,
            &place.path().join(&names[number]),
        );
    }
    expect_traced(&place, &program, &names.join(" "), true);
}

#[test]
fn an_unwind_entry_without_end_is_not_evaluated() {
    let place = Place::new();
    let program = needs!(compiled(&place, "-DJUMPS"));
    expect_traced(&place, &program, "", false);
}

#[test]
fn a_file_system_that_does_not_answer_does_not_hold_the_tracer() {
    let place = Place::new();
    let program = needs!(compiled(&place, ""));
    if !geteuid().is_root() {
        return skip("only root traces another user's FUSE file");
    }
    for name in ["files", "mounted"] {
        fs::create_dir(place.path().join(name)).unwrap();
    }
    fs::copy(&program, place.path().join("files/library")).unwrap();
    let mut bindfs = Command::new("bindfs");
    bindfs
        .args(["-f", "files", "mounted"])
        .current_dir(place.path());
    let Ok(server) = bindfs.stderr(Stdio::null()).spawn() else {
        return skip("no bindfs on PATH");
    };
    let server = Job::of(server);
    let library = place.path().join("mounted/library");
    let is_mounted = || library.exists().then_some(());
    wait_for(is_mounted).unwrap();
    let job = place.start(format!(
        "trace -q --stacks -o made.json -- {} {} {}",
        program.display(),
        server.pid(),
        library.display()
    ));
    let status = || fs::read_to_string(format!("/proc/{}/stat", server.pid())).unwrap();
    wait_until(|| status().contains(") T "));
    // It is held by now; if not, the signal comes early and ends it too.
    sleep(Duration::from_secs(1));
    kill(job.pid(), Signal::SIGINT).unwrap();
    let output = job.output();
    kill(server.pid(), Signal::SIGCONT).unwrap();
    let unmounted = Command::new("umount")
        .arg("-l")
        .arg(place.path().join("mounted"))
        .status();
    assert!(unmounted.unwrap().success());
    expect_status(&output, 130);
    expect_in(
        place.read("made.json"),
        "functions without names: a file that a program mapped could not be read within",
    );
}
