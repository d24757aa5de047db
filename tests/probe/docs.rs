//! The documents against the program: examples run, links lead somewhere, columns are explained, samples have the shape of
//! today's output, and what CONTRIBUTING.md tells people to write compiles and runs.

mod samples;

use crate::common::*;
use clap::CommandFactory;
use cli::Arguments;
use measure::runner::{Environment, Language};

fn page(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// The documents at the root and in docs/ with its pages of formats, and the READMEs of what users add to.
fn documents() -> Vec<PathBuf> {
    let folders = ["", "docs", "docs/format"].map(|folder| root().join(folder));
    let files = folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path());
    let mut documents: Vec<PathBuf> = files
        .filter(|path| path.extension().is_some_and(|e| e == "md"))
        .collect();
    documents.extend(
        ["languages", "environments", "studies", "fuzz"]
            .map(|folder| root().join(folder).join("README.md")),
    );
    documents
}

fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let start = format!("```{language}\n");
    page.split(start.as_str())
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect()
}

fn pages() -> Vec<(String, String)> {
    let mut names = vec!["README.md".to_string()];
    names.extend(
        fs::read_dir(root().join("docs"))
            .unwrap()
            .filter_map(|entry| {
                let name = entry.unwrap().file_name().into_string().unwrap();
                name.ends_with(".md").then(|| format!("docs/{name}"))
            }),
    );
    names.sort();
    names
        .into_iter()
        .map(|name| (name.clone(), page(&name)))
        .collect()
}

/// `- `text`, `csv` | `doctor`, `kernel list` |`: each command has these formats and no other of them.
#[test]
fn the_formats_of_each_command_are_those_of_the_page() {
    let page = page("docs/pages.md");
    let rows = page.lines().filter(|line| line.starts_with("| `text`"));
    let mut seen = 0;
    for row in rows {
        let cells: Vec<&str> = row.split('|').collect();
        let (formats, commands) = (spans(cells[1]), spans(cells[2]));
        for command in commands {
            let all: BTreeSet<String> = formats_of(command).into_iter().collect();
            let known = ["text", "markdown", "csv", "json"].map(String::from);
            let has: Vec<&String> = known
                .iter()
                .filter(|format| all.contains(*format))
                .collect();
            assert_eq!(has, formats, "{command}");
            seen += 1;
        }
    }
    assert!(seen >= 12, "only {seen} commands are named");
}

fn spans(cell: &str) -> Vec<&str> {
    let text = cell.split(';').next().unwrap_or_default();
    text.split('`').skip(1).step_by(2).collect()
}

fn formats_of(command: &str) -> Vec<String> {
    let mut found = Arguments::command();
    for word in command.split(' ') {
        found = found
            .find_subcommand(word)
            .unwrap_or_else(|| panic!("{command}"))
            .clone();
    }
    let format = found
        .get_arguments()
        .find(|arg| arg.get_id() == "format")
        .unwrap();
    let values = format.get_possible_values();
    values
        .iter()
        .map(|value| value.get_name().to_string())
        .collect()
}

#[test]
fn the_readme_is_short() {
    let lines = page("README.md").lines().count();
    assert!(
        lines <= 250,
        "README.md has {lines} lines: what is about one task belongs into docs/"
    );
}

#[test]
fn the_test_command_is_marked() {
    let readme = page("README.md");
    let marked = readme
        .split("<!-- test-command -->\n")
        .nth(1)
        .unwrap_or_default();
    assert!(
        marked.starts_with("```sh\ncargo test --no-fail-fast\n```\n"),
        "{marked:.60}"
    );
}

#[test]
fn every_command_is_in_the_readme_and_every_column_in_its_page() {
    let (readme, measure) = (page("README.md"), page("docs/measure.md"));
    let output = |args: &str| stdout(&Place::new().run(args));
    let help = output("--help");
    let listed = help.split("\nOptions:\n").next().unwrap();
    let entries = listed
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let commands: Vec<&str> = entries
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(commands.len() > 5, "{help}");
    for command in commands {
        assert!(
            readme.contains(&format!("`syscost {command}`")),
            "README.md does not tell of {command}"
        );
    }
    let table = output("run call.spin --no-verify --time 0.05 --view wide --format markdown");
    let heading = table.lines().find(|line| line.starts_with('|')).unwrap();
    for column in heading.trim_matches('|').split('|').map(str::trim) {
        assert!(
            measure.contains(&format!("| `{column}` |")),
            "docs/measure.md does not explain the column '{column}'"
        );
    }
}

fn links(page: &str) -> Vec<&str> {
    let text = page.split("```").step_by(2);
    let targets = text.flat_map(|text| text.split("](").skip(1));
    targets.filter_map(|rest| rest.split(')').next()).collect()
}

fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn has_heading(page: &str, wanted: &str) -> bool {
    let text: String = page.split("```").step_by(2).collect();
    text.lines()
        .any(|line| line.starts_with('#') && anchor(line) == wanted)
}

#[test]
fn links_lead_to_files_and_headings() {
    let mut seen = 0;
    for document in documents() {
        let page = fs::read_to_string(&document).unwrap();
        for link in links(&page)
            .into_iter()
            .filter(|link| !link.contains("://"))
        {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() {
                document.clone()
            } else {
                document.parent().unwrap().join(file)
            };
            assert!(
                target.exists(),
                "{}: {link} is not there",
                document.display()
            );
            let found =
                heading.is_empty() || has_heading(&fs::read_to_string(&target).unwrap(), heading);
            assert!(found, "{}: {link}: no such heading", document.display());
            seen += 1;
        }
    }
    assert!(seen > 10, "only {seen} links were found");
}

/// Words in code spans that name a file of the project, e.g. `crates/measure/src/proof.rs`.
#[test]
fn files_that_are_named_exist() {
    let places = [
        "src/",
        "crates/",
        "probe/",
        "languages/",
        "environments/",
        "studies/",
        "tests/",
        "docs/",
        "bench/",
    ];
    for document in documents() {
        let page = fs::read_to_string(&document).unwrap();
        for text in page.split("```").step_by(2) {
            for span in text
                .split('`')
                .skip(1)
                .step_by(2)
                .filter(|span| !span.contains(['<', ' ', '*']))
            {
                if places.iter().any(|place| span.starts_with(place)) {
                    assert!(
                        root().join(span).exists(),
                        "{}: there is no {span}",
                        document.display()
                    );
                }
            }
        }
    }
}

#[test]
fn the_worked_example_of_an_operation_compiles() {
    let contributing = page("CONTRIBUTING.md");
    let [function, entry] = blocks(&contributing, "c")[..] else {
        panic!("a function and an entry")
    };
    let table = "const struct operation id";
    let source = page("probe/ops/id.c").replacen(table, &format!("{function}\n{table}"), 1);
    let source = source.replacen("    {0},", &format!("{entry}    {{0}},"), 1);
    assert!(source.contains(function) && source.contains(entry));
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("id.c");
    fs::write(&file, source.replace("../probe.h", "probe.h")).unwrap();
    let mut compiler = Command::new(std::env::var_os("CC").unwrap_or("cc".into()));
    compiler
        .args(["-std=c11", "-O2", "-Wall", "-Werror", "-c", "-o"])
        .arg(directory.path().join("id.o"));
    let output = compiler
        .arg("-I")
        .arg(root().join("probe"))
        .arg(&file)
        .output()
        .unwrap();
    expect_status(&output, 0);
}

#[test]
fn the_worked_example_of_a_study_runs() {
    let place = Place::new();
    let page = page("CONTRIBUTING.md");
    place.write("study.toml", block_of(&blocks(&page, "toml"), "studies/"));
    let arguments = "run --study study.toml --time 0.3 --precision 100 --quiet --format json";
    let output = place.run(arguments);
    expect_status(&output, 0);
    let derived = &json(&output)["derived"][0];
    assert!(derived["value"].is_number(), "{derived}");
}

#[test]
fn the_worked_example_of_an_environment_builds() {
    let page = page("CONTRIBUTING.md");
    let environment: Environment =
        toml::from_str(block_of(&blocks(&page, "toml"), "environments/")).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("empty.c");
    fs::write(&source, "int main(void) { return 0; }\n").unwrap();
    let mut compiler = Command::new(std::env::var_os("CC").unwrap_or("cc".into()));
    let output = compiler
        .args(&environment.flags)
        .arg("-o")
        .arg(directory.path().join("empty"))
        .arg(&source)
        .output();
    let output = output.unwrap();
    expect_status(&output, 0);
}

/// Parsed as the tool parses it; what keeps a value alive is a variable that the loop has.
#[test]
fn the_worked_example_of_a_language_is_one() {
    let page = page("languages/README.md");
    let language: Language =
        toml::from_str(block_of(&blocks(&page, "toml"), "languages/")).unwrap();
    let loop_text =
        fs::read_to_string(root().join("languages/lua").join(&language.template)).unwrap();
    let keeper = language
        .expression
        .unwrap()
        .replace("{{body}}", "")
        .replace('=', "");
    assert!(
        loop_text.contains(&format!("local {}\n", keeper.trim())),
        "{keeper}"
    );
    assert!(
        language
            .run
            .iter()
            .chain(language.build.iter().flatten())
            .any(|word| word.contains("{source}"))
    );
}

fn block_of<'a>(blocks: &[&'a str], folder: &str) -> &'a str {
    let heading = format!("# {folder}");
    blocks
        .iter()
        .find(|block| block.starts_with(&heading))
        .unwrap_or_else(|| panic!("no block begins '{heading}'"))
}
