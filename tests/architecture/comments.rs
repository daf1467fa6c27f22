//! Comments are in plain English: none begins with a clause that stands for a noun, such as "What the file says".

use super::imports::sources_of_all;

/// First words of such clauses.
const CLAUSES: [&str; 6] = ["What", "Whatever", "Who", "Whoever", "Whose", "Those"];

#[test]
fn no_comment_begins_with_a_clause_for_a_noun() {
    let (mut comments, mut found) = (0, Vec::new());
    for (path, text) in sources_of_all() {
        let mut before = "";
        for (number, line) in text.lines().map(str::trim_start).enumerate() {
            if line.starts_with("//") && !before.starts_with("//") {
                let comment = line.trim_start_matches(['/', '!', ' ']);
                let first = comment.split_whitespace().next().unwrap_or_default();
                comments += 1;
                if CLAUSES.contains(&first) {
                    found.push(format!("{}:{}: {comment}", path.display(), number + 1));
                }
            }
            before = line;
        }
    }
    assert!(comments > 5_000, "{comments} comments");
    assert!(found.is_empty(), "{found:#?}");
}
