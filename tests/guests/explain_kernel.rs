//! `explain` in an emulated kernel. Needs an emulator and an image that 'syscost kernel fetch' got.

use crate::common::*;
use crate::guest::arm64_kernel;
use crate::machines::workers;
use explain::kernel::Recorder;
use measure::runner::{RunDirectory, Workers, read_catalogue};
use model::explained::{Call, Group, KernelExplanation};
use model::{Case, Failure, Operation, Planned, Role};

struct Laboratory {
    workers: Workers,
    catalogue: Vec<Operation>,
}

impl Laboratory {
    fn new() -> Laboratory {
        let directory = RunDirectory::create().unwrap();
        let catalogue = read_catalogue(&directory.probe()).unwrap();
        let workers = workers(directory);
        Laboratory { workers, catalogue }
    }

    fn explain(&self, guest: &mut Recorder, id: &str) -> Result<KernelExplanation, Failure> {
        let operation = self
            .catalogue
            .iter()
            .find(|operation| operation.id == id)
            .unwrap();
        let planned = Planned {
            limit: operation.limit,
            ..Planned::new(Case::native(id), Role::Asked)
        };
        guest.explain(&planned, &operation.what)
    }
}

fn names(call: &Call) -> Vec<&str> {
    std::iter::once(call.name.as_str())
        .chain(call.children.iter().flat_map(names))
        .collect()
}

fn find<'a>(call: &'a Call, name: &str) -> Option<&'a Call> {
    if call.name == name {
        Some(call)
    } else {
        call.children.iter().find_map(|child| find(child, name))
    }
}

#[test]
fn an_iteration_is_recorded_to_the_instruction() {
    let name = needs!(emulated_kernel());
    let laboratory = Laboratory::new();
    let mut guest = Recorder::boot(&laboratory.workers, &name, None).unwrap();

    let getppid = laboratory.explain(&mut guest, "id.getppid").unwrap();
    let again = laboratory.explain(&mut guest, "id.getppid").unwrap();
    assert!(
        getppid
            .returned
            .iter()
            .all(|(call, pid)| call == "getppid" && pid > 0)
            && !getppid.returned.is_empty()
    );
    let again = KernelExplanation {
        returned: getppid.returned.clone(),
        ..again
    };
    assert_eq!(getppid, again, "two recordings");
    let absent = laboratory.explain(&mut guest, "file.stat_absent").unwrap();
    assert_eq!(
        absent
            .returned
            .iter()
            .map(|(_, result)| result)
            .collect::<Vec<_>>(),
        [-2],
        "{:?}",
        absent.returned
    );
    // The probe replies by write too.
    let pipe = laboratory.explain(&mut guest, "io.pipe_write_read");
    let returned: Vec<_> = pipe.as_ref().unwrap().returned.iter().collect();
    assert_eq!(returned, [("read", 1), ("write", 1)]);
    assert_eq!(getppid.instructions as f64, getppid.counted.unwrap());
    assert_eq!(getppid.iterations.alike, getppid.iterations.recorded);
    let call = find(&getppid.tree, "__x64_sys_getppid").expect("the call's own function");
    assert!(find(call, "entry_SYSCALL_64").is_none() && find(call, "do_syscall_64").is_none());
    let entry = find(&getppid.tree, "do_syscall_64").unwrap();
    assert!(find(entry, "__x64_sys_getppid").is_some() && entry.calls == 1);
}

#[test]
fn a_tree_has_all_instructions_that_are_counted() {
    let name = needs!(emulated_kernel());
    let laboratory = Laboratory::new();
    let mut guest = Recorder::boot(&laboratory.workers, &name, None).unwrap();
    for id in [
        "file.fstat",
        "file.lstat",
        "io.pipe_write_read",
        "time.clock_gettime",
    ] {
        let explained = laboratory.explain(&mut guest, id).unwrap();
        let (seen, counted) = (explained.instructions as f64, explained.counted.unwrap());
        assert!(
            (seen - counted).abs() <= 0.01 * counted,
            "{id}: {seen} in the tree, {counted} counted"
        );
        let functions: u64 = explained
            .functions
            .iter()
            .map(|f| f.self_instructions)
            .sum();
        let groups: u64 = explained.groups.iter().map(|g| g.instructions).sum();
        assert_eq!(
            (functions, groups),
            (explained.instructions, explained.instructions),
            "{id}"
        );
        assert!(!names(&explained.tree).contains(&"[unknown]"), "{id}");
        let top: Vec<&str> = explained
            .tree
            .children
            .iter()
            .map(|child| child.name.as_str())
            .collect();
        assert_eq!(
            top.len(),
            1,
            "{id}: everything is below the probe's loop: {top:?}"
        );
    }
}

#[test]
#[cfg_attr(not(feature = "heavy"), ignore = "heavy")]
fn kernels_for_arm64_are_explained_too() {
    let name = needs!(arm64_kernel());
    let laboratory = Laboratory::new();
    // Random numbers are made for many entries at once.
    let name = format!("{name} randomize_kstack_offset=off");
    let mut guest = Recorder::boot(&laboratory.workers, &name, None).unwrap();
    let getppid = laboratory.explain(&mut guest, "id.getppid").unwrap();
    assert_eq!(getppid.instructions as f64, getppid.counted.unwrap());
    for (id, function, within) in [
        // The C library decides which.
        (
            "file.fstat",
            ["__arm64_sys_newfstatat", "__arm64_sys_newfstat"],
            "el0_svc",
        ),
        (
            "mem.fault_anonymous",
            ["handle_mm_fault"; 2],
            "do_mem_abort",
        ),
        ("ipc.pipe", ["pipe_write"; 2], "__arm64_sys_write"),
    ] {
        let explained = laboratory.explain(&mut guest, id).unwrap();
        let outer = find(&explained.tree, within).unwrap_or_else(|| panic!("{id}: no {within}"));
        let found = function
            .iter()
            .any(|function| find(outer, function).is_some());
        assert!(found, "{id}: none of {function:?} below {within}");
        assert!(!names(&explained.tree).contains(&"[unknown]"), "{id}");
        let functions: u64 = explained
            .functions
            .iter()
            .map(|f| f.self_instructions)
            .sum();
        assert_eq!(functions, explained.instructions, "{id}");
    }
    let pipe = laboratory.explain(&mut guest, "ipc.pipe").unwrap();
    let returned: Vec<_> = pipe.returned.iter().collect();
    assert_eq!(returned, [("read", 1), ("write", 1)]);
}

