//! The call tree as lists in each other, each function to be opened and closed. Works without a script.

use crate::model::explained::Call;
use crate::prose::counted;
use crate::report::numbers::thousands;
use crate::write::markup::{Markup, cut};

/// Subtrees below this share of all instructions are folded: so many rows would hide the others.
const SMALL: f64 = 0.001;
/// Subtrees from this share on are open.
const OPEN: f64 = 0.05;
/// Characters of a name.
const NAME: usize = 160;

/// Writes what is below `root`.
pub fn write(html: &mut Markup, root: &Call) {
    html.raw("<div class=\"tree\"><p class=\"r faint\"><span>Call tree: open a function to see what it calls</span>");
    html.raw("<b>total</b><b>own</b><b>%</b></p>");
    below(html, root, root.total.max(1));
    html.raw("</div>");
}

fn below(html: &mut Markup, call: &Call, whole: u64) {
    let is_shown = |child: &&Call| child.total as f64 >= SMALL * whole as f64;
    let (shown, folded): (Vec<&Call>, Vec<&Call>) = call.children.iter().partition(is_shown);
    html.raw("<ul>");
    for child in shown {
        html.raw("<li>");
        function(html, child, whole);
        html.raw("</li>");
    }
    if !folded.is_empty() {
        let total = folded.iter().map(|child| child.total).sum();
        let calls: u64 = folded.iter().map(|child| child.calls).sum();
        html.raw("<li class=\"faint\">");
        row(html, &counted(calls, "small call"), (total, None), whole);
        html.raw("</li>");
    }
    html.raw("</ul>");
}

fn function(html: &mut Markup, call: &Call, whole: u64) {
    let times = if call.calls > 1 { format!(" ×{}", thousands(call.calls as f64)) } else { String::new() };
    let name = cut(&call.name, NAME) + &times;
    if call.children.is_empty() {
        return row(html, &name, (call.total, Some(call.own)), whole);
    }
    let open = call.total as f64 >= OPEN * whole as f64;
    html.raw(if open { "<details open><summary>" } else { "<details><summary>" });
    row(html, &name, (call.total, Some(call.own)), whole);
    html.raw("</summary>");
    below(html, call, whole);
    html.raw("</details>");
}

fn row(html: &mut Markup, name: &str, (total, own): (u64, Option<u64>), whole: u64) {
    let own = own.map(|own| thousands(own as f64)).unwrap_or_default();
    html.raw("<span class=\"r\"><span>").text(name).raw("</span><b>").text(&thousands(total as f64));
    html.raw("</b><b>").text(&own).raw("</b><b>").text(&format!("{:.1}", 100.0 * total as f64 / whole as f64));
    html.raw("</b></span>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::explained::Group;
    use crate::model::fixtures;

    fn call(name: &str, own: u64, children: Vec<Call>) -> Call {
        fixtures::call(name, Group::Work, own, children)
    }

    #[test]
    fn large_functions_are_open_small_ones_closed_and_tiny_ones_folded() {
        let small = call("small", 9, vec![call("leaf", 1, vec![])]);
        let tiny = || call("tiny", 0, vec![]);
        let root = call("op", 0, vec![call("a<b", 990, vec![small, tiny(), tiny()])]);
        let mut html = Markup::new();
        write(&mut html, &root);
        let html = html.as_str();
        assert!(
            html.contains("<details open><summary><span class=\"r\"><span>a&lt;b</span><b>1,000</b><b>990</b>"),
            "{html}"
        );
        assert!(
            html.contains("<details><summary><span class=\"r\"><span>small</span><b>10</b><b>9</b><b>1.0</b>"),
            "{html}"
        );
        assert!(html.contains("<span>2 small calls</span><b>0</b><b></b><b>0.0</b>"), "{html}");
        assert_eq!(html.matches("<ul>").count(), html.matches("</ul>").count());
    }
}
