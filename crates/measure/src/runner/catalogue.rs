//! Reads the catalogue of operations, which is the output of the probe's `--list`.

use anyhow::{Context, Result, bail};
use model::{Expectation, Operation, Parameter, Traits};
use std::path::Path;
use std::process::{Command, Stdio};
use sys::output::output;

/// # Errors
/// The probe does not start or fails, or its answer is not a catalogue.
pub fn read_catalogue(path: &Path) -> Result<Vec<Operation>> {
    // A bare root has no /dev/null, which would be the input otherwise.
    let output = output(Command::new(path).arg("--list").stdin(Stdio::piped()));
    let output = output.with_context(|| format!("cannot start the probe {}", path.display()))?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr).trim().to_string();
        let proc = std::path::Path::new("/proc/self").exists();
        let next = if proc {
            ""
        } else {
            "; mount /proc: a dynamically linked probe needs it, a static syscost does not"
        };
        bail!(
            "the probe's --list ended with {}: {error}{next}",
            output.status
        );
    }
    parse_catalogue(&String::from_utf8(output.stdout)?)
}

/// One operation per line: ten fields with tabs between them.
///
/// # Errors
/// The first line that is malformed.
pub fn parse_catalogue(text: &str) -> Result<Vec<Operation>> {
    text.lines().map(parse_line).collect()
}

fn parse_line(line: &str) -> Result<Operation> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [
        id,
        what,
        enters,
        prepares,
        params,
        systems,
        family,
        flags,
        limit,
        available,
    ] = fields[..]
    else {
        bail!(
            "the probe's catalogue has a line of {} fields: {line}",
            fields.len()
        );
    };
    let flags: u32 = flags.parse().with_context(|| format!("{id}: flags"))?;
    Ok(Operation {
        id: id.to_string(),
        what: what.to_string(),
        enters: expectation(id, enters)?,
        prepares: expectation(id, prepares)?,
        params: params
            .split("; ")
            .filter(|p| !p.is_empty())
            .map(parse_param)
            .collect::<Result<_>>()?,
        systems: systems.to_string(),
        family: Some(family.to_string()).filter(|f| !f.is_empty()),
        traits: traits(flags),
        limit: limit.parse().ok().filter(|limit| *limit > 0),
        available: available == "1",
    })
}

fn expectation(id: &str, text: &str) -> Result<Expectation> {
    text.parse().map_err(|e| anyhow::anyhow!("{id}: {e}"))
}

fn traits(flags: u32) -> Traits {
    // The flags of an operation in probe.h.
    let [switches, children, machine, faults, history] =
        [1, 2, 4, 8, 16].map(|bit| flags & bit != 0);
    Traits {
        switches,
        children,
        machine,
        faults,
        history,
    }
}

fn parse_param(text: &str) -> Result<Parameter> {
    let parts = text
        .split_once('=')
        .and_then(|(name, rest)| Some((name, rest.split_once(':')?)));
    let (name, (default, what)) =
        parts.with_context(|| format!("parameter '{text}' is not name=default:text"))?;
    let default = model::parse_size(default)?;
    Ok(Parameter {
        name: name.to_string(),
        default,
        what: what.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_an_operation() {
        let line = "io.read\tread(2)\tread x1\tdup x1\tsize=4K:bytes\tposix\t\t5\t256\t1";
        let operation = parse_line(line).unwrap();
        assert_eq!(operation.area(), "io");
        assert_eq!(
            operation.params,
            [Parameter {
                name: "size".into(),
                default: 4096,
                what: "bytes".into()
            }]
        );
        assert!(
            operation.traits.switches && operation.traits.machine && !operation.traits.children
        );
        assert!(!operation.traits.faults && !operation.traits.history);
        let others = parse_line(&line.replace("\t5\t", "\t24\t")).unwrap().traits;
        assert!(others.faults && others.history && !others.machine);
        assert_eq!(
            (operation.limit, operation.family, operation.available),
            (Some(256), None, true)
        );
        assert!(parse_line("id.getppid\tx").is_err());
    }
}
