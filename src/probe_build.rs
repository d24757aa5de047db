// How the probe and the programs beside it are built: shared by build.rs, for the native environment, and by
// src/runner/environment.rs, for the others. No dependency; plain lists of arguments.

/// One program: the C compiler's arguments but for the environment's own flags, which stand in front of them.
pub struct Program {
    pub name: &'static str,
    pub arguments: Vec<String>,
    /// Whether the probe is of use without it.
    pub optional: bool,
}

/// The programs of an environment. `sources` are the probe's C files, `probe` its source folder, `out` where the programs go.
pub fn programs(probe: &str, sources: &[String], out: &str, is_static: bool) -> Vec<Program> {
    let cross = format!("{probe}/extra/cross.c");
    let tiny = format!("{probe}/extra/tiny.c");
    let words = |text: &str| text.split(' ').map(str::to_string).collect::<Vec<_>>();
    let mut main = words("-std=c11 -O2 -Wall");
    main.extend(sources.iter().cloned());
    if is_static {
        // One file is the whole probe: what was a call through the linkage table is a direct one.
        main.push(cross.clone());
    } else {
        main.extend([format!("-L{out}"), "-lsyscost_cross".into(), "-Wl,-rpath,$ORIGIN".into()]);
    }
    main.extend(words("-pthread -lrt"));
    let mut programs = Vec::new();
    if !is_static {
        let arguments = [words("-O2 -fPIC -shared"), vec![cross]].concat();
        programs.push(Program { name: "libsyscost_cross.so", arguments, optional: false });
    }
    let tiny_static = [words("-O2 -static -s"), vec![tiny.clone()]].concat();
    programs.push(Program { name: "tiny-static", arguments: tiny_static, optional: true });
    let tiny_dynamic = [words("-O2 -s"), vec![tiny]].concat();
    programs.push(Program { name: "tiny-dynamic", arguments: tiny_dynamic, optional: false });
    programs.push(Program { name: "probe", arguments: main, optional: false });
    programs
}
