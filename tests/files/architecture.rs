//! Who imports whom: the rules of ARCHITECTURE.md, read from the paths in the source.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use syn::visit::{self, Visit};

/// Each module of the crate and those that it may import, from the ground up. Tests inside the modules are free.
const ALLOWED: &[(&str, &[&str])] = &[
    ("syscall_names", &[]),
    ("clean", &[]),
    ("prose", &[]),
    ("model", &[]),
    ("stats", &["model"]),
    ("derive", &["model", "stats"]),
    ("summary", &["derive", "model", "stats", "syscall_names"]),
    ("fit", &["model", "stats", "summary"]),
    ("kernel", &["model", "prose", "stats", "syscall_names"]),
    ("doctor", &["kernel", "model", "prose"]),
    ("top", &["model"]),
    ("runner", &["kernel", "model"]),
    ("guest", &["kernel", "model", "runner", "syscall_names"]),
    ("engine", &["model", "stats"]),
    ("plan", &["clean", "kernel", "model", "runner"]),
    ("proof", &["kernel", "model", "runner"]),
    ("split", &["model", "runner"]),
    (
        "counters",
        &["kernel", "model", "proof", "prose", "runner", "stats"],
    ),
    ("singles", &["model", "runner"]),
    ("store", &["clean", "kernel", "model", "syscall_names"]),
    ("document", &[]),
    ("write", &["clean", "document", "prose"]),
    ("atlas", &["guest", "kernel", "model", "store"]),
    ("compare", &["derive", "model", "stats", "summary"]),
    ("attribute", &["model", "summary", "syscall_names"]),
    (
        "session",
        &[
            "counters", "engine", "guest", "kernel", "model", "proof", "runner", "singles",
            "split", "stats", "store", "summary",
        ],
    ),
    (
        "trace",
        &["kernel", "model", "runner", "stats", "syscall_names"],
    ),
    (
        "race",
        &[
            "kernel", "model", "plan", "runner", "session", "stats", "trace",
        ],
    ),
    (
        "explain",
        &[
            "guest", "kernel", "model", "proof", "prose", "runner", "trace",
        ],
    ),
    (
        "report",
        &[
            "atlas",
            "attribute",
            "clean",
            "compare",
            "derive",
            "document",
            "fit",
            "model",
            "prose",
            "stats",
            "summary",
            "syscall_names",
            "top",
            "write",
        ],
    ),
    ("cli", &["*"]),
];

/// A module's path, such as `kernel::bpf`; the crate's root is empty.
type Module = Vec<String>;

/// One source file as the rules see it.
#[derive(Default)]
struct Source {
    /// Names that it imports, or hands on: the name here, and where that comes from.
    imported: BTreeMap<String, Module>,
    /// Paths from the crate's root that its code names.
    named: BTreeSet<Module>,
}

struct Reader {
    module: Module,
    children: BTreeSet<String>,
    source: Source,
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    let test = |a: &syn::Attribute| {
        a.path().is_ident("cfg")
            && a.meta
                .require_list()
                .is_ok_and(|list| list.tokens.to_string().contains("test"))
    };
    attributes.iter().any(test)
}

impl Reader {
    /// The path from the root; `None` for what is of another crate or of this file.
    fn absolute(&self, path: &[String]) -> Option<Module> {
        let (first, rest) = path.split_first()?;
        let below = |base: &[String], rest: &[String]| Some([base, rest].concat());
        match first.as_str() {
            "crate" => below(&[], rest),
            "self" => self.absolute(rest),
            "super" => {
                let ups = path.iter().take_while(|part| *part == "super").count();
                below(
                    &self.module[..self.module.len().checked_sub(ups)?],
                    &path[ups..],
                )
            }
            child if self.children.contains(child) => below(&self.module, path),
            _ => None,
        }
    }

    fn use_tree(&mut self, tree: &syn::UseTree, before: &[String], public: bool) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.use_tree(&path.tree, &with(&path.ident), public),
            syn::UseTree::Group(group) => group
                .items
                .iter()
                .for_each(|tree| self.use_tree(tree, before, public)),
            syn::UseTree::Name(name) if name.ident == "self" => self.import("self", before, public),
            syn::UseTree::Name(name) => {
                self.import(&name.ident.to_string(), &with(&name.ident), public)
            }
            syn::UseTree::Rename(name) => {
                self.import(&name.rename.to_string(), &with(&name.ident), public)
            }
            syn::UseTree::Glob(_) => self.import("*", before, public),
        }
    }

    fn import(&mut self, name: &str, path: &[String], public: bool) {
        let Some(path) = self.absolute(path) else {
            return;
        };
        if !public {
            self.source.named.insert(path.clone());
        }
        self.source.imported.insert(name.to_string(), path);
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_test(&item.attrs) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !is_test(&item.attrs) {
            self.use_tree(
                &item.tree,
                &[],
                !matches!(item.vis, syn::Visibility::Inherited),
            );
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let parts: Vec<String> = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        if parts.len() > 1 && path.leading_colon.is_none() {
            self.import("", &parts, false);
        }
        visit::visit_path(self, path);
    }
}

fn read(module: Module, text: &str) -> Source {
    let file = syn::parse_file(text).expect("the crate compiles");
    let children = file.items.iter().filter_map(|item| match item {
        syn::Item::Mod(child) if child.content.is_none() && !is_test(&child.attrs) => {
            Some(child.ident.to_string())
        }
        _ => None,
    });
    let mut reader = Reader {
        module,
        children: children.collect(),
        source: Source::default(),
    };
    reader.visit_file(&file);
    reader.source
}