/// Operations that switch between processes, fault, or have batches of one: their tree may be a guess, but is one.
#[test]
#[cfg_attr(not(feature = "heavy"), ignore = "heavy")]
fn operations_of_all_kinds_have_a_tree() {
    let name = needs!(emulated_kernel());
    let laboratory = Laboratory::new();
    let mut guest = Recorder::boot(&laboratory.workers, &name, None).unwrap();
    for (id, function, group) in [
        ("ipc.pipe", "schedule", Group::Scheduling),
        ("process.fork_wait", "copy_process", Group::Work),
        ("mem.fault_anonymous", "handle_mm_fault", Group::Faults),
        ("sync.futex_wait_timeout", "futex_wait", Group::Work),
        ("process.exit_wait", "do_exit", Group::Work),
    ] {
        let explained = laboratory.explain(&mut guest, id).unwrap();
        assert!(
            find(&explained.tree, function).is_some(),
            "{id}: {function} in {:?}",
            names(&explained.tree)
        );
        assert!(
            explained
                .groups
                .iter()
                .any(|sum| sum.group == group && sum.instructions > 0),
            "{id}: {group:?}"
        );
        assert_eq!(explained.tree.total, explained.instructions, "{id}");
    }
}

#[test]
#[cfg_attr(not(feature = "heavy"), ignore = "heavy")]
fn two_kernels_are_compared_function_by_function() {
    let name = needs!(emulated_kernel());
    let audited = format!("{name} audit=1");
    let arguments = format!("explain getppid --env '{name}' --versus {audited} --format json");
    let document: Value = serde_json::from_str(&Place::new().printed(&arguments)).unwrap();
    assert_eq!(document["schema"], "syscost.explain-kernel-versus/1");
    let instructions = |side: &str| document[side]["instructions"].as_u64().unwrap();
    assert!(
        instructions("after") > instructions("before"),
        "auditing takes instructions: {document:#}"
    );
    let changes = list(&document["functions"]);
    let sum: i64 = changes
        .iter()
        .map(|change| change["change"].as_i64().unwrap())
        .sum();
    assert_eq!(
        sum,
        instructions("after") as i64 - instructions("before") as i64
    );
    assert!(
        changes
            .iter()
            .any(|change| change["name"] == "__audit_syscall_entry"),
        "{document:#}"
    );
}

#[test]
#[cfg_attr(not(feature = "heavy"), ignore = "heavy")]
fn a_snippet_is_looked_into_as_an_operation_is() {
    let name = needs!(emulated_kernel());
    let access = Place::new().printed(format!(
        "explain 'c:access(\"/etc/hosts\", R_OK)' --env '{name}' --format json"
    ));
    let access: Value = serde_json::from_str(&access).unwrap();
    assert_eq!(access["returned"], json!({"access": 0}));
    let snippet = "c:twice(getppid() - before)";
    let surroundings = [
        "--setup",
        "c:int before = getpid();",
        "--prelude",
        "c:static int twice(int x) { return 2 * x; }",
    ];
    let arguments = (
        format!("explain '{snippet}' --env '{name}' --format json"),
        &surroundings,
    );
    let document: Value = serde_json::from_str(&Place::new().printed(&arguments)).unwrap();
    assert_eq!(document["operation"], snippet);
    let (seen, counted) = (
        document["instructions"].as_f64().unwrap(),
        document["counted"].as_f64().unwrap(),
    );
    assert!(
        (seen - counted).abs() <= 0.01 * counted,
        "{seen} in the tree, {counted} counted"
    );
    let top = list(&document["tree"]["children"]);
    assert_eq!(
        (top.len(), &top[0]["name"]),
        (1, &json!("main")),
        "{document:#}"
    );
    let functions = list(&document["functions"]);
    assert!(
        functions.iter().any(|f| f["name"] == "__x64_sys_getppid"),
        "{document:#}"
    );
}

#[test]
fn snippets_that_cannot_be_looked_into_are_told() {
    let refused = |arguments: &str| {
        let output = Place::new().run(("explain", arguments));
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(refused("c:getppid()").contains("add --env linux-6.1"));
    assert!(refused("perl:getppid() --env linux-0.1").contains("only C is built"));
    assert!(refused("getppid --env linux-0.1 --setup 'c:int x;'").contains("are for snippets"));
}

#[test]
fn what_is_no_kernel_or_not_there_is_told() {
    let refused = |arguments: &str| {
        let output = Place::new().run(("explain getppid --env", arguments));
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(refused("linux-0.1").contains("syscost kernel fetch 0.1"));
    assert!(refused("linux:/no/such/vmlinuz").contains("/no/such/vmlinuz"));
    assert!(refused("linux-0.1 --versus native").contains("--env native: not an emulated kernel"));
    assert!(
        refused("linux-0.1 --versus linux-0.2 --view flame").contains("--view is for one kernel")
    );
}
