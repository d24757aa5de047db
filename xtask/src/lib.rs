//! docs/format: a page for each kind of file and document, made from its JSON Schema.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The pages with their paths.
///
/// # Errors
/// The example cannot be read.
pub fn pages() -> std::io::Result<Vec<(PathBuf, String)>> {
    let example = fs::read_to_string(root().join("tests/golden/example.json"))?;
    let mut pages = Pages::default();
    let page = |(kind, schema): (&str, Value)| {
        let mut page = pages.page(kind, &schema);
        if kind == "result" {
            page += &format!("\n## Example\n\n```json\n{example}```\n");
        }
        (root().join(format!("docs/format/{kind}.md")), page)
    };
    Ok(cli::schemas::all().into_iter().map(page).collect())
}

/// The names and texts of files with JSON Schemas.
pub fn schemas() -> impl Iterator<Item = (String, String)> {
    let all = cli::schemas::all().into_iter();
    all.map(|(kind, schema)| {
        (
            format!("{}.json", schema_name(kind, &schema)),
            format!("{schema:#}\n"),
        )
    })
}

/// The kind with its version, such as `result-1`.
pub fn schema_name(kind: &str, schema: &Value) -> String {
    let id = schema["properties"]["schema"]["const"].as_str().unwrap();
    format!("{kind}-{}", id.split_once('/').unwrap().1)
}

/// Where each definition is described, by its name and what it says.
#[derive(Default)]
struct Pages {
    homes: BTreeMap<(String, String), String>,
}

impl Pages {
    /// The page of a kind: its fields, then what they refer to and no earlier page describes.
    fn page(&mut self, name: &str, schema: &Value) -> String {
        let own = schema["properties"]["schema"]["const"].as_str().unwrap();
        let title = schema["title"].as_str().unwrap_or_default();
        self.homes
            .entry((title.into(), identity(schema)))
            .or_insert(format!("{name}.md"));
        let mut page = Page {
            pages: self,
            name,
            definitions: &schema["$defs"],
            waiting: Vec::new(),
            text: format!(
                "<!-- xtask makes this page from the comments of the types. -->\n\n# `{own}`\n"
            ),
        };
        page.section(schema);
        while !page.waiting.is_empty() {
            let name = page.waiting.remove(0);
            page.text += &format!("\n## {name}\n");
            page.section(&page.definitions[&name]);
        }
        page.text
    }
}

/// What two definitions must have in common to be described in one place: all but whether a file may leave a field out.
fn identity(schema: &Value) -> String {
    let mut schema = schema.clone();
    forget(&mut schema);
    if let Some(fields) = schema["properties"].as_object_mut() {
        fields.remove("schema");
    }
    format!(
        "{} {} {}",
        schema["properties"], schema["oneOf"], schema["anyOf"]
    )
}

fn forget(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.remove("required");
            map.remove("default");
            map.values_mut().for_each(forget);
        }
        Value::Array(list) => list.iter_mut().for_each(forget),
        _ => {}
    }
}

struct Page<'a> {
    pages: &'a mut Pages,
    name: &'a str,
    definitions: &'a Value,
    /// Definitions that this page refers to and has yet to describe.
    waiting: Vec<String>,
    text: String,
}

