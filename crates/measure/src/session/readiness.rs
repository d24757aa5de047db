//! Whether environments can be used here: each is built and started once, for a moment.

use crate::guest::images::Images;
use crate::runner::{Environment, Workers};
use model::Case;
use schemars::JsonSchema;
use serde::Serialize;

/// What became of an environment's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Readiness {
    /// It was started, or its machine can be.
    Ready,
    /// A program, compiler or image that it needs is not there.
    Missing,
    /// It could not be started: something on this machine does not allow that.
    NotPermitted,
}

/// Also says what to install, why it was refused, or which images there are for a machine that
/// boots any kernel. Machines are not booted.
pub fn readiness(workers: &Workers, environment: &Environment) -> (Readiness, Option<String>) {
    let case = Case {
        environment: environment.name.clone(),
        ..Case::native("call.empty_loop")
    };
    let built = if environment.is_guest {
        environment
            .check_needs()
            .map_err(|error| format!("{error:#}"))
    } else {
        workers.prepare(&case).map_err(|failure| failure.message)
    };
    if let Err(missing) = built {
        let reason = without_name(&missing, &environment.name).to_string();
        return (Readiness::Missing, Some(reason));
    }
    if environment.is_guest {
        return images(environment);
    }
    match workers.start_greeted(&case) {
        Ok(_) => (Readiness::Ready, None),
        Err(failure) => (Readiness::NotPermitted, Some(failure.message)),
    }
}

/// For where the name of the environment stands already.
pub fn without_name<'a>(message: &'a str, name: &str) -> &'a str {
    let prefix = format!("environment {name}: ");
    message.strip_prefix(&prefix).unwrap_or(message)
}

fn images(environment: &Environment) -> (Readiness, Option<String>) {
    if environment.machine.is_none() {
        return (
            Readiness::Ready,
            Some("not tested: it would have to boot".to_string()),
        );
    }
    let all = Images::open()
        .map(|images| images.all())
        .unwrap_or_default();
    let own = all
        .into_iter()
        .filter(|image| Some(&image.facts.architecture) == environment.machine.as_ref());
    let releases: Vec<String> = own.map(|image| image.facts.release).collect();
    if releases.is_empty() {
        (
            Readiness::Missing,
            Some("no kernel image; 'syscost kernel fetch VERSION' gets one".to_string()),
        )
    } else {
        (
            Readiness::Ready,
            Some(format!("kernel images: {}", releases.join(", "))),
        )
    }
}
