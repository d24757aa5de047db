// How to build the probe and its companion programs. Shared by build.rs (the native environment) and
// crates/measure/src/runner/environment.rs (all others), hence without dependencies: plain lists of arguments.

/// One program, with the C compiler's arguments that follow the environment's own flags.
pub struct Program {
    pub name: &'static str,
    /// Sources and flags, without `-o`.
    pub arguments: Vec<String>,
    /// Whether the probe works without it.
    pub optional: bool,
    /// Whether it asks for the dynamic loader, however the probe is linked; for build.rs.
    #[allow(dead_code)]
    pub is_dynamic: bool,
}

/// The programs of an environment, from the probe's C files `sources` in the folder `probe`, to the folder `out`.
pub fn programs(probe: &str, sources: &[String], out: &str, is_static: bool) -> Vec<Program> {
    let mut programs = companions(probe);
    if is_static {
        // Linked into the probe: calls that go through the PLT elsewhere are direct here.
        let cross = cross(probe);
        let arguments = [words(MAIN), sources.to_vec(), vec![cross], words(LIBRARIES)].concat();
        programs.push(program("probe", arguments));
    } else {
        programs.extend(dynamic_probe("probe", probe, sources, out));
    }
    programs
}

const MAIN: &str = "-std=c11 -O2 -Wall";
const LIBRARIES: &str = "-pthread -lrt";

fn companions(probe: &str) -> Vec<Program> {
    let [tiny_static, tiny_dynamic] = ["-O2 -static -s", "-O2 -s"]
        .map(|flags| [words(flags), vec![format!("{probe}/extra/tiny.c")]].concat());
    let bare = format!("-nostdlib -static -s {probe}/extra/bare.c");
    vec![
        Program {
            optional: true,
            ..program("tiny-static", tiny_static)
        },
        Program {
            optional: true,
            ..program("bare", words(&bare))
        },
        dynamic("tiny-dynamic", tiny_dynamic),
    ]
}

fn program(name: &'static str, arguments: Vec<String>) -> Program {
    Program {
        name,
        arguments,
        optional: false,
        is_dynamic: false,
    }
}

fn dynamic(name: &'static str, arguments: Vec<String>) -> Program {
    Program {
        is_dynamic: true,
        ..program(name, arguments)
    }
}

/// A probe that is linked dynamically, called `name`, after the library that it is linked with.
pub fn dynamic_probe(
    name: &'static str,
    probe: &str,
    sources: &[String],
    out: &str,
) -> Vec<Program> {
    let library = [words("-O2 -fPIC -shared"), vec![cross(probe)]].concat();
    let mut main = [words(MAIN), sources.to_vec()].concat();
    main.extend([
        format!("-L{out}"),
        "-lsyscost_cross".into(),
        "-Wl,-rpath,$ORIGIN".into(),
    ]);
    // All calls bound at start-up: otherwise every child of fork() looks up _exit() again, a fifth of its cost.
    main.push("-Wl,-z,now".into());
    main.extend(words(LIBRARIES));
    vec![dynamic("libsyscost_cross.so", library), dynamic(name, main)]
}

/// The launcher of environments: one for all that this system has, which runs before the program, and one for each kind of guest,
/// whose compiler may lack headers of the kernel.
pub fn confine(probe: &str, optional: bool) -> Program {
    let extra = [
        "confine",
        "container",
        "filters",
        "notify",
        "landlock",
        "agent",
        "hook",
    ]
    .map(|name| format!("{probe}/extra/{name}.c"))
    .join(" ");
    let arguments = format!("-std=c11 -O2 -Wall -s {extra} {probe}/ground.c");
    Program {
        optional,
        ..program("confine", words(&arguments))
    }
}

fn cross(probe: &str) -> String {
    format!("{probe}/extra/cross.c")
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_string).collect()
}