impl Page<'_> {
    fn section(&mut self, schema: &Value) {
        let description = words(&schema["description"]);
        if !description.is_empty() {
            self.text += &format!("\n{description}\n");
        }
        let fields = self.fields(schema);
        if !fields.is_empty() {
            self.text += "\n| Field | Type | Meaning |\n|---|---|---|\n";
        }
        for (name, kind, meaning) in fields {
            self.text += &format!("| `{name}` | {kind} | {meaning} |\n");
        }
        for word in ["oneOf", "anyOf"] {
            let variants = array(&schema[word]);
            // Which of its own fields exclude each other is in its description.
            if variants.iter().all(|variant| is_part_of(variant, schema)) {
                continue;
            }
            let values: Option<Vec<_>> = variants.iter().map(values).collect();
            match values {
                Some(values) => self.values(&values.concat()),
                _ => self.variants(variants),
            }
        }
        if ["properties", "oneOf", "anyOf", "enum"]
            .iter()
            .all(|word| schema[*word].is_null())
        {
            let kind = self.kind(schema);
            self.text += &format!("\nType: {kind}\n");
        }
    }

    fn values(&mut self, values: &[(String, String)]) {
        self.text += "\n| Value | Meaning |\n|---|---|\n";
        for (value, meaning) in values {
            self.text += &format!("| `{value}` | {meaning} |\n");
        }
    }

    fn variants(&mut self, variants: &[Value]) {
        self.text += "\nOne of:\n\n| Fields | Meaning |\n|---|---|\n";
        for variant in variants {
            let fields = self.members(variant);
            let meaning = one_line(&variant["description"]);
            self.text += &format!("| {fields} | {meaning} |\n");
        }
    }

    fn members(&mut self, schema: &Value) -> String {
        let mut members: Vec<String> = Vec::new();
        if let Some(values) = values(schema) {
            members.extend(values.iter().map(|(value, _)| format!("`\"{value}\"`")));
        }
        for (name, kind, meaning) in self.fields(schema) {
            let meaning = if meaning.is_empty() {
                meaning
            } else {
                format!(": {meaning}")
            };
            match kind.strip_prefix("`\"") {
                Some(_) => members.push(format!("`{name}` is {kind}")),
                None => members.push(format!("`{name}` ({kind}){meaning}")),
            }
        }
        if !schema["$ref"].is_null() {
            members.push(format!("the fields of {}", self.reference(schema)));
        }
        members.join("; ")
    }

    fn fields(&mut self, schema: &Value) -> Vec<(String, String, String)> {
        let Some(properties) = schema["properties"].as_object() else {
            return Vec::new();
        };
        let required: Vec<&str> = array(&schema["required"])
            .iter()
            .filter_map(Value::as_str)
            .filter(|name| *name != "schema" && properties.contains_key(*name))
            .collect();
        let others = properties
            .keys()
            .map(String::as_str)
            .filter(|name| *name != "schema" && !required.contains(name));
        let names: Vec<&str> = required.iter().copied().chain(others).collect();
        names
            .into_iter()
            .map(|name| {
                let field = &properties[name];
                let mut kind = self.kind(field);
                if !required.contains(&name) && !kind.ends_with('?') {
                    kind.push('?');
                }
                (name.to_string(), kind, self.meaning(field))
            })
            .collect()
    }

    fn meaning(&self, field: &Value) -> String {
        let mut meaning = one_line(&field["description"]);
        if meaning.is_empty() {
            let inner = [field, &field["items"], &field["anyOf"][0]];
            let name = inner
                .iter()
                .find_map(|inner| inner["$ref"].as_str()?.rsplit('/').next());
            meaning = one_line(&self.definitions[name.unwrap_or_default()]["description"]);
        }
        let default = &field["default"];
        if default == &Value::Bool(true) || default.as_u64() > Some(0) {
            meaning += &format!(" Default: {default}.");
        }
        meaning
    }

    fn kind(&mut self, schema: &Value) -> String {
        if let Some(value) = schema["const"].as_str() {
            return format!("`\"{value}\"`");
        }
        if !schema["$ref"].is_null() {
            return self.reference(schema);
        }
        let choices = array(&schema["anyOf"]);
        if let [inner, null] = choices
            && null["type"] == "null"
        {
            return format!("{}?", self.kind(inner));
        }
        if !choices.is_empty() || !schema["oneOf"].is_null() {
            let choices = if choices.is_empty() {
                array(&schema["oneOf"])
            } else {
                choices
            };
            let each: Vec<String> = choices.iter().map(|choice| self.kind(choice)).collect();
            return each.join(" or ");
        }
        if let [kind, null] = array(&schema["type"])
            && null == "null"
        {
            let mut inner = schema.clone();
            inner["type"] = kind.clone();
            return format!("{}?", self.kind(&inner));
        }
        match schema["type"].as_str() {
            Some("string") => "text".into(),
            Some("boolean") => "flag".into(),
            Some("integer") if schema["minimum"].is_null() => "integer".into(),
            Some("integer") => "count".into(),
            Some("array") => self.list(schema),
            Some("object") if schema["additionalProperties"].is_object() => {
                format!("map of {}", self.kind(&schema["additionalProperties"]))
            }
            Some("object") => format!("map of {}", self.members(schema)),
            Some(other) => other.into(),
            None => "any".into(),
        }
    }

    fn list(&mut self, schema: &Value) -> String {
        let parts = array(&schema["prefixItems"]);
        if !parts.is_empty() {
            let parts: Vec<String> = parts.iter().map(|part| self.kind(part)).collect();
            return format!("list of {}", parts.join(" and "));
        }
        let items = self.kind(&schema["items"]);
        match (&schema["minItems"], &schema["maxItems"]) {
            (least, most) if least == most && least.is_u64() => format!("list of {least}: {items}"),
            _ => format!("list of {items}"),
        }
    }

    /// A link to the definition, which gets a section here if no page has one. Plain numbers and texts need none.
    fn reference(&mut self, schema: &Value) -> String {
        let name = schema["$ref"].as_str().unwrap().rsplit('/').next().unwrap();
        let definition = &self.definitions[name];
        if ["number", "integer"]
            .iter()
            .any(|plain| definition["type"] == *plain)
        {
            return self.kind(definition);
        }
        let key = (name.to_string(), identity(definition));
        let anchor = format!("{}.md#{}", self.name, name.to_lowercase());
        let home = self.pages.homes.entry(key).or_insert_with(|| {
            self.waiting.push(name.to_string());
            anchor
        });
        let own = home.strip_prefix(&format!("{}.md", self.name));
        format!("[{name}]({})", own.unwrap_or(home))
    }
}

fn is_part_of(variant: &Value, schema: &Value) -> bool {
    variant["properties"].as_object().is_some_and(|fields| {
        fields
            .keys()
            .all(|name| !schema["properties"][name].is_null())
    })
}

fn values(schema: &Value) -> Option<Vec<(String, String)>> {
    let meaning = one_line(&schema["description"]);
    match (&schema["const"], &schema["enum"]) {
        (Value::String(value), _) => Some(vec![(value.clone(), meaning)]),
        (_, Value::Array(all)) => Some(
            all.iter()
                .map(|value| (value.as_str().unwrap().to_string(), String::new()))
                .collect(),
        ),
        _ => None,
    }
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn one_line(description: &Value) -> String {
    words(description).replace("\n\n", " ").replace('|', "\\|")
}

/// A description in words of JSON, a line for each paragraph.
fn words(description: &Value) -> String {
    let text = description
        .as_str()
        .unwrap_or_default()
        .replace("`None`", "null");
    let text = text.replace("[`", "`").replace("`]", "`");
    let paragraphs: Vec<String> = text
        .split("\n\n")
        .map(|text| text.replace('\n', " "))
        .collect();
    paragraphs.join("\n\n")
}
