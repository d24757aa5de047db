//! Cases for the needs of a profile: `run --profile`. Each is one operation at one value of its parameter, which `select` would
//! combine with those of all others.

use super::select::{add_baselines, cases, count, in_environments};
use super::{Choices, Setting, Subject};
use crate::model::{Need, Operation, Planned};
use anyhow::Result;

/// Least share of the calls beside the greatest that gets the full precision; what has less gets a wider interval.
/// The error of a total is smallest where half-widths go with one over the root of the shares.
const WIDEST: f64 = 4.0;

/// One case for each need, value of `choices` and environment; then the baselines that are not among them.
///
/// # Errors
/// If there are more cases than the user allows.
pub fn exact(catalogue: &[Operation], needs: &[Need], choices: &Choices) -> Result<Vec<Planned>> {
    let known = |need: &Need| Some(Subject::Operation(catalogue.iter().find(|o| o.id == need.operation)?));
    let known: Vec<(&Need, Subject)> = needs.iter().filter_map(|need| Some((need, known(need)?))).collect();
    let Choices { settings, environments, reach, .. } = *choices;
    choices.check(known.iter().map(|(_, subject)| count(subject, settings, environments, reach)))?;
    let greatest = needs.iter().filter_map(|need| need.share).fold(0.0, f64::max);
    let mut planned = Vec::new();
    for (need, subject) in &known {
        let own = need.params.iter().map(|(name, value)| Setting { name: name.clone(), values: vec![*value] });
        let settings: Vec<Setting> = own.chain(settings.iter().cloned()).collect();
        let tolerance = tolerance(need.share, greatest);
        let each = cases(subject, &settings).into_iter().map(|planned| Planned { tolerance, ..planned });
        planned.extend(each.flat_map(|planned| in_environments(&planned, environments, reach)));
    }
    add_baselines(catalogue, &mut planned);
    Ok(planned)
}

/// How many times as wide an interval may be as that of the greatest share.
fn tolerance(share: Option<f64>, greatest: f64) -> f64 {
    share.map_or(1.0, |share| (greatest / share).sqrt().clamp(1.0, WIDEST))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixtures::need;
    use crate::model::{Parameter, Role};

    fn operation(id: &str) -> Operation {
        let size = Parameter { name: "size".into(), default: 1, what: String::new() };
        Operation { id: id.into(), params: vec![size], available: true, ..Operation::default() }
    }

    fn asked(needs: &[Need], choices: &Choices) -> Result<Vec<(String, f64)>> {
        let catalogue = ["io.read_file", "id.getppid"].map(operation);
        let planned = exact(&catalogue, needs, choices)?.into_iter().filter(|p| p.role == Role::Asked);
        Ok(planned.map(|p| (format!("{} {}", p.case, p.case.environment), p.tolerance)).collect())
    }

    #[test]
    fn each_need_is_one_case_as_precise_as_its_share_deserves() {
        let needs = [
            need("id.getppid", None, None),
            need("io.read_file", Some(1), Some(0.64)),
            need("io.read_file", Some(64), Some(0.16)),
            need("io.read_file", Some(4096), Some(0.0)),
            need("io.unknown", None, Some(0.2)),
        ];
        let expected = [
            ("id.getppid native", 1.0),
            ("io.read_file size=1 native", 1.0),
            ("io.read_file size=64 native", 2.0),
            ("io.read_file size=4K native", 4.0),
        ];
        let found = asked(&needs, &Choices::default()).unwrap();
        assert_eq!(found, expected.map(|(case, tolerance)| (case.to_string(), tolerance)));
    }

    #[test]
    fn environments_and_threads_multiply_the_needs_and_the_limit_holds() {
        let (settings, environments) = (["threads=1,2".parse().unwrap()], ["native", "static"].map(String::from));
        let choices =
            |most_cases| Choices { settings: &settings, environments: &environments, most_cases, ..Choices::default() };
        let needs = [need("io.read_file", Some(64), Some(1.0))];
        assert_eq!(asked(&needs, &choices(4)).unwrap().len(), 4);
        assert!(asked(&needs, &choices(3)).is_err());
    }
}