/// All modules of the crate that are files.
fn sources() -> BTreeMap<Module, Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = BTreeMap::new();
    let mut left = vec![root.clone()];
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let name = path.strip_prefix(&root).unwrap().with_extension("");
                let mut module: Module = name
                    .iter()
                    .map(|part| part.to_string_lossy().into_owned())
                    .collect();
                if ["mod", "lib", "main"].contains(&module.last().unwrap().as_str()) {
                    module.pop();
                }
                // Tests may import anything, in a file of their own as in the file that they test.
                if module.last().is_none_or(|name| name != "tests") {
                    found
                        .entry(module.clone())
                        .or_insert_with(|| read(module, &text));
                }
            }
        }
    }
    found
}

/// The file that defines what `path` names, through all that hands it on.
fn definer<'a>(sources: &'a BTreeMap<Module, Source>, path: &[String]) -> Option<&'a Module> {
    let length = (0..=path.len())
        .rev()
        .find(|length| sources.contains_key(&path[..*length]))?;
    let (module, source) = sources.get_key_value(&path[..length])?;
    let name = path.get(length);
    match name.and_then(|name| source.imported.get(name)) {
        Some(next) if next != path => definer(sources, next),
        _ => Some(module),
    }
}

/// Who imports whom, file by file; a file's own children belong to it as far as it only declares them.
fn edges(sources: &BTreeMap<Module, Source>) -> BTreeMap<&Module, BTreeSet<&Module>> {
    let of = |(module, source): (_, &Source)| {
        let targets = source
            .named
            .iter()
            .filter_map(|path| definer(sources, path));
        (module, targets.filter(|target| *target != module).collect())
    };
    sources.iter().map(of).collect()
}

fn top(module: &Module) -> &str {
    module.first().map_or("", String::as_str)
}

#[test]
fn modules_import_only_what_they_may() {
    let sources = sources();
    let mut wrong = Vec::new();
    let mut used = BTreeSet::new();
    for (module, targets) in edges(&sources) {
        let allowed = ALLOWED
            .iter()
            .find(|(name, _)| *name == top(module))
            .map(|(_, allowed)| *allowed);
        for target in targets
            .into_iter()
            .filter(|target| top(target) != top(module) && !top(target).is_empty())
        {
            used.insert((top(module).to_string(), top(target).to_string()));
            let fine = allowed
                .is_some_and(|allowed| allowed.contains(&"*") || allowed.contains(&top(target)));
            if !fine && !module.is_empty() {
                wrong.push(format!(
                    "{} imports {}",
                    module.join("::"),
                    target.join("::")
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "not among the allowed imports:\n{}",
        wrong.join("\n")
    );
    let unused = ALLOWED
        .iter()
        .flat_map(|(module, allowed)| allowed.iter().map(move |to| (*module, *to)));
    let unused = unused
        .filter(|(module, to)| *to != "*" && !used.contains(&(module.to_string(), to.to_string())));
    assert_eq!(unused.collect::<Vec<_>>(), [], "allowed, and not imported");
    // What the build script shares with the runner is no module.
    let modules: BTreeSet<&str> = sources
        .keys()
        .map(top)
        .filter(|name| !["", "probe_build"].contains(name))
        .collect();
    assert_eq!(modules, ALLOWED.iter().map(|(name, _)| *name).collect());
}

/// All files that `from` imports, directly or through others.
fn reach<'a>(
    edges: &BTreeMap<&'a Module, BTreeSet<&'a Module>>,
    from: &'a Module,
) -> BTreeSet<&'a Module> {
    let (mut seen, mut left) = (BTreeSet::new(), vec![from]);
    while let Some(module) = left.pop() {
        left.extend(
            edges[module]
                .iter()
                .copied()
                .filter(|target| seen.insert(*target)),
        );
    }
    seen
}

/// The circles among `edges`, a line each.
fn circles<'a>(edges: &BTreeMap<&'a Module, BTreeSet<&'a Module>>) -> BTreeSet<String> {
    let reached: BTreeMap<&Module, BTreeSet<&Module>> = edges
        .keys()
        .map(|module| (*module, reach(edges, module)))
        .collect();
    let in_circles = edges
        .keys()
        .filter(|module| reached[*module].contains(*module));
    in_circles
        .map(|module| {
            let with = reached[module]
                .iter()
                .filter(|other| reached[*other].contains(module));
            with.map(|module| module.join("::"))
                .collect::<Vec<_>>()
                .join(", ")
        })
        .collect()
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let sources = sources();
    let circles = circles(&edges(&sources));
    assert!(
        circles.is_empty(),
        "circles of imports:\n{}",
        circles.into_iter().collect::<Vec<_>>().join("\n")
    );
}

/// A folder inside a module is a subject of its own: `report::run` and `report::comparison` do not need each other.
#[test]
fn no_folders_of_a_module_import_each_other_in_a_circle() {
    let sources = sources();
    let edges = edges(&sources);
    let folder = |module: &Module| module.iter().take(2).cloned().collect::<Module>();
    let folders: BTreeSet<Module> = sources
        .keys()
        .map(folder)
        .filter(|folder| folder.len() == 2)
        .collect();
    let mut between: BTreeMap<&Module, BTreeSet<&Module>> =
        folders.iter().map(|one| (one, BTreeSet::new())).collect();
    for (module, targets) in &edges {
        let Some(from) = folders.get(&folder(module)) else {
            continue;
        };
        let targets = targets
            .iter()
            .filter_map(|target| folders.get(&folder(target)));
        between
            .entry(from)
            .or_default()
            .extend(targets.filter(|to| *to != from && top(to) == top(from)));
    }
    let circles = circles(&between);
    assert!(
        circles.is_empty(),
        "circles of folders:\n{}",
        circles.into_iter().collect::<Vec<_>>().join("\n")
    );
}
