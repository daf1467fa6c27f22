//! Access to the operators' listener: the token, the host, the origin of a change, and settings that leave it open.

use crate::support::gateway::{Answer, Gateway};
use bytes::Bytes;
use causeway::sandbox::Seed;
use causeway::settings::{LoadArgs, Settings};
use http::Request;
use http_body_util::Full;

const TOKEN: &str = "operators-only-0001";

/// Returns the answer of the operators' listener of `gateway`.
async fn ask(gateway: &Gateway, method: &str, path: &str, headers: &[(&str, &str)], body: &'static [u8]) -> Answer {
    let mut request = Request::builder().method(method).uri(format!("{}{path}", gateway.operators()));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    gateway.request(request.body(Full::new(Bytes::from_static(body))).expect("a request")).await
}

async fn with_token() -> (Gateway, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("token");
    std::fs::write(&file, format!("{TOKEN}\n")).expect("written");
    let file = file.display().to_string();
    let settings = [("admin.listen", "127.0.0.1:0"), ("admin.token_file", file.as_str())];
    (Gateway::sandboxed_with(Seed::Recorded, &settings).await, folder)
}

#[tokio::test]
async fn without_a_token_this_machine_may_look_and_nobody_may_change() {
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &[("admin.listen", "127.0.0.1:0")]).await;
    let home = ask(&gateway, "GET", "/", &[], b"").await.expect(200);
    assert_eq!(home.headers["content-type"], "text/html; charset=utf-8");
    for (name, value) in [
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"),
    ] {
        assert_eq!(home.headers[name], value);
    }
    assert!(home.headers["content-security-policy"].starts_with("default-src 'none'"), "no scripts");
    let head = ask(&gateway, "HEAD", "/", &[], b"").await.expect(200);
    assert_eq!((head.bytes.len(), &head.headers["content-length"]), (0, &home.bytes.len().to_string()));
    ask(&gateway, "POST", "/", &[], b"").await.expect(403);
    ask(&gateway, "GET", "/nothing", &[], b"").await.expect(404);
    // A foreign web page can neither read it nor reach it by another host name.
    let foreign = ask(&gateway, "GET", "/", &[("origin", "https://evil.example")], b"").await.expect(200);
    assert!(foreign.headers.keys().all(|name| !name.starts_with("access-control-")), "{:?}", foreign.headers);
    ask(&gateway, "OPTIONS", "/", &[("origin", "https://evil.example")], b"").await.expect(405);
    ask(&gateway, "GET", "/", &[("host", "evil.example")], b"").await.expect(421);
    // Clients see nothing of it.
    let home = gateway.send(None, "GET", "/", None).await.expect(200);
    assert!(!String::from_utf8_lossy(&home.bytes).contains("operators"));
    gateway.send(None, "GET", "/metrics", None).await.expect(404);
}

#[tokio::test]
async fn with_a_token_nobody_looks_without_it() {
    let (gateway, _folder) = with_token().await;
    let refused = ask(&gateway, "GET", "/", &[], b"").await.expect(401);
    let challenges: Vec<_> = refused.all_headers.get_all("www-authenticate").iter().collect();
    assert_eq!(challenges.len(), 2, "{challenges:?}");
    ask(&gateway, "GET", "/", &[("authorization", "Bearer operators-only-0002")], b"").await.expect(401);
    ask(&gateway, "GET", "/nothing", &[("x-api-key", TOKEN)], b"").await.expect(401);
    let bearer = format!("Bearer {TOKEN}");
    ask(&gateway, "GET", "/", &[("authorization", &bearer)], b"").await.expect(200);
    let basic = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, format!("me:{TOKEN}"));
    ask(&gateway, "GET", "/", &[("authorization", &format!("Basic {basic}"))], b"").await.expect(200);
    let from_elsewhere = [("authorization", bearer.as_str()), ("origin", "https://evil.example")];
    ask(&gateway, "POST", "/nothing", &from_elsewhere, b"").await.expect(403);
    ask(&gateway, "POST", "/nothing", &from_elsewhere[..1], b"").await.expect(404);
}

fn settings(pairs: &[(&str, &str)], env: &[(&str, &str)]) -> Result<Settings, String> {
    let owned = |pairs: &[(&str, &str)]| -> Vec<_> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    Settings::load(LoadArgs { file: None, env: owned(env), overrides: owned(pairs) })
        .map_err(|faults| faults.to_string())
}

#[test]
fn other_machines_are_not_let_in_without_a_token() {
    let open = [("admin.listen", "0.0.0.0:8081")];
    let fault = settings(&open, &[]).expect_err("a fault");
    assert!(fault.contains("admin.listen (command line)") && fault.contains("set admin.token_file"), "{fault}");
    assert!(settings(&open, &[("CAUSEWAY_ADMIN__TOKEN", TOKEN)]).is_ok());
    assert!(settings(&[("admin.listen", "[::ffff:127.0.0.1]:8081")], &[]).is_ok(), "this machine by another name");
    assert!(settings(&[("admin.listen", "[::1]:8081")], &[]).is_ok());
}

#[test]
fn a_token_is_long_and_never_an_argument() {
    let fault = settings(&[("admin.token", TOKEN)], &[]).expect_err("a fault");
    assert!(fault.contains("CAUSEWAY_ADMIN__TOKEN") && !fault.contains(TOKEN), "{fault}");
    for wrong in ["short", "with spaces in between"] {
        let fault = settings(&[], &[("CAUSEWAY_ADMIN__TOKEN", wrong)]).expect_err("a fault");
        assert!(fault.contains("at least 16") && !fault.contains(wrong), "{fault}");
    }
}
