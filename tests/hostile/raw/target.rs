//! Paths and queries: one that another server could resolve to another path is refused, all others are forwarded byte
//! for byte.

use super::{Case, case, everywhere, get};

pub fn cases() -> Vec<Case> {
    let mut cases =
        everywhere("dots behind the path", |path| get(&format!("{path}/../x"), ""), |case| case.refused(400));
    cases.extend(everywhere(
        "a NUL behind the path",
        |path| get(&format!("{path}%00"), ""),
        |case| case.refused(400),
    ));
    cases.extend(everywhere(
        "an encoded slash in the path",
        |path| get(&format!("{path}%2f"), ""),
        |case| case.refused(400),
    ));
    cases.extend(everywhere(
        "a backslash in the path",
        |path| get(&format!("{path}\\x"), ""),
        |case| case.refused(400),
    ));
    let refused = [
        ("dots", "/api/v1/../admin/"),
        ("dots at the end", "/api/v1/x/.."),
        ("dots before v1", "/x/../api/v1/y/"),
        ("one dot", "/api/v1/./x/"),
        ("one dot at the end", "/api/v1/."),
        ("dots in percent", "/api/v1/%2e%2e/admin/"),
        ("dots in percent and capitals", "/api/v1/%2E%2E/admin/"),
        ("the first dot in percent", "/api/v1/%2e./admin/"),
        ("the second dot in percent", "/api/v1/.%2e/admin/"),
        ("one dot in percent", "/api/v1/%2e/x/"),
        ("dots and a semicolon", "/api/v1/..;/admin/"),
        ("dots and a parameter", "/api/v1/..;a=b/admin/"),
        ("dots and a semicolon in percent", "/api/v1/..%3b/admin/"),
        ("one dot and a semicolon", "/api/v1/.;/x/"),
        ("dots and a slash in percent", "/api/v1/..%2fadmin/"),
        ("dots and a backslash", "/api/v1/..\\admin/"),
        ("dots and a backslash in percent", "/api/v1/..%5cadmin/"),
        ("a slash in percent", "/api/v1/a%2Fb/"),
        ("a slash in percent and small letters", "/api/v1/a%2fb/"),
        ("a backslash in percent", "/api/v1/a%5Cb/"),
        ("a backslash", "/api/v1/a\\b/"),
        ("a NUL in percent", "/api/v1/x%00/"),
        ("a NUL before an ending", "/api/v1/x%00.json"),
        ("a line break in percent", "/api/v1/x%0d%0aX-Evil:1/"),
        ("a line feed in percent", "/api/v1/x%0a/"),
        ("a tab in percent", "/api/v1/x%09/"),
        ("DEL in percent", "/api/v1/x%7f/"),
        ("a control character of Latin-1", "/api/v1/x%c2%85/"),
        ("an overlong dot", "/api/v1/%c0%ae%c0%ae/admin/"),
        ("an overlong dot of three bytes", "/api/v1/%e0%80%ae%e0%80%ae/admin/"),
        ("an overlong dot of four bytes", "/api/v1/%f0%80%80%ae/admin/"),
        ("an overlong slash", "/api/v1/x%c0%afadmin/"),
        ("an overlong backslash", "/api/v1/x%c1%9cadmin/"),
        ("an overlong NUL", "/api/v1/x%c0%80/"),
        ("half a surrogate pair", "/api/v1/%ed%a0%80/"),
        ("a byte that is no UTF-8", "/api/v1/%ff/"),
        ("a character cut off", "/api/v1/%e2%82/"),
        ("a percent sign alone", "/api/v1/100%/"),
        ("a percent sign and one digit", "/api/v1/%2/"),
        ("a percent sign and no digits", "/api/v1/%zz/"),
        ("the way of IIS", "/api/v1/%u002e%u002e/"),
        ("dots in v2", "/api/v2/../v1/x/"),
        ("dots in v2 in percent", "/api/v2/%2e%2e/v1/x/"),
        ("dots from a page to v1", "/docs/..;/api/v1/x/"),
        ("a NUL in the query", "/api/v1/x/?q=%00"),
        ("a NUL in the name of a parameter", "/api/v1/x/?q%00=1"),
        ("a NUL at the end of the query", "/api/v1/x/?q=a%00"),
    ];
    cases.extend(refused.map(|(name, path)| case(name, get(path, "")).refused(400)));
    cases.extend(taken().map(|(name, path)| case(name, get(path, "")).passes(&format!("GET {path} HTTP/1.1"))));
    cases.extend([
        case("an upper-case prefix is no v1", get("/API/v1/x/", "")).refused(404),
        case("two slashes before v1", get("//api/v1/x/", "")).refused(404),
        case("two slashes behind api", get("/api//v1/x/", "")).refused(404),
        case("v1 in percent", get("/api/%761/x/", "")).refused(404),
        case("v1 without a slash", get("/api/v1", "")).refused(404),
        case("v1 with something behind", get("/api/v1x/", "")).refused(404),
        case("a parameter before v1", get("/api;x/v1/x/", "")).refused(404),
        case("health with a slash", get("/healthz/", "")).refused(404),
        case("a query of health", get("/healthz?x=%ff", "")).answers(&[200]),
    ]);
    cases
}

/// Targets that are forwarded byte for byte.
fn taken() -> [(&'static str, &'static str); 26] {
    [
        ("a path", "/api/v1/workspaces/acme/projects/"),
        ("two slashes in the path", "/api/v1//x/"),
        ("a path that ends without a slash", "/api/v1/x"),
        ("two dots in a name", "/api/v1/a..b/"),
        ("three dots", "/api/v1/.../"),
        ("a name that begins with a dot", "/api/v1/.x/"),
        ("a name that ends with a dot", "/api/v1/x./"),
        ("dots encoded twice", "/api/v1/%252e%252e/"),
        ("a slash encoded twice", "/api/v1/a%252fb/"),
        ("a NUL encoded twice", "/api/v1/%2500/"),
        ("a blank in percent", "/api/v1/a%20b/"),
        ("letters in percent", "/api/v1/%61bc/"),
        ("other letters in percent", "/api/v1/caf%C3%A9/"),
        ("other letters as they are", "/api/v1/caf\u{e9}/"),
        ("a parameter of a segment", "/api/v1/x;a=b/"),
        ("signs of all kinds", "/api/v1/x'y|z;p=1,(2)!*~@:$&+/"),
        ("quotation marks and brackets in the path", "/api/v1/x\"{y}[z]^/"),
        ("a query", "/api/v1/x/?a=1&b=2"),
        ("an empty query", "/api/v1/x/?"),
        ("an odd query", "/api/v1/x/?q=%20+%27'&&=?/%zz%"),
        ("signs of all kinds in the query", "/api/v1/x/?q={a}[b]|c\\d^e`f'g;(h),!*~@:$/?"),
        ("other letters in the query", "/api/v1/x/?q=caf\u{e9}"),
        ("dots in the query", "/api/v1/x/?next=../../admin/%2e%2e%2f"),
        ("a line break in the query", "/api/v1/x/?q=a%0d%0ab"),
        ("bytes that are no UTF-8 in the query", "/api/v1/x/?q=%ff%c0%ae"),
        ("a NUL in the query, encoded twice", "/api/v1/x/?q=%2500"),
    ]
}
