// How to build the probe and its companion programs. Shared by build.rs (the native environment) and
// src/runner/environment.rs (all others), hence without dependencies: plain lists of arguments.

/// One program, with the C compiler's arguments that follow the environment's own flags.
pub struct Program {
    /// Its file name.
    pub name: &'static str,
    /// Sources and flags, without `-o`.
    pub arguments: Vec<String>,
    /// Whether the probe works without it.
    pub optional: bool,
}

/// The programs of an environment, from the probe's C files `sources` in the folder `probe`, to the folder `out`.
pub fn programs(probe: &str, sources: &[String], out: &str, is_static: bool) -> Vec<Program> {
    let cross = format!("{probe}/extra/cross.c");
    let tiny = format!("{probe}/extra/tiny.c");
    let words = |text: &str| text.split(' ').map(str::to_string).collect::<Vec<_>>();
    let mut main = words("-std=c11 -O2 -Wall");
    main.extend(sources.iter().cloned());
    if is_static {
        // Linked into the probe: calls that go through the PLT elsewhere are direct here.
        main.push(cross.clone());
    } else {
        main.extend([format!("-L{out}"), "-lsyscost_cross".into(), "-Wl,-rpath,$ORIGIN".into()]);
        // All calls bound at start-up: otherwise every child of fork() looks up _exit() again, a fifth of its cost.
        if cfg!(not(target_os = "macos")) {
            main.push("-Wl,-z,now".into());
        }
    }
    main.extend(words("-pthread -lrt"));
    let mut programs = Vec::new();
    if !is_static {
        let arguments = [words("-O2 -fPIC -shared"), vec![cross]].concat();
        programs.push(Program { name: "libsyscost_cross.so", arguments, optional: false });
    }
    let tiny_static = [words("-O2 -static -s"), vec![tiny.clone()]].concat();
    programs.push(Program { name: "tiny-static", arguments: tiny_static, optional: true });
    let bare = [words("-nostdlib -static -s"), vec![format!("{probe}/extra/bare.c")]].concat();
    programs.push(Program { name: "bare", arguments: bare, optional: true });
    let tiny_dynamic = [words("-O2 -s"), vec![tiny]].concat();
    programs.push(Program { name: "tiny-dynamic", arguments: tiny_dynamic, optional: false });
    programs.push(Program { name: "probe", arguments: main, optional: false });
    programs
}
