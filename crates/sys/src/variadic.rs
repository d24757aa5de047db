//! Tests the sources: no bare number is passed through a variadic call. It would be an int, and the upper half of the
//! long or pointer that the kernel reads would be undefined.

use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};

const VARIADIC: [&str; 5] = ["syscall", "ptrace", "prctl", "fcntl", "ioctl"];

#[derive(Default)]
struct BareNumbers {
    calls: usize,
    found: Vec<String>,
}

impl<'ast> Visit<'ast> for BareNumbers {
    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        if let Some(name) = variadic(&call.func) {
            self.calls += 1;
            if call.args.iter().any(is_bare_number) {
                self.found.push(name);
            }
        }
        visit::visit_expr_call(self, call);
    }
}

fn variadic(function: &syn::Expr) -> Option<String> {
    let syn::Expr::Path(path) = function else {
        return None;
    };
    let mut names = path
        .path
        .segments
        .iter()
        .rev()
        .map(|segment| segment.ident.to_string());
    let name = names
        .next()
        .filter(|name| VARIADIC.contains(&name.as_str()))?;
    (names.next()? == "libc").then_some(name)
}

fn is_bare_number(argument: &syn::Expr) -> bool {
    match argument {
        syn::Expr::Lit(literal) => {
            matches!(&literal.lit, syn::Lit::Int(number) if number.suffix().is_empty())
        }
        syn::Expr::Unary(unary) => is_bare_number(&unary.expr),
        _ => false,
    }
}

fn check(text: &str) -> BareNumbers {
    let mut numbers = BareNumbers::default();
    numbers.visit_file(&syn::parse_file(text).unwrap());
    numbers
}

fn sources(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                sources(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

#[test]
fn a_bare_number_is_found() {
    assert_eq!(
        check("fn f() { unsafe { libc::syscall(libc::SYS_close, fd, -1) }; }").found,
        ["syscall"]
    );
    assert!(
        check("fn f() { unsafe { libc::syscall(libc::SYS_close, fd, FLAGS, 0u64) }; }")
            .found
            .is_empty()
    );
}

#[test]
fn no_bare_number_goes_through_a_variadic_call() {
    let mut calls = 0;
    for path in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..")) {
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let numbers = check(&std::fs::read_to_string(&path).unwrap());
        assert!(
            numbers.found.is_empty(),
            "{}: {:?}",
            path.display(),
            numbers.found
        );
        calls += numbers.calls;
    }
    assert!(calls >= 10, "{calls}");
}
